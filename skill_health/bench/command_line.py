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
    from skill_health.bench.run.conduct import RunOutcome


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
    from skill_health.bench.run.schedule import INTERRUPTED as BY_USER
    from skill_health.text.terminal import clean

    if text and sys.stdout is not None:
        click.echo(text, nl=not text.endswith("\n"), color=color)
    if ended.report is not None:
        print_lines([f"written: {', '.join(map(here, ended.written))}"])
    name = clean(os.path.basename(ended.folder))
    if ended.missing and not ended.left:
        print_lines([f"{lost}: {ended.missing}; --resume {name} retries them; a run without it starts anew"])
    if ended.elsewhere and not ended.left:
        print_lines(
            [
                f"this shard is done: {here(ended.folder)}; {ended.elsewhere} {what} are for others, and "
                f"`skill-health {_group()} merge` puts all shards together"
            ]
        )
    if ended.left:
        larger = " with a larger cap" if ended.capped else ""
        again = f"run the same command again{larger} to continue (or add --resume {name})"
        if ended.reason == BY_USER:
            print_lines([f"interrupted: {ended.left} {what} have no result; {again}"])
            return INTERRUPTED
        raise AbortedError(f"incomplete: {ended.left} {what} have no result ({ended.reason}); {again}")
    return FINDINGS if ended.untrusted else CLEAN


def _group() -> str:
    """The benchmark whose command is running."""
    parent = click.get_current_context().parent
    return str(parent.info_name if parent else "")


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


comparison_options = all_of((
    click.option("--format", "format_", type=click.Choice(["text", "md", "json"]), default="text", help="What to print."),
    click.option("--out", metavar="DIR",
        help="Folder of the reports that the runs are in (from the configuration, else reports).",
    ),
    click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found."),
))  # fmt: skip


def compared_models(baseline: str | None, model: str | None, against: str | None, what: str) -> tuple[str, str] | None:
    """The models of a run and its baseline that are compared, None for all that both have; `what` is the word for one.

    Raises click.UsageError where that leaves nothing to compare.
    """
    if against and not model:
        raise click.UsageError(f"--against needs --model: which {what} of RUN is compared with it?")
    if not baseline and not against:
        raise click.UsageError(f"with what? Name a BASELINE, or two {what}s of RUN by --model and --against")
    return (model, against or model) if model else None


def _shard(_: click.Context, __: click.Parameter, value: str | None) -> Any:
    from skill_health.executors.shards import read_shard_name

    return None if value is None else read_shard_name(value)


def shard_option(command: Any) -> Any:
    """The option --shard of a command that runs."""
    told = "Make the K-th of N parts, with its share of the caps; `merge` puts all parts together."
    return click.option("--shard", metavar="K/N", callback=_shard, help=told)(command)


def executor_option(what: str) -> Callable[[Any], Any]:
    """The option --executor of a command, whose workers do `what`."""
    told = f"Who {what}: local, ray, ray:N (so many workers here) or ray:ADDRESS (a cluster)."
    return click.option("--executor", metavar="NAME", default="local", show_default=True, help=told)


merge_options = all_of((
    click.argument("shards", nargs=-1, required=True, metavar="SHARD..."),
    click.option("--out", metavar="DIR", help="Folder of the reports that the run goes to (from the configuration, else reports)."),
    click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found."),
    click.option("--format", "format_", type=click.Choice(["text", "md", "json"]), default="text", help="How to print the report."),
))  # fmt: skip


def from_option(command: Any) -> Any:
    """The option --from of a command that runs."""
    told = "Repeat this run: id, folder or manifest.json. It settles what is asked, and how."
    return click.option("--from", "repeated", metavar="RUN", default="", help=told)(command)
