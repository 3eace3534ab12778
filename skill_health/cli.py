"""The root command, and the only place where an exception becomes an exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

import click

from skill_health import __version__, commands
from skill_health.core.errors import ABORTED, CLEAN, INTERRUPTED, USAGE, SkillHealthError

NAME = "skill-health"
COMPLETE = "_SKILL_HEALTH_COMPLETE"
DEBUG = "SKILL_HEALTH_DEBUG"


class Root(click.Group):
    """A group whose commands are found when they are asked for, and imported only then."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, our own first."""
        return list(dict.fromkeys([*commands.own_names(), *commands.foreign()]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; the entry points are only read where we have none ourselves."""
        command = commands.load_own(cmd_name)
        if command is None and (point := commands.foreign().get(cmd_name)):
            command = commands.load_foreign(point)
        return command

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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Our own commands, then those of each other package; one that cannot be loaded is listed with the reason."""
        own = commands.own_names()
        groups = {"Commands": [(name, commands.load_own(name)) for name in own]}
        for name, point in commands.foreign().items():
            if name in own:
                continue
            try:
                command = commands.load_foreign(point)
            except SkillHealthError as error:
                command = click.Command(name, short_help=_line(str(error)))
            groups.setdefault(f"Commands of {point.value.partition('.')[0]}", []).append((name, command))
        width = formatter.width - 6 - max((len(name) for rows in groups.values() for name, _ in rows), default=0)
        for title, rows in groups.items():
            shown = [(name, each.get_short_help_str(width)) for name, each in rows if each and not each.hidden]
            if shown:
                with formatter.section(title):
                    formatter.write_dl(shown)


@click.group(NAME, cls=Root, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name=NAME, message="%(prog)s %(version)s")
def root() -> None:
    """Is each Agent Skill well formed, honest about its numbers, free of leaks, and found when it is needed?

    Exit codes: 0 clean, 1 findings or a failed gate, 2 a mistake in the call or the configuration, 3 an aborted run or
    a bug of ours, 130 interrupted.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line (by default that of the process) and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(sys.argv[1:] if argv is None else list(argv))
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see '{context.command_path} --help')" if context else ""
        return _fail(f"error: {error.format_message()}{hint}", USAGE)
    except SkillHealthError as error:
        return _fail(f"error: {error}", error.exit_code)
    except BrokenPipeError:
        # The reader has gone. What is left in the buffer must not complain when the interpreter flushes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ABORTED
    except OSError as error:
        return _fail(f"error: cannot go on: {error}", ABORTED)
    except Exception as error:
        report = f"this is a bug, not a fault of your skills: please report it with what {DEBUG}=1 shows"
        return _fail(f"internal error: {error!r}{_place(error)}; {report}", ABORTED)


def _run(argv: list[str]) -> int:
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, NAME, COMPLETE, instruction)
    try:
        with root.make_context(NAME, argv) as context:
            result = root.invoke(context)
    except click.exceptions.Exit as error:
        result = error.exit_code
    if sys.stdout is not None:
        sys.stdout.flush()
    return result if isinstance(result, int) else CLEAN


def _fail(message: str, code: int) -> int:
    """One line on stderr, and before it the traceback where it is asked for."""
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exc()
    click.echo(f"{NAME}: {_line(message)}", err=True)
    return code


def _line(text: str) -> str:
    """The text as one line without control characters: it may quote what a skill contains."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in " ".join(text.split()))


def _place(error: BaseException) -> str:
    """Where it was raised: " at module:line"."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f" at {trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}" if trace else ""
