"""No sandbox: agents and verifiers run as the user who started us, and may read and write all that the user may."""

from __future__ import annotations

from skill_health.effectiveness.agents._api import Command
from skill_health.effectiveness.sandbox._api import Box, Inside, Wrapped

TITLE = "no isolation at all; limits and an end for the process tree only"
ISOLATES: tuple[str, ...] = ()


def found() -> str:
    """It is always there."""
    return "host"


def missing() -> str:
    """Nothing can be missing."""
    return ""


def layout(box: Box) -> Inside:
    """The host's own paths."""
    return Inside(box.workspace, box.home, box.temporary)


def wrap(box: Box, command: Command) -> Wrapped:
    """The command as it is."""
    return Wrapped(command.argv, command.env)
