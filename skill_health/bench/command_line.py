"""What commands print for people while they run."""

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
    from skill_health.bench.conduct import RunOutcome


def print_lines(lines: Iterable[str]) -> None:
    """Print lines for people to standard error: standard output is for the report.

    A closed terminal does not end a run; a closed pipe does.
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
    """Print the report, if any, and say how the run ended and how to continue it; returns the exit code.

    Raises AbortedError if it is incomplete.
    """
    from skill_health.bench.schedule import INTERRUPTED as BY_USER
    from skill_health.text.terminal import clean

    if text and sys.stdout is not None:
        click.echo(text, nl=not text.endswith("\n"), color=color)
    if ended.report is not None:
        print_lines([f"written: {', '.join(map(here, ended.written))}"])
    name = clean(os.path.basename(ended.folder))
    if ended.missing and not ended.left:
        print_lines([f"{lost}: {ended.missing}; --resume {name} retries them; a run without it starts anew"])
    if ended.left:
        larger = " with a larger cap" if ended.capped else ""
        again = f"run the same command again{larger} to continue (or add --resume {name})"
        if ended.reason == BY_USER:
            print_lines([f"interrupted: {ended.left} {what} have no result; {again}"])
            return INTERRUPTED
        raise AbortedError(f"incomplete: {ended.left} {what} have no result ({ended.reason}); {again}")
    return FINDINGS if ended.untrusted else CLEAN


Function = TypeVar("Function", bound=Callable[..., Any])


def listed(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split values given one by one or joined with commas, each once; a comma inside a scripted name is kept."""
    found: list[str] = []
    for part in ",".join(values).split(","):
        if found and "=" in part and ":" not in part.partition("=")[0] and ":" in found[-1]:
            found[-1] += f",{part}"
        elif part.strip():
            found.append(part.strip())
    return tuple(dict.fromkeys(found))


def amount(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """Parse a cap in dollars: click accepts "nan" and "inf" as numbers, which would cap nothing."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not an amount in dollars")
    return value


def all_of(options: tuple[Callable[[Function], Function], ...]) -> Callable[[Function], Function]:
    """Combine several options into one decorator; the help lists them in this order."""

    def decorate(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate
