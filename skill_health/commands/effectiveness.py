"""`skill-health effectiveness`."""

from __future__ import annotations

import click

from skill_health.commands._folder import CommandFolder
from skill_health.effectiveness import commands


@click.group("effectiveness", cls=CommandFolder, package=commands)
def command() -> None:
    """Does loading a skill make an agent better at its task?

    Agents do tasks with and without the skill, under otherwise identical conditions; verifiers judge the result.
    """


__all__ = ["command"]
