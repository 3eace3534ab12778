"""`skill-health effectiveness validate`: the negative controls of several runs together."""

from __future__ import annotations

import os

import click

from skill_health.core.errors import CLEAN, FINDINGS


@click.command(short_help="Pool the negative controls of runs: is a difference where there should be none ruled out?")
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@click.option("--format", "format_", type=click.Choice(["text", "md", "json"]), default="text", help="What to print.")
@click.option(
    "--out", metavar="DIR", help="Folder of the reports that the runs are in (from the configuration, else reports)."
)
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
def command(runs: tuple[str, ...], format_: str, out: str | None, config_file: str | None) -> int:
    """Pool the negative controls of RUNs, ids or folders; of all runs in the folder of the reports unless given.

    Runs of one version of an agent with one model on the same skills are taken together; a task that was run again
    stays one task. Exit 1 where a pool shows a bias. Nothing is run and nothing written.
    """
    from skill_health.core.extras import STATISTICS, require_modules

    require_modules("effectiveness validate", STATISTICS)
    from skill_health.bench.run_folder import find_run, run_ids
    from skill_health.discovery.roots import reports_folder
    from skill_health.documents._record import encode_record
    from skill_health.effectiveness.effects.validation import document, pool_controls
    from skill_health.effectiveness.run.runs import KIND, load_run
    from skill_health.lint.pipeline import configure
    from skill_health.text.blocks import as_markdown, as_text
    from skill_health.text.terminal import echo

    root, config = configure((os.curdir,), config_file, {})
    reports = reports_folder(out, root, config)
    found = pool_controls([load_run(find_run(name, reports, KIND)) for name in runs or run_ids(reports, KIND)])
    if format_ == "json":
        echo(encode_record(found))
    else:
        echo((as_text if format_ == "text" else as_markdown)(document(found)))
    return FINDINGS if any(pool.passed is False for pool in found.pools) else CLEAN
