"""What commands tell people while they work."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from skill_health.core.errors import CLEAN, FINDINGS, INTERRUPTED, AbortedError
from skill_health.core.files import here

if TYPE_CHECKING:
    from skill_health.bench.schedule import RunOutcome


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
    from skill_health.bench.schedule import INTERRUPTED as BY_USER
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


Function = TypeVar("Function", bound=Callable[..., Any])


def listed(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Values that are given one by one or joined with commas, each once; a comma inside a scripted name is kept."""
    found: list[str] = []
    for part in ",".join(values).split(","):
        if found and "=" in part and ":" not in part.partition("=")[0] and ":" in found[-1]:
            found[-1] += f",{part}"
        elif part.strip():
            found.append(part.strip())
    return tuple(dict.fromkeys(found))


def amount(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """A cap in dollars: "nan" and "inf" are numbers to click, and would cap nothing."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no amount of dollars")
    return value


def all_of(options: tuple[Callable[[Function], Function], ...]) -> Callable[[Function], Function]:
    """One decorator for several options, which the help lists in this order."""

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
