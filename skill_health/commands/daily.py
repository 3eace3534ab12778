"""`skill-health daily`: what has changed since the last run, and is it drift?"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any

import click

from skill_health.commands.lint import common_options
from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.core.times import time_option


def _share(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 <= value <= 1:
        raise click.BadParameter(f"{value} is not between 0 and 1")
    return value


@click.command(short_help="Score, compare with the last run, and keep the history.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--reports", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option("--no-write", is_flag=True, help="Print only: write no snapshot, report or history.")
@click.option(
    "--format", "format_", type=click.Choice(["text", "json", "markdown"]), default="text", help="What to print."
)
@click.option(
    "--time",
    callback=time_option,
    metavar="ISO",
    help="Time to record for the run; claims are judged as of that day (now).",
)
@click.option(
    "--due-days", type=click.IntRange(0), metavar="N", help="List claims that are due for review within N days."
)
@click.option(
    "--max-drop", type=float, callback=_share, metavar="X", help="Drift: the collection's score falls by more than X."
)
@click.option(
    "--max-skill-drop", type=float, callback=_share, metavar="X", help="Drift: a skill's score falls by more than X."
)
@click.option("--new-errors", type=click.IntRange(0), metavar="N", help="Drift: there are more than N new errors.")
@common_options
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], **options: Any) -> int:
    """Score skills and say what has changed since the last comparable run: exit 1 on drift beyond the limits.

    Writes skill-health.json (the snapshot), skill-health-drift.md and one line of skill-health-history.jsonl.
    """
    from skill_health.config.settings import config_with
    from skill_health.daily import run
    from skill_health.lint.pipeline import configure

    paths = paths or (".",)
    overrides = {"profile": options["profile"]} if options["profile"] else {}
    root, config = configure(paths, options["config_file"], overrides)
    given = {key: options[key] for key in ("due_days", "max_drop", "max_skill_drop", "new_errors")}
    limits = config.daily._replace(**{key: value for key, value in given.items() if value is not None})
    folder = os.path.abspath(options["reports"] or os.path.join(root, limits.reports))
    time: datetime = options["time"] or datetime.now(UTC)
    as_of: date = options["as_of"]
    if options["time"] and ctx.get_parameter_source("as_of") is click.core.ParameterSource.DEFAULT:
        as_of = time.date()
    outcome = run.run_daily(
        paths, root, config_with(config, daily=limits), as_of, f"{time:%Y-%m-%dT%H:%M:%SZ}", folder, options["jobs"],
        not options["no_cache"],
    )  # fmt: skip
    written = () if options["no_write"] else run.write(outcome, folder)
    _show(outcome, written, options["format_"])
    return FINDINGS if outcome.reasons else CLEAN


def _show(outcome: Any, written: Iterable[str], format_: str) -> None:
    """Print the drift; what was written goes beside it where the output is for a program."""
    from skill_health.core.files import here
    from skill_health.daily import run
    from skill_health.text.terminal import clean, wants_color

    files = list(map(here, written))
    text = format_ == "text"
    if text:
        color = wants_color()
        click.echo(run.as_text(outcome, color), nl=False, color=color)
    else:
        click.echo(run.as_json(outcome) if format_ == "json" else run.as_markdown(outcome), nl=False)
        for reason in outcome.reasons:
            click.echo(f"drift: {clean(reason)}", err=True)
    if files:
        click.echo(f"written: {clean(', '.join(files))}", err=not text)
