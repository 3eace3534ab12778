"""`skill-health effectiveness`: a group whose commands are found by the name of their module and imported only then."""

from __future__ import annotations

import click

from skill_health.command_group import CommandFolder
from skill_health.effectiveness import commands


@click.group("effectiveness", cls=CommandFolder, package=commands)
def command() -> None:
    """Does loading a skill make an agent better at its task?

    Agents do tasks with and without the skill, under the same conditions otherwise; verifiers judge what is left.
    """
