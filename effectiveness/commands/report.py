"""`skill-health effectiveness report`: what a run came to, as text, Markdown, JSON, CSV or JUnit XML."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from skill_health.core.errors import CLEAN
from skill_health.effectiveness.reports import TABLES, names


@click.command(short_help="Show a run: effects with intervals, verdicts, costs, flips.")
@click.argument("run", metavar="[RUN]", default="last")
@click.option("--format", "format_", type=click.Choice(names()), default="text", help="What to print.")
@click.option("--what", type=click.Choice(TABLES), default=TABLES[0], help="Which table CSV has (contrasts).")
@click.option(
    "--out", metavar="DIR", help="Folder of the reports that the run is in (from the configuration, else reports)."
)
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
def command(run: str, format_: str, what: str, out: str | None, config_file: str | None) -> int:
    """Report on RUN, the id or folder of a run; the last one unless given. Nothing is run and nothing written.

    Everything is computed anew from the manifest and the results of the run, finished or not.
    """
    from skill_health.effectiveness.reports import load
    from skill_health.text.terminal import echo

    found = find(run, out, config_file)
    if format_ == "csv" and what == "trials":
        from skill_health.effectiveness.reports.csv_ import trials

        echo(trials(found.results))
    else:
        from skill_health.effectiveness.effects.build import build_report

        report = build_report(found.manifest, found.results)
        echo(load(format_).render(report, choose_options(format_, what)))
    return CLEAN


def find(run: str, out: str | None, config_file: str | None) -> Any:
    """A run that is given by its id or folder, with its manifest and results. Raises UsageError."""
    from skill_health.bench.run_folder import find_run
    from skill_health.discovery.roots import reports_folder
    from skill_health.effectiveness.run.runs import KIND, load_run
    from skill_health.lint.pipeline import configure

    root, config = configure((os.curdir,), config_file, {})
    return load_run(find_run(run, reports_folder(out, root, config), KIND))


def choose_options(format_: str, what: str = TABLES[0]) -> Any:
    """How to show a report on this terminal: as wide as it is, in colour and beyond ASCII as far as it can."""
    from shutil import get_terminal_size

    from skill_health.bench.report_formats import RenderOptions
    from skill_health.text.terminal import speaks_unicode, wants_color

    width = get_terminal_size((100, 24)).columns
    return RenderOptions(wants_color() and format_ == "text", width, what, ascii=not speaks_unicode(sys.stdout))
