"""The root command: its subcommands are found when they are asked for, and imported only then."""

from __future__ import annotations

import os

import click

from skill_health import __version__, commands
from skill_health.cli import COMPLETE, NAME, fail
from skill_health.commands._folder import CommandFolder
from skill_health.core.errors import INTERRUPTED, USAGE


class Root(CommandFolder):
    """The commands of the folder `commands`; an unknown name is answered with the nearest ones."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it; an unknown name is answered with the nearest ones."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is not None or ctx.resilient_parsing:
            return name, command, args[1:]
        from difflib import get_close_matches

        near = get_close_matches(name, self.list_commands(ctx), n=2)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise click.UsageError(f"there is no command {name!r}{hint}", ctx)


@click.group(
    NAME, cls=Root, package=commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s")
def root() -> None:
    """Is each Agent Skill well formed, honest about its numbers, free of leaks, and found when it is needed?

    Exit codes: 0 clean, 1 findings or a failed gate, 2 a mistake in the call or the configuration, 3 an aborted run or
    a bug of ours, 130 interrupted.
    """


def run(argv: list[str]) -> object:
    """Run a command line and return what its command returns; the user's mistakes and an abort become exit codes."""
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, NAME, COMPLETE, instruction)
    try:
        with root.make_context(NAME, argv) as context:
            return root.invoke(context)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort:
        return fail("interrupted", INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        context_of = getattr(error, "ctx", None)
        hint = f" (see '{context_of.command_path} --help')" if context_of else ""
        return fail(f"error: {error.format_message()}{hint}", USAGE)
