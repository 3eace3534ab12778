"""`skill-health router run`: ask every router every prompt, and report."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import executor_option, finish, from_option, print_lines, shard_option
from skill_health.core.errors import CLEAN, UsageError
from skill_health.core.files import here
from skill_health.core.times import time_option
from skill_health.router.commands._options import collection_options, model_options, run_options

if TYPE_CHECKING:
    from skill_health.bench.run.conduct import RunOutcome
    from skill_health.documents.router_manifest import RouterManifest
    from skill_health.executors._api import Executor
    from skill_health.router.plan.choices import RouterOptions
    from skill_health.router.plan.prepare import PreparedSweep
    from skill_health.router.run.conduct import RouterRunOptions


@click.command(short_help="Ask routers and models every prompt, and report.")
@collection_options
@model_options
@run_options
@click.option(
    "--reuse", metavar="RUN", default="", help="Take over answers of this run to the same questions to dated models."
)
@click.option("--batch", is_flag=True, help="Ask models in their providers' batches: cheaper, within a day.")
@click.option("--cancel-batches", is_flag=True, help="Cancel the batches of a run, and keep what is done of them.")
@shard_option
@executor_option("computes local routers")
@from_option
@click.option("--resume", "named", metavar="RUN", default="", help="Resume this run and no other.")
@click.option("--no-resume", is_flag=True, help="Start over, even if the same run is unfinished.")
@click.option("--time", callback=time_option, metavar="ISO", help="Time to record for the run (now).")
@click.option(
    "--format", "format_", type=click.Choice(["text", "md", "json"]), default="text", help="How to print the report."
)
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Ask routers and models every labelled prompt with the skills of a collection in balanced orders, and report.

    A run that was stopped resumes when the same command is given again. Exit 1 where the instrument
    check says that a model's figures are not to be trusted, 3 where calls are left. With --batch
    providers are handed all calls together; an interrupt leaves those with them, and the same
    command collects them. With --from a run is repeated as its manifest says, if all that it rests on
    is as it was; what is not is named.
    """
    from skill_health.executors._load import LOCAL, open_executor
    from skill_health.router.plan.choices import RouterOptions, narrow

    given = RouterOptions(paths=paths, **options)
    if given.named and given.no_resume:
        raise click.UsageError("--resume and --no-resume exclude each other")
    repeated = _repeated(given) if given.repeated else None
    if repeated:
        given = narrow(given, repeated)
    with open_executor(LOCAL if given.dry_run else given.executor) as executor:
        return _run(given, repeated, executor)


def _run(given: RouterOptions, repeated: RouterManifest | None, executor: Executor) -> int:
    from skill_health.bench.reproduce.repeat import refuse_other_inputs
    from skill_health.discovery.roots import reports_folder
    from skill_health.documents._record import record_values
    from skill_health.router.plan.choices import choices, choices_of
    from skill_health.router.plan.prepare import prepare, read_inputs, selection_of, short_caps
    from skill_health.router.prompts._load import refuse_bad_records
    from skill_health.router.run.conduct import conduct

    inputs, train = read_inputs(given)
    print_lines(inputs.notes)
    print_lines(refuse_bad_records(inputs.problems, given.skip_bad))
    prepared = prepare(
        inputs,
        choices_of(repeated, given.template) if repeated else choices(given, inputs.config.router),
        reports_folder(given.out, inputs.root, inputs.config),
        given.time or datetime.now(UTC),
        train=train,
        selection=repeated.selection if repeated else selection_of(inputs, given),
        named=given.named,
        anew=given.no_resume,
        keyless=given.dry_run,
        concurrency=given.concurrency,
        shard=given.shard,
        executor=executor,
        reuse=given.reuse,
    )
    if repeated:
        refuse_other_inputs(record_values(repeated), prepared.place.manifest)
    if given.cancel_batches and prepared.place.stored is None:
        raise UsageError("there is no unfinished run like this one, so there are no batches of it to cancel")
    print_lines(prepared.forecast.lines())
    if given.dry_run:
        return _dry(prepared)
    terms = _take_terms(prepared, given)
    print_lines(short_caps(prepared, terms.max_runs, terms.max_usd))
    if prepared.place.stored is not None:
        print_lines([f"resuming {here(prepared.place.folder)}: {len(prepared.place.done)} results are there"])
    ended = conduct(prepared, terms, sys.stderr)
    return print_outcome(ended, given.format_)


_OPEN = frozenset((
    "paths", "config_file", "prompt_files", "field_map", "skip_bad", "namesakes", "template", "out", "max_runs", "max_budget_usd",
    "unsafe_no_cost_cap", "concurrency", "dry_run", "despite_check", "quiet", "repeated", "cancel_batches", "named", "no_resume",
    "shard", "executor", "time", "format_",
))  # fmt: skip
"""What a repeated run leaves open: where things are, what may be spent, and how it is shown."""


def _repeated(given: RouterOptions) -> RouterManifest:
    """The manifest of the run to repeat. Raises UsageError where there is none, or where it was not made here."""
    from skill_health.bench.reproduce.repeat import refuse_settled
    from skill_health.bench.run_folder import find_run
    from skill_health.discovery.roots import reports_folder
    from skill_health.lint.pipeline import configure
    from skill_health.router.runs import ROUTER, load_manifest

    refuse_settled(click.get_current_context(), _OPEN)
    root, config = configure(given.paths or (os.curdir,), given.config_file, {})
    found = load_manifest(find_run(given.repeated, reports_folder(given.out, root, config), ROUTER))
    if found.imported is True:
        raise UsageError(f"{given.repeated} was imported: its manifest does not say how it was made")
    return found


def _take_terms(prepared: PreparedSweep, given: RouterOptions) -> RouterRunOptions:
    """The limits that a run was given. Raises UsageError where it may not be made without a cap."""
    from skill_health.bench.run.conduct import AT_ONCE
    from skill_health.router.plan.opening import refuse_uncapped
    from skill_health.router.run.conduct import RouterRunOptions

    terms = RouterRunOptions(
        given.max_runs, given.max_budget_usd, given.concurrency or AT_ONCE,
        quiet=given.quiet, shard=given.shard, despite_check=given.despite_check, cancel_batches=given.cancel_batches,
    )  # fmt: skip
    if not (given.unsafe_no_cost_cap or given.cancel_batches):
        capped = terms.max_runs is not None or terms.max_usd is not None
        refuse_uncapped(prepared.plan.models, capped, prepared.prices)
    return terms


def _dry(prepared: PreparedSweep) -> int:
    """Say what would be sent first, and write nothing."""
    from skill_health.router.plan.plan import Questions
    from skill_health.router.template import schema_size, size_of

    first = next((call for call in prepared.plan.calls() if call.model.wired), None)
    if first:
        request = Questions(prepared.plan).request(first, 1)
        size = size_of(request.text) + schema_size(request.schema)
        print_lines([f"the first question ({first.prompt.prompt_id}, {first.model.spec}) has {size:,} bytes"])
    print_lines(["dry run: nothing was asked, nothing was written"])
    return CLEAN


def print_outcome(ended: RunOutcome, format_: str) -> int:
    """Print the report of a run, and say how that ended; returns the exit code. Raises AbortedError, as `finish`."""
    from skill_health.text.terminal import wants_color

    if ended.report is None or sys.stdout is None:
        return finish(ended, "", False)
    from shutil import get_terminal_size

    from skill_health.bench.report_formats import RenderOptions
    from skill_health.router.reports import load

    color = wants_color() and format_ == "text"
    text = load(format_).render(ended.report, RenderOptions(color, get_terminal_size().columns))
    return finish(ended, text, color)
