"""`skill-health effectiveness`: a group whose commands are found by the name of their module and imported only then."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from pkgutil import iter_modules

import click

from effectiveness import commands


class Commands(click.Group):
    """Subcommand `some-name` is the click command `command` of the module `some_name` (`import_` for import)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all modules of `effectiveness.commands`, sorted."""
        found = (module.name for module in iter_modules(commands.__path__))
        return sorted(name.rstrip("_").replace("_", "-") for name in found if name[0] != "_")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now; None where there is none."""
        if cmd_name not in self.list_commands(ctx):
            return None
        stem = cmd_name.replace("-", "_")
        command: click.Command = import_module(f"{commands.__name__}.{stem}{'_' if iskeyword(stem) else ''}").command
        return command


@click.group("effectiveness", cls=Commands)
def command() -> None:
    """Does loading a skill make an agent better at its task?

    Agents do tasks with and without the skill, under the same conditions otherwise; verifiers judge what is left.
    """
