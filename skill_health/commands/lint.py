"""`skill-health lint`: is each skill well formed, honest about its numbers and free of leaks?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import click

from skill_health.commands._lint import LintOptions, run_lint
from skill_health.rules._api import Severity


def _day(_: click.Context, __: click.Parameter, value: str | None) -> date:
    try:
        return date.fromisoformat(value) if value else date.today()
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a date like 2026-01-31") from error


def _codes(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def common_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every command over a collection has."""
    for option in (
        click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found."),
        click.option("--profile", metavar="NAME", help="Scoring profile: standard, plan or plan-v2.3.0."),
        click.option("--as-of", callback=_day, metavar="DATE", help="Judge the age of claims on this day (today)."),
        click.option("--jobs", type=click.IntRange(0), default=0, help="Worker processes (0: as many as pay off)."),
        click.option("--no-cache", is_flag=True, help="Neither read nor write the cache."),
    ):
        function = option(function)
    return function


@click.command(short_help="Check skills and print what is wrong with them.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--select", multiple=True, callback=_codes, metavar="CODES", help="Run only these rules.")
@click.option("--extend-select", multiple=True, callback=_codes, metavar="CODES", help="Run these rules too.")
@click.option("--ignore", multiple=True, callback=_codes, metavar="CODES", help="Do not run these rules.")
@click.option("--force-exclude", is_flag=True, help="Leave out named paths too where `exclude` says so, as hooks do.")
@click.option("--changed", is_flag=False, flag_value="HEAD", metavar="[REV]", help="Only skills that differ from REV.")
@click.option(
    "--format", "format_", metavar="NAME", default="text", help="text, json, sarif, github, gitlab, junit ..."
)
@click.option("--output", metavar="FILE", help="Write the report to a file instead of the terminal.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour (auto).")
@click.option("--score", is_flag=True, help="Score each skill and the collection.")
@click.option("--report", metavar="FILE", help="Also write the JSON report, with scores, to this file.")
@click.option("--statistics", is_flag=True, help="Count findings per rule instead of listing them.")
@click.option("--fix", is_flag=True, help="Apply the safe fixes.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: the other fixes too.")
@click.option("--diff", is_flag=True, help="Show what --fix would change; change nothing.")
@click.option("--baseline", metavar="FILE", help="Known findings to leave out.")
@click.option("--write-baseline", metavar="REASON", help="Record today's findings in the baseline, for this reason.")
@click.option("--grow-baseline", is_flag=True, help="Let --write-baseline add findings, not only drop them.")
@click.option(
    "--fail-on", type=click.Choice([*(s.value for s in Severity), "never"]), help="Exit 1 from this severity."
)
@click.option(
    "--fail-under", type=click.FloatRange(0, 1), metavar="SCORE", help="Exit 1 when the collection scores below this."
)
@click.option("--check-urls", is_flag=True, help="Ask the web whether external links still resolve.")
@common_options
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Check skills: files, skill folders, collections or whole repositories (default: here)."""
    return run_lint(paths, LintOptions(**options))
