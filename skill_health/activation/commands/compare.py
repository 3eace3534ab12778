"""`skill-health activation compare`: has another model, or another day, changed what agents load?"""

from __future__ import annotations

import os

import click

from skill_health.bench.command_line import compared_models, comparison_options
from skill_health.core.errors import CLEAN, FINDINGS


@click.command(short_help="Compare two runs of the same prompts, paired.")
@click.argument("run", metavar="RUN")
@click.argument("baseline", metavar="[BASELINE]", required=False)
@click.option("--model", metavar="AGENT", help="Only this agent of RUN.")
@click.option("--against", metavar="AGENT", help="The agent of BASELINE (or of RUN) that --model is compared with.")
@click.option(
    "--max-loss", type=click.FloatRange(0, 1), metavar="X", default=0.0,
    help="Exit 1 where a metric is significantly worse by more (0).",
)  # fmt: skip
@comparison_options
def command(
    run: str,
    baseline: str | None,
    model: str | None,
    against: str | None,
    max_loss: float,
    format_: str,
    out: str | None,
    config_file: str | None,
) -> int:
    """Compare RUN with BASELINE: paired differences of recall and false fires, and the prompts that flipped.

    Both are ids or folders of runs, or last. With --model and --against two agents or models are compared, of two runs
    or of one. Exit 1 where recall has fallen or false fires have risen significantly, by more than --max-loss.
    """
    from skill_health.core.extras import STATISTICS, require_modules

    require_modules("activation compare", STATISTICS)
    from skill_health.activation.compare import compare_activation
    from skill_health.activation.plan.plan import ACTIVATION
    from skill_health.activation.reports._comparison import render_comparison
    from skill_health.activation.run.runs import load_activation_run
    from skill_health.bench.run_folder import find_run
    from skill_health.discovery.roots import reports_folder
    from skill_health.lint.pipeline import configure

    models = compared_models(baseline, model, against, "agent")
    root, config = configure((os.curdir,), config_file, {})
    reports = reports_folder(out, root, config)
    one = load_activation_run(find_run(run, reports, ACTIVATION))
    other = load_activation_run(find_run(baseline, reports, ACTIVATION)) if baseline else one
    found = compare_activation(one, other, max_loss, models)
    click.echo(render_comparison(found, format_), nl=False)
    return FINDINGS if found.alarms else CLEAN
