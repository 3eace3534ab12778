"""`skill-health router compare`: what an edit of the descriptions did, prompt by prompt."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from skill_health.bench.command_line import compared_models, comparison_options
from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.router.runs import ROUTER

if TYPE_CHECKING:
    from skill_health.documents.router_comparison import RouterComparisonReport


@click.command(short_help="Compare two runs of the same prompts, paired.")
@click.argument("run", metavar="RUN")
@click.argument("baseline", metavar="[BASELINE]", required=False)
@click.option("--model", metavar="MODEL", help="Only this model of RUN.")
@click.option("--against", metavar="MODEL", help="The model of BASELINE (or of RUN) that --model is compared with.")
@click.option(
    "--max-loss",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="Exit 1 where top-1 falls by more (0.02): significantly, or at all for a local router.",
)
@comparison_options
def command(
    run: str,
    baseline: str | None,
    model: str | None,
    against: str | None,
    max_loss: float | None,
    format_: str,
    out: str | None,
    config_file: str | None,
) -> int:
    """Compare RUN with BASELINE: paired differences of each model, flips, and what was listed otherwise.

    Both are ids or folders of runs. Runs of other prompts, another mode, listing or template are not compared. With
    --model and --against two models are compared, of two runs or of one.
    """
    from skill_health.bench.run_folder import find_run
    from skill_health.discovery.roots import reports_folder
    from skill_health.lint.pipeline import configure
    from skill_health.router.compare.compare import compare
    from skill_health.router.runs import load_run

    models = compared_models(baseline, model, against, "model")
    root, config = configure((os.curdir,), config_file, {})
    most = config.router.max_loss if max_loss is None else max_loss
    reports = reports_folder(out, root, config)
    one = load_run(find_run(run, reports, ROUTER))
    other = load_run(find_run(baseline, reports, ROUTER)) if baseline else one
    found = compare(one, other, most, models=models)
    click.echo(rendered(found, format_), nl=False)
    return FINDINGS if found.lost else CLEAN


def rendered(found: RouterComparisonReport, format_: str) -> str:
    """A comparison in one of the formats."""
    import json

    from skill_health.documents._record import record_values
    from skill_health.router.compare.document import document
    from skill_health.text.blocks import as_markdown, as_text

    if format_ == "json":
        return json.dumps(record_values(found), indent=1, ensure_ascii=True, allow_nan=False) + "\n"
    return (as_text if format_ == "text" else as_markdown)(document(found))
