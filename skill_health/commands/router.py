"""`skill-health router`."""

from __future__ import annotations

import click

from skill_health.commands._folder import CommandFolder
from skill_health.router import commands


@click.group("router", cls=CommandFolder, package=commands)
def command() -> None:
    """Do the descriptions route each request to the right skill?

    A labelled prompt and the shuffled descriptions go to a router or a model; its ranking is compared with the label.
    """


__all__ = ["command"]
