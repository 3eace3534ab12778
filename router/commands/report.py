"""`skill-health router report`: what a run came to, as text, Markdown, JSON or CSV."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from skill_health.core.errors import CLEAN
from skill_health.router.reports import TABLES, names
from skill_health.router.runs import ROUTER

if TYPE_CHECKING:
    from skill_health.documents.router_report import RouterReport


@click.command(short_help="Show a run: accuracy with intervals, skills, confusions, failures.")
@click.argument("run", metavar="[RUN]", default="last")
@click.option("--format", "format_", type=click.Choice(names()), default="text", help="What to print.")
@click.option("--table", type=click.Choice(TABLES), default=TABLES[0], help="Which table CSV has (leaderboard).")
@click.option(
    "--out", metavar="DIR", help="Folder of the reports that the run is in (from the configuration, else reports)."
)
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
def command(run: str, format_: str, table: str, out: str | None, config_file: str | None) -> int:
    """Report on RUN, the id or folder of a run; the last one unless given. Nothing is asked and nothing written.

    Everything is computed anew from the manifest and the results of the run, finished or not.
    """
    from shutil import get_terminal_size

    from skill_health.bench.report_formats import RenderOptions
    from skill_health.router.reports import load
    from skill_health.text.terminal import wants_color

    color = wants_color() and format_ == "text"
    report = _report(run, out, config_file)
    text = load(format_).render(report, RenderOptions(color, get_terminal_size((100, 24)).columns, table))
    click.echo(text, nl=False, color=color)
    return CLEAN


def _report(run: str, out: str | None, config_file: str | None) -> RouterReport:
    from skill_health.bench.run_folder import find_run
    from skill_health.discovery.roots import reports_folder
    from skill_health.lint.pipeline import configure
    from skill_health.router.report import build_report
    from skill_health.router.runs import load_run

    root, config = configure((os.curdir,), config_file, {})
    found = load_run(find_run(run, reports_folder(out, root, config), ROUTER))
    return build_report(found.manifest, found.results, found.check)
