"""`skill-health router sweep`: after an edit of descriptions, ask what can tell what it did, and compare."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import print_lines
from skill_health.core.errors import CLEAN, FINDINGS, UsageError
from skill_health.core.files import here
from skill_health.core.times import time_option
from skill_health.router.commands._options import collection_options, model_options, run_options
from skill_health.router.commands.run import _dry, _take_terms, print_outcome
from skill_health.router.plan.choices import RouterOptions

if TYPE_CHECKING:
    from skill_health.documents.router_comparison import ComparedSkill
    from skill_health.documents.router_manifest import SweepSelection
    from skill_health.documents.router_settlement import RouterSettlement
    from skill_health.router.compare.sweep import SweepBasis
    from skill_health.router.inputs import RouterInputs
    from skill_health.router.records import Prompt
    from skill_health.router.runs import RouterRun


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions(RouterOptions):
    """What a command line says of a sweep, besides what it says of the run."""

    since: str | None = None
    changed: bool = False
    controls: int | None = None
    max_loss: float | None = None
    settle: float | None = None


@click.command(short_help="Ask again what an edit of descriptions affects, and compare.")
@collection_options
@click.option("--since", metavar="REV", help="Compare with the descriptions at this git revision.")
@click.option("--changed", is_flag=True, help="Compare with the descriptions of the last comparable run.")
@click.option("--controls", type=click.IntRange(0), metavar="N", help="How many other prompts to ask, too (20).")
@click.option(
    "--max-loss",
    type=click.FloatRange(0, 1),
    metavar="X",
    help="Exit 1 where top-1 falls by more (0.02): significantly, or of all prompts for a local router.",
)
@click.option(
    "--settle", type=click.FloatRange(0, 0.99, min_open=True), metavar="X",
    help="Stop once it is settled for each model whether top-1 has fallen by more than X.",
)  # fmt: skip
@model_options
@run_options
@click.option("--no-resume", is_flag=True, help="Start over, even if the same sweep is unfinished.")
@click.option("--time", callback=time_option, metavar="ISO", help="Time to record for the run (now).")
@click.option("--format", "format_", type=click.Choice(["text", "md", "json"]), default="text", help="What to print.")
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Ask the prompts that changed descriptions affect, and a fixed sample of others, and compare with before.

    Affected are prompts whose label names a changed skill, and those that were confused with one. Without --since and
    --changed every prompt is asked, and compared with the last comparable run. Exit 1 on a significant loss of top-1
    beyond --max-loss, for a local router on any that is beyond it, and where the instrument check fails.
    """
    from skill_health.discovery.roots import reports_folder
    from skill_health.router.compare.sweep import SweepBasis
    from skill_health.router.plan.choices import choices
    from skill_health.router.plan.prepare import read_inputs, selection_of
    from skill_health.router.prompts._load import refuse_bad_records
    from skill_health.router.template import load_template

    given = SweepOptions(paths=paths, **options)
    if given.since and given.changed:
        raise click.UsageError("--since and --changed exclude each other")
    if given.settle is not None and (given.since or given.changed):
        raise click.UsageError("--settle is for a sweep over all prompts: leave out --since and --changed")
    inputs, train = read_inputs(given)
    print_lines(inputs.notes)
    print_lines(refuse_bad_records(inputs.problems, given.skip_bad))
    chosen = choices(given, inputs.config.router)
    asked = SweepBasis(chosen, load_template(chosen.template).digest, selection_of(inputs, given))
    reports = reports_folder(given.out, inputs.root, inputs.config)
    if given.since or given.changed:
        return _part(inputs, train, asked, reports, given)
    return _whole(inputs, train, asked, reports, given)


def _whole(
    inputs: RouterInputs, train: tuple[Prompt, ...], asked: SweepBasis, reports: str, given: SweepOptions
) -> int:
    from skill_health.router.compare.sweep import last_run

    before = last_run(reports, asked, asked.choices.models, [])
    if before is None:
        print_lines([f"there is no comparable run in {reports} yet: this one is the first"])
    return _run(inputs, train, asked, reports, given, before, {}, None)


def _part(inputs: RouterInputs, train: tuple[Prompt, ...], asked: SweepBasis, reports: str, given: SweepOptions) -> int:
    """The sweep of what changed; nothing is asked where nothing did."""
    from skill_health.router.compare.sweep import other_changes, select, sweep_record
    from skill_health.router.template import load_template

    before, changed, since = _before(inputs, train, asked, reports, given)
    if before is None:
        click.echo(f"no listed name or description has changed since {since}: nothing to ask")
        return CLEAN
    names = [skill.name for skill in changed]
    controls = inputs.config.router.controls if given.controls is None else given.controls
    specs = set(asked.choices.models)
    results = [result for result in before.results if result.model in specs]
    chosen = select(inputs.prompts, names, results, controls, asked.choices.seed)
    if not chosen.prompt_ids:
        raise UsageError(
            f"no prompt can tell what the change of {', '.join(names)} did: label some, or give --controls"
        )
    none_allowed = load_template(asked.choices.template).none_allowed
    record = sweep_record(since, changed, chosen, inputs.prompts, none_allowed)
    wanted = set(chosen.prompt_ids)
    subset = replace(inputs, prompts=tuple(prompt for prompt in inputs.prompts if prompt.prompt_id in wanted))
    if others := other_changes(before, inputs.catalogue.shown, changed):
        print_lines([f"the baseline {before.run_id} listed other texts of {', '.join(others)}, too"])
    return _run(subset, train, asked, reports, given, before, chosen.groups(), record)


