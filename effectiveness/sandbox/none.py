"""No sandbox: agents and verifiers run as the user who started us, and may read and write all that the user may."""

from __future__ import annotations

from skill_health.effectiveness.agents._api import Command
from skill_health.effectiveness.sandbox._api import InsidePaths, SandboxSession, WrappedCommand

TITLE = "no isolation at all; limits and an end for the process tree only"
ISOLATES: tuple[str, ...] = ()


def found() -> str:
    """It is always there."""
    return "host"


def missing() -> str:
    """Nothing can be missing."""
    return ""


def layout(box: SandboxSession) -> InsidePaths:
    """The host's own paths."""
    return InsidePaths(box.workspace, box.home, box.temporary)


def wrap(box: SandboxSession, command: Command) -> WrappedCommand:
    """The command as it is."""
    return WrappedCommand(command.argv, command.env)
