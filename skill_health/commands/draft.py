"""`skill-health draft`."""

from __future__ import annotations

import click

from skill_health.commands._folder import CommandFolder
from skill_health.drafts import commands


@click.group("draft", cls=CommandFolder, package=commands)
def command() -> None:
    """Draft test material from the skills themselves; a person accepts, edits or rejects each draft.

    Drafts land in the folder drafts/ beside the skills. Only what is accepted is written into the registries.
    """


__all__ = ["command"]