def _before(
    inputs: RouterInputs, train: tuple[Prompt, ...], asked: SweepBasis, reports: str, given: SweepOptions
) -> tuple[RouterRun | None, tuple[ComparedSkill, ...], str]:
    """The baseline, what has changed since, and since when; no baseline where nothing has changed."""
    from skill_health.router.compare.comparable import changed_skills
    from skill_health.router.compare.sweep import run_at, run_before
    from skill_health.router.inputs import catalogue_at
    from skill_health.router.lexicon.fields import DESCRIPTION
    from skill_health.router.plan.manifest import bodies_digest

    bodies = asked.choices.index != DESCRIPTION
    if revision := given.since:
        old = catalogue_at(
            inputs.root, inputs.config, revision, asked.choices.listing, inputs.paths, asked.choices.index
        )
        changed = changed_skills(old.shown, inputs.catalogue.shown, bodies)
        found = run_at(reports, inputs, asked, old, changed, train, revision) if changed else None
        return found, changed, revision
    run = run_before(reports, inputs, asked)
    changed = changed_skills(run.facts.shown.values(), inputs.catalogue.shown)
    if bodies and run.manifest.hashes.get("bodies") != bodies_digest(inputs.catalogue):
        raise UsageError(
            f"bodies have changed since {run.run_id}, and a run does not keep them: with --index {asked.choices.index} give --since REV"
        )
    return run if changed else None, changed, run.run_id


def _run(
    inputs: RouterInputs,
    train: tuple[Prompt, ...],
    asked: SweepBasis,
    reports: str,
    given: SweepOptions,
    before: RouterRun | None,
    groups: dict[str, tuple[str, ...]],
    record: SweepSelection | None,
) -> int:
    """Ask, and compare with what was before."""
    from msgspec.structs import asdict

    from skill_health.core.files import write_text
    from skill_health.documents.router_manifest import FrozenSelection
    from skill_health.router.commands.compare import rendered
    from skill_health.router.compare.compare import contrast
    from skill_health.router.plan.prepare import prepare
    from skill_health.router.run.conduct import conduct
    from skill_health.router.runs import load_run

    selection = FrozenSelection(kind="sweep", **asdict(record)) if record else asked.selection
    prepared = prepare(
        inputs, asked.choices, reports, given.time or datetime.now(UTC), train=train, selection=selection,
        anew=given.no_resume, keyless=given.dry_run, concurrency=given.concurrency,
    )  # fmt: skip
    print_lines(prepared.forecast.lines())
    if given.dry_run:
        print_lines(_selected(record))
        return _dry(prepared)
    terms = _take_terms(prepared, given)
    if given.settle is not None and before is not None:
        from skill_health.core.extras import STATISTICS, require_modules

        require_modules("--settle", STATISTICS)
        from skill_health.router.compare.settle import settle_sweep

        stopped = settle_sweep(prepared, terms, sys.stderr, before, given.settle)
        if stopped.settled is not None:
            return _settled(stopped.settled, prepared.place.folder, given.format_, stopped.untrusted)
        if stopped.ended is not None:
            return print_outcome(stopped.ended, given.format_)
        prepared = stopped.prepared
    for name in _SETTLED:
        with suppress(OSError):
            os.unlink(os.path.join(prepared.place.folder, name))
    ended = conduct(prepared, terms, sys.stderr)
    if ended.left or before is None:
        return print_outcome(ended, given.format_)
    max_loss = inputs.config.router.max_loss if given.max_loss is None else given.max_loss
    found = contrast(load_run(ended.folder), before, max_loss, groups or None, record)
    for name, form in (("comparison.json", "json"), ("comparison.md", "md")):
        write_text(os.path.join(ended.folder, name), rendered(found, form))
    click.echo(rendered(found, given.format_), nl=False)
    print_lines([f"written: {here(ended.folder)}"])
    return FINDINGS if found.lost or ended.untrusted else CLEAN


_SETTLED = ("settlement.json", "settlement.md")
"""What a run that stopped early says; one that is whole says it in its comparison."""


def _settled(found: RouterSettlement, folder: str, format_: str, untrusted: Sequence[str]) -> int:
    """Write and print what was settled; 1 where a model has lost, or failed the instrument check."""
    import json

    from skill_health.core.files import write_text
    from skill_health.documents._record import record_values
    from skill_health.router.compare.settle import settlement_blocks
    from skill_health.text.blocks import as_markdown, as_text

    values = json.dumps(record_values(found), indent=1, ensure_ascii=True, allow_nan=False) + "\n"
    text = {"json": values, "md": as_markdown(settlement_blocks(found)), "text": as_text(settlement_blocks(found))}
    for name in _SETTLED:
        write_text(os.path.join(folder, name), text[name.partition(".")[2]])
    click.echo(text[format_], nl=False)
    print_lines([f"written: {here(folder)}"])
    if untrusted:
        print_lines([f"not to be trusted: {', '.join(untrusted)} failed the instrument check"])
    return FINDINGS if untrusted or any(each.verdict == "lost" for each in found.models) else CLEAN


def _selected(record: SweepSelection | None) -> list[str]:
    """What would be asked, and why."""
    if record is None:
        return []
    why = [f"{each.prompt_id}: {', '.join(each.why)}" for each in record.affected]
    return [*why, f"controls: {', '.join(record.controls) or 'none'}"]
