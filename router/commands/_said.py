"""What commands tell people while they work."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from skill_health.core.errors import CLEAN, FINDINGS, INTERRUPTED, AbortedError
from skill_health.core.files import here

if TYPE_CHECKING:
    from skill_health.router.ended import RunOutcome


def print_lines(lines: Iterable[str]) -> None:
    """Lines for people, on standard error: standard output is the report's.

    A terminal that was closed is no reason to end a run; a reader that has gone from a pipe is.
    """
    from skill_health.text.terminal import clean

    for line in lines:
        try:
            click.echo(clean(line), err=True)
        except BrokenPipeError:
            raise
        except OSError:
            return


def finish(
    ended: RunOutcome, text: str, color: bool, what: str = "calls", lost: str = "calls without an answer"
) -> int:
    """Print the report (where there is one), say how the run ended, and how it goes on; the exit code.

    Raises AbortedError where it is incomplete.
    """
    from skill_health.router.schedule import INTERRUPTED as BY_USER
    from skill_health.text.terminal import clean

    if text and sys.stdout is not None:
        click.echo(text, nl=not text.endswith("\n"), color=color)
    if ended.report is not None:
        print_lines([f"written: {', '.join(map(here, ended.written))}"])
    name = clean(os.path.basename(ended.folder))
    if ended.missing and not ended.left:
        print_lines([f"{lost}: {ended.missing}; --resume {name} asks them again, a run without it begins anew"])
    if ended.left:
        larger = " with a larger cap" if ended.capped else ""
        again = f"give the same command again{larger} to go on (or add --resume {name})"
        if ended.reason == BY_USER:
            print_lines([f"interrupted: {ended.left} {what} have no result; {again}"])
            return INTERRUPTED
        raise AbortedError(f"incomplete: {ended.left} {what} have no result ({ended.reason}); {again}")
    return FINDINGS if ended.untrusted else CLEAN
