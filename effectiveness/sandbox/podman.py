"""The command line of podman."""

from __future__ import annotations

from skill_health.effectiveness.agents._api import Command
from skill_health.effectiveness.sandbox import _container
from skill_health.effectiveness.sandbox._api import InsidePaths, SandboxSession, WrappedCommand

TITLE = "Podman: a container of an image that is named with it, without a daemon"
NEEDS_IMAGE = True
ISOLATES = ("files", "network", "processes")

_PROGRAM, _QUESTION = "podman", ("info", "--format", "{{.Version.Version}}")


def found() -> str:
    """The version of the engine that answers."""
    return _container.tried(_PROGRAM, *_QUESTION)[0]


def missing() -> str:
    """Why it cannot be used, in one line."""
    return _container.tried(_PROGRAM, *_QUESTION)[1]


def layout(box: SandboxSession) -> InsidePaths:
    """The same paths for everybody."""
    return _container.inside()


def wrap(box: SandboxSession, command: Command) -> WrappedCommand:
    """The client with its container. Raises ValueError without an image."""
    return _container.wrap(_PROGRAM, box, command, "--userns", "keep-id")
