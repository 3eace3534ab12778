"""`skill-health draft review`: decide on the drafts, one after the other."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import click

from skill_health.bench.command_line import print_lines
from skill_health.core.errors import CLEAN, UsageError
from skill_health.drafts.commands._options import moment_option, skill_options
from skill_health.text.numbers import count


@click.command(short_help="Decide on the drafts, one after the other: accept, edit, reject.")
@skill_options
@moment_option
def command(skills: tuple[str, ...], **options: Any) -> int:
    """Show each draft that waits, and accept it, edit it in $EDITOR, reject it with a reason, or skip it.

    Decisions can also come from a pipe, one a line: a, e, r REASON, s, q. What is accepted is written into the registry
    at once; what was decided, and when, is kept with the draft, and nothing about who decided.
    """
    from skill_health.drafts.desks._api import open_desks
    from skill_health.drafts.material import choose_skills, collection_of, load_collection
    from skill_health.drafts.walk import WalkTally, walk_through

    paths = collection_of(skills, options["collection"])
    collection = load_collection(paths, options["config_file"], options["namesakes"])
    names = tuple(skill.name for skill in choose_skills(collection, skills)) if skills else ()
    total = WalkTally()
    for desk in open_desks(collection, lambda: options["time"] or datetime.now(UTC), names):
        print_lines(desk.problems())
        if not total.ended:
            found = walk_through(desk, _ask, _edit, click.echo)
            total.accepted += found.accepted
            total.rejected += found.rejected
            total.left += found.left
            total.failed += found.failed
            total.ended = found.ended
    if not (total.accepted or total.rejected or total.left):
        click.echo("No draft waits for a decision.")
    else:
        click.echo(f"\n{total.accepted} accepted, {total.rejected} rejected, {total.left} left for later")
    if total.failed:
        raise UsageError(
            f"{count(total.failed, 'decision')} could not be carried out, for the reason that stands above"
        )
    return CLEAN


def _ask(question: str) -> str | None:
    """A line of the standard input; None at its end."""
    click.echo(question, nl=False)
    line = sys.stdin.readline() if sys.stdin is not None else ""
    if not sys.stdin or not sys.stdin.isatty():
        click.echo()
    return line.rstrip("\r\n") if line else None


def _edit(text: str) -> str | None:
    try:
        return click.edit(text, extension=".json")
    except click.ClickException as error:
        raise UsageError(f"{error.format_message()}: set EDITOR to a program that can be started") from None
