"""The subcommands. One command is one module here; nothing else knows its name.

`skill-health some-name` is the click command `command` of the module `some_name`; its function returns the
exit code. Other packages plug in theirs as entry points of the group `skill_health.commands`; an own command
wins over a foreign one of the same name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from skill_health.core.errors import AbortedError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import click

ENTRY_POINTS = "skill_health.commands"


def own_names() -> list[str]:
    """The names of our own commands, sorted."""
    from pkgutil import iter_modules

    return sorted(found.name.replace("_", "-") for found in iter_modules(__path__) if found.name[0] != "_")


def load_own(name: str) -> click.Command | None:
    """The own command of this name, imported now; None where there is none."""
    stem = name.replace("-", "_")
    if "_" in name or stem.startswith("_") or not stem.isidentifier():
        return None
    module = f"{__name__}.{stem}"
    try:
        command: click.Command = import_module(module).command
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None
    return command


def foreign() -> dict[str, EntryPoint]:
    """The commands that installed distributions plug in, by name; none is imported.

    Of two with one name the first by the object it points at is taken, on any machine.
    """
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: (point.name, point.value)):
        found.setdefault(point.name, point)
    return found


def load_foreign(point: EntryPoint) -> click.Command:
    """The command behind an entry point, imported now.

    Raises:
        AbortedError: it cannot be imported, or is no click command. Nothing else that its import raises escapes.
    """
    import click

    try:
        command = point.load()
    except Exception as error:
        raise AbortedError(f"the command {point.name!r} ({point.value}) cannot be loaded: {error!r}") from error
    if not isinstance(command, click.Command):
        raise AbortedError(f"the command {point.name!r} ({point.value}) is no click command")
    return command
