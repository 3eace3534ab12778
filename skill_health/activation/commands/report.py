"""`skill-health activation report`: what a run came to, beside the ranking of routers."""

from __future__ import annotations

import os

import click

from skill_health.activation.reports import TABLES, names
from skill_health.bench.command_line import listed
from skill_health.core.errors import CLEAN


@click.command(short_help="Show a run: recall, precision, false fires, and the calibration of the ranking.")
@click.argument("run", metavar="[RUN]", default="last")
@click.option("--format", "format_", type=click.Choice(names()), default="text", help="What to print.")
@click.option("--table", type=click.Choice(TABLES), default=TABLES[0], help="Which table CSV has (figures).")
@click.option(
    "--router",
    "routers",
    multiple=True,
    callback=listed,
    metavar="LIST",
    help="Other free routers to rank the prompts beside it.",
)
@click.option(
    "--router-run",
    "router_runs",
    multiple=True,
    metavar="RUN",
    help="Rankings of this router run (an id, a folder, or last) beside it.",
)
@click.option(
    "--out", metavar="DIR", help="Folder of the reports that the runs are in (from the configuration, else reports)."
)
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
def command(
    run: str,
    format_: str,
    table: str,
    routers: tuple[str, ...],
    router_runs: tuple[str, ...],
    out: str | None,
    config_file: str | None,
) -> int:
    """Report on RUN, the id or folder of a run; the last one unless given. No agent is started and nothing written.

    Everything is computed anew from the manifest and the results of the run, finished or not.
    """
    from shutil import get_terminal_size

    from skill_health.activation.plan.plan import ACTIVATION
    from skill_health.activation.report import build_activation_report
    from skill_health.activation.reports import load
    from skill_health.activation.run.runs import load_activation_run
    from skill_health.activation.scores.routing import ROUTERS, route_as_in, route_on_the_spot
    from skill_health.bench.report_formats import RenderOptions
    from skill_health.bench.run_folder import find_run
    from skill_health.discovery.roots import reports_folder
    from skill_health.lint.pipeline import configure
    from skill_health.router.runs import ROUTER, load_run
    from skill_health.text.terminal import wants_color

    root, config = configure((os.curdir,), config_file, {})
    reports = reports_folder(out, root, config)
    found = load_activation_run(find_run(run, reports, ACTIVATION))
    for spec in routers:
        route_on_the_spot(found.manifest, spec)
    ranked = []
    for name in router_runs:
        ranked += route_as_in(found.manifest, load_run(find_run(name, reports, ROUTER)))
    beside = routers or (() if router_runs else ROUTERS)
    report = build_activation_report(found.manifest, found.results, beside, ranked)
    color = wants_color() and format_ == "text"
    look = RenderOptions(color, get_terminal_size((100, 24)).columns, table)
    click.echo(load(format_).render(report, look), nl=False, color=color)
    return CLEAN
