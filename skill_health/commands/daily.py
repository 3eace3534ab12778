"""`skill-health daily`: what has changed since the last run, and is it drift?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import click

from skill_health.commands.lint import common_options
from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.core.times import time_option

if TYPE_CHECKING:
    from skill_health.config.settings import Config
    from skill_health.daily.risks import RiskRater
    from skill_health.daily.run import DailyOutcome


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
def command(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    reports: str | None,
    no_write: bool,
    format_: str,
    time: datetime | None,
    as_of: date,
    jobs: int,
    no_cache: bool,
    profile: str | None,
    config_file: str | None,
    **limits: Any,
) -> int:
    """Score skills and say what has changed since the last comparable run: exit 1 on drift beyond the limits.

    Writes skill-health.json (the snapshot), skill-health-drift.md, one line of skill-health-history.jsonl, and a line
    of skill-health-states.jsonl for each skill that has changed.
    """
    from skill_health.config.settings import config_with
    from skill_health.daily import run
    from skill_health.discovery.roots import reports_folder
    from skill_health.lint.pipeline import configure

    paths = paths or (".",)
    root, config = configure(paths, config_file, {"profile": profile} if profile else {})
    daily = config.daily._replace(**{key: value for key, value in limits.items() if value is not None})
    folder = reports_folder(reports, root, config)
    if time and ctx.get_parameter_source("as_of") is click.core.ParameterSource.DEFAULT:
        as_of = time.date()
    began = f"{time or datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    config = config_with(config, daily=daily)
    rater = _rater(paths, root, config) if daily.risk else None
    outcome = run.run_daily(paths, root, config, as_of, began, folder, jobs, not no_cache, rater)
    written = () if no_write else run.write(outcome, folder)
    _show(outcome, written, format_)
    return FINDINGS if outcome.reasons else CLEAN


def _rater(paths: tuple[str, ...], root: str, config: Config) -> RiskRater:
    from functools import partial

    from skill_health.daily.risks import RiskRater
    from skill_health.router.risk.rating import model_digest, rate_collection

    return RiskRater(model_digest(), partial(rate_collection, paths, root, config))


def _show(outcome: DailyOutcome, written: Iterable[str], format_: str) -> None:
    """Print the drift, then write: a verdict that nobody could read is not taken for one that was.

    What was written goes beside it: whoever reads the verdict may be gone by then, and it stands.
    """
    from skill_health.core.files import here
    from skill_health.daily import run
    from skill_health.text.terminal import clean, wants_color

    text = format_ == "text"
    if text:
        color = wants_color()
        click.echo(run.as_text(outcome, color), nl=False, color=color)
    else:
        click.echo(run.as_json(outcome) if format_ == "json" else run.as_markdown(outcome), nl=False)
        for reason in outcome.reasons:
            click.echo(f"drift: {clean(reason)}", err=True)
    if files := list(map(here, written)):
        click.echo(f"written: {clean(', '.join(files))}", err=True)
