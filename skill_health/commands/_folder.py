"""A folder of commands as a group: each command is a module, found by name and imported only when asked for."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from types import ModuleType
from typing import Any

import click

from skill_health.core.plugins import plugin_names


class CommandFolder(click.Group):
    """Subcommand `some-name` is the click command `command` of the module `some_name` (`import_` for import).

    Modules whose name begins with an underscore are helpers. The function of a command returns the exit code.
    """

    def __init__(self, *args: Any, package: ModuleType, **more: Any) -> None:
        self.package = package
        super().__init__(*args, **more)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands of the folder, sorted."""
        return sorted(name.rstrip("_").replace("_", "-") for name in plugin_names(self.package.__path__))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now; None where there is none."""
        stem = cmd_name.replace("-", "_")
        if "_" in cmd_name or not stem.isidentifier():
            return None
        module = f"{self.package.__name__}.{stem}{'_' if iskeyword(stem) else ''}"
        try:
            command: click.Command = import_module(module).command
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            return None
        return command
