"""`skill-health effectiveness run`: let agents do tasks with and without skills, and report."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import executor_option, finish, from_option, print_lines, shard_option
from skill_health.core.errors import CLEAN, UsageError
from skill_health.core.times import time_option
from skill_health.effectiveness.commands._options import (
    network_options,
    refuse_spending_of,
    spending_options,
    study_options,
    tasks_options,
    warn_before,
)

if TYPE_CHECKING:
    from skill_health.bench.run.conduct import RunOutcome
    from skill_health.documents.effect_manifest import EffectManifest


@click.command(short_help="Let agents do tasks with and without skills, and report.")
@tasks_options
@study_options
@network_options
@spending_options
@shard_option
@executor_option("makes trials")
@from_option
@click.option("--resume", "named", metavar="RUN", default="", help="Resume this run and no other.")
@click.option("--no-resume", is_flag=True, help="Start over, even if the same run is unfinished.")
@click.option(
    "--extend",
    metavar="RUN",
    default="",
    help="Take over the trials of this run, or of the `last` finished one, that have not changed.",
)
@click.option("--time", callback=time_option, metavar="ISO", help="Time to record for the run (now).")
@click.option(
    "--format", "format_", type=click.Choice(["text", "md", "json", "csv", "junit"]), default="text",
    help="How to print the report.",
)  # fmt: skip
def command(tasks: tuple[str, ...], **options: Any) -> int:
    """Let agents do tasks under controlled conditions that differ in the staged skills alone, and report the effects.

    A run that was stopped resumes when the same command is given again. Exit 1 where negative controls
    show a bias, or where an agent does not see the skills that it should, 3 where trials are left.

    Tasks that were not checked before are checked first, which runs their oracles and verifiers in the same sandbox.
    With --from a run is repeated as its manifest says, if all that it rests on is as it was; what is not is named.
    """
    from skill_health.core.extras import STATISTICS, require_modules

    require_modules("effectiveness run", (*STATISTICS, "httpx", "h11"))
    from skill_health.bench.reproduce.repeat import refuse_other_inputs
    from skill_health.discovery.roots import reports_folder
    from skill_health.documents._record import record_values
    from skill_health.effectiveness.plan.choices import choices, choices_of
    from skill_health.effectiveness.plan.inputs import load_inputs, narrow
    from skill_health.effectiveness.plan.pairs import find_pairs, with_pairs
    from skill_health.effectiveness.plan.preflight import fit_tasks, said_of_earlier
    from skill_health.effectiveness.plan.prepare import AT_ONCE, prepare
    from skill_health.effectiveness.run.conduct import TrialRunOptions, conduct, parts
    from skill_health.effectiveness.run.workers import refuse_unshared
    from skill_health.effectiveness.sandbox._load import pick
    from skill_health.effectiveness.workspace.images import drop_copies
    from skill_health.executors._load import open_executor

    if options["named"] and options["no_resume"]:
        raise click.UsageError("--resume and --no-resume exclude each other")
    if options["named"] and options["extend"]:
        raise click.UsageError(
            "--resume and --extend exclude each other: a run that goes on extends what it began with"
        )
    click.get_current_context().call_on_close(drop_copies)
    inputs = load_inputs(tasks, options["skill_paths"], options["config_file"], options["skip_namesakes"])
    print_lines(inputs.notes)
    reports = reports_folder(options["out"], inputs.root, inputs.config)
    repeated = _repeated(options["repeated"], reports) if options["repeated"] else None
    if repeated:
        inputs = narrow(inputs, repeated)
        chosen = choices_of(repeated, inputs.config.effectiveness)
    else:
        chosen = choices(options, inputs.config.effectiveness)
    if not chosen.agents:
        raise UsageError(
            "no agent is named: give --agents, such as --agents claude-code:MODEL (see `effectiveness agents`)"
        )
    own = any(task.contained for task in inputs.tasks)
    sandbox = pick(chosen.sandbox or None, chosen.image, own=own)
    fit, skipped, lines = fit_tasks(
        inputs, options["skip_unfit"] or bool(repeated and repeated.skipped), sandbox, chosen.image, chosen.network, look_only=options["dry_run"],
        tell=lambda line: print_lines([line]),
    )  # fmt: skip
    print_lines(lines)
    at_once = options["concurrency"] or AT_ONCE
    # The configuration's pairs are tried where nobody says what else to try.
    asked = () if repeated else options["pairs"] or (() if options["arms"] else inputs.config.effectiveness.pairs)
    if asked:
        pairs = find_pairs(asked, inputs, fit)
        hints = options["hint"] or inputs.config.effectiveness.hint
        ways = options["delivery"] or inputs.config.effectiveness.delivery
        chosen = with_pairs(chosen, pairs, inputs.config.router, options["arms"], hints, ways)
    prepared = prepare(
        inputs,
        fit,
        chosen,
        reports,
        options["time"] or datetime.now(UTC),
        skipped=skipped,
        named=options["named"],
        extend=options["extend"],
        anew=options["no_resume"],
        keyless=options["dry_run"],
        concurrency=at_once,
        shard=options["shard"],
    )
    if repeated:
        refuse_other_inputs(record_values(repeated), prepared.place.manifest)
    print_lines([*prepared.forecast.lines(), *said_of_earlier(prepared.place, prepared.reports)])
    if options["dry_run"]:
        print_lines(["dry run: no agent was started, nothing was written"])
        return CLEAN
    terms = TrialRunOptions(
        options["max_runs"], options["max_budget_usd"], at_once, quiet=options["quiet"], shard=options["shard"]
    )
    plan, told = prepared.plan, prepared.forecast
    agents = max((arm.agents for _, arm in plan.staged), default=1)
    refuse_spending_of(plan.models, prepared.prices, terms, "trial", options["unsafe_no_cost_cap"], agents)
    warn_before(terms, told.trials, told.usd_low, "trial", plan.sandbox.name, prepared.place)
    with open_executor(options["executor"]) as executor:
        if executor.host:
            refuse_unshared(plan)
            terms = replace(terms, concurrency=options["concurrency"] or executor.workers)
        ended = conduct(prepared, terms, sys.stderr, parts(executor))
    return print_outcome(ended, options["format_"])


_OPEN = frozenset((
    "tasks", "config_file", "skill_paths", "skip_namesakes", "skip_unfit", "out", "max_runs", "max_budget_usd", "unsafe_no_cost_cap",
    "concurrency", "dry_run", "quiet", "repeated", "named", "no_resume", "shard", "executor", "extend", "time", "format_",
))  # fmt: skip
"""What a repeated run leaves open: where things are, what may be spent, and how it is shown."""


def _repeated(run: str, reports: str) -> EffectManifest:
    """The manifest of the run to repeat. Raises UsageError where there is none."""
    from skill_health.bench.reproduce.repeat import refuse_settled
    from skill_health.bench.run_folder import find_run
    from skill_health.effectiveness.run.runs import KIND, load_manifest

    refuse_settled(click.get_current_context(), _OPEN)
    return load_manifest(find_run(run, reports, KIND))


def print_outcome(ended: RunOutcome, format_: str) -> int:
    """Print the report of a run, and say how that ended; returns the exit code. Raises AbortedError, as `finish`."""
    from skill_health.effectiveness.commands.report import choose_options
    from skill_health.effectiveness.reports import load

    text, color = "", False
    if ended.report is not None and sys.stdout is not None:
        how = choose_options(format_)
        text, color = load(format_).render(ended.report, how), how.color
    code = finish(ended, text, color, "trials", "trials without an outcome that counts")
    if ended.report is not None and (waiting := ended.report.outcomes.get("unjudged")):
        name = os.path.basename(ended.folder)
        print_lines(
            [f"trials that wait for a judge: {waiting}; `skill-health effectiveness judge {name}` has them judged"]
        )
    return code
