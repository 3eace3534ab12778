"""docs/cli.md: every command and option of our own, as click knows them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

import click

from skill_health.docs_markdown import MARK, code, table

NAME = "skill-health"


def cli_page(root: click.Command, commands: Mapping[str, click.Command]) -> str:
    """The page of the root command and of these subcommands; independent of the terminal."""
    context = click.Context(root, info_name=NAME, **root.context_settings)
    parts = [MARK, "# Command line\n\n", _help(root), "\n", _options(root, context)]
    for name, command in sorted(commands.items()):
        parts += _sections(command, click.Context(command, info_name=name, parent=context), 2)
    return "".join(parts).rstrip() + "\n"


def _sections(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """A command, and those below it."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"\n{'#' * level} {context.command_path}\n\n```text\n{usage}\n```\n\n{_help(command)}\n"
    yield _options(command, context)
    if isinstance(command, click.Group):
        for name in sorted(command.list_commands(context)):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from _sections(child, click.Context(child, info_name=name, parent=context), level + 1)


def _help(command: click.Command) -> str:
    """The help text; a paragraph that click must not wrap becomes a block."""
    paragraphs = inspect.cleandoc(command.help or command.short_help or "").split("\f")[0].strip().split("\n\n")
    shown = [f"```text\n{part[1:].strip()}\n```" if part.startswith("\b") else part for part in paragraphs]
    return "\n\n".join(shown) + "\n"


def _options(command: click.Command, context: click.Context) -> str:
    """The options; arguments stand in the usage line, unless there is more to say of one."""
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    return table(("option", "meaning"), [(code(names), help) for names, help in filter(None, records) if help])
