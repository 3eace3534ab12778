"""`skill-health activation`."""

from __future__ import annotations

import click

from skill_health.activation import commands
from skill_health.commands._folder import CommandFolder


@click.group("activation", cls=CommandFolder, package=commands)
def command() -> None:
    """Does a real agent load the skill on a real request, and not on a near miss?

    An agent is given each labelled prompt in a sandbox with the whole collection staged, until it opens its first
    skill.
    """


__all__ = ["command"]
