"""`skill-health suggest`: better texts, shown to be better on prompts that nothing was tuned on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import listed, print_lines
from skill_health.core.errors import CLEAN, FINDINGS, AbortedError
from skill_health.drafts.commands._options import model_options, moment_option
from skill_health.router.commands._options import namesakes_options

if TYPE_CHECKING:
    from skill_health.drafts.suggest.by_models import ModelPanel
    from skill_health.drafts.suggest.candidates import DescriptionCandidate
    from skill_health.drafts.suggest.suggest import SuggestionBench


@click.group("suggest")
def command() -> None:
    """Suggest a better text, selected on some labelled prompts and confirmed on others that are sealed."""


@command.command("description", short_help="Find a description that routes better, or say that none is.")
@click.argument("skill", metavar="SKILL")
@click.option("--candidate", "files", multiple=True, metavar="FILE", help="A description to measure; one a file.")
@click.option(
    "--candidates", "count", type=click.IntRange(1, 20), default=4, metavar="N", help="How many --model writes (4)."
)
@click.option(
    "--routers",
    multiple=True,
    callback=listed,
    metavar="LIST",
    help="Free routers that measure (lexical,lexical:tfidf,lexical:overlap); beside --models they decide nothing.",
)
@click.option(
    "--models",
    multiple=True,
    callback=listed,
    metavar="LIST",
    help="Models that measure and decide, as `router models` names them.",
)
@click.option("--reps", type=click.IntRange(1, 1000), metavar="N", help="How often --models are asked each prompt (3).")
@click.option("--despite-check", is_flag=True, help="Continue even if the instrument check fails for one of --models.")
@click.option("--collection", metavar="PATH", help="The collection around the skill (found from it, else here).")
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
@namesakes_options
@model_options
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="Seed of resampling (from the configuration, else 1)."
)
@moment_option
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="What to print.")
def suggest_description_command(skill: str, **options: Any) -> int:
    """Measure candidates for the description of SKILL, and confirm the best of them once.

    Candidates are written by --model or given as files. All are measured on the prompts of the split train; the one
    that is ahead of today's description there is held against it on the sealed prompts (the split test), by a paired
    interval and a test. What measures are free routers, or --models, which then decide alone and are asked the sealed
    prompts, too. Nobody else is shown these, and each use of them is counted: later uses have to meet a stricter
    level. Exit 0 where it is better, 1 where nothing is, 3 where calls are left.
    """
    from skill_health.documents._record import encode_record
    from skill_health.drafts.material import choose_skills, collection_of, load_collection
    from skill_health.drafts.suggest.candidates import judge_candidates, read_candidates
    from skill_health.drafts.suggest.measure import FREE, require_statistics, split_prompts
    from skill_health.drafts.suggest.render import suggestion_text
    from skill_health.drafts.suggest.suggest import SuggestionBench, suggest_description
    from skill_health.router.prompts._load import refuse_bad_records

    if not options["models"] and (options["reps"] or options["despite_check"]):
        raise click.UsageError("--reps and --despite-check are for --models: name those that measure")
    if options["named"] and options["anew"]:
        raise click.UsageError("--resume and --no-resume exclude each other")
    if not options["files"] and not options["model"]:
        raise click.UsageError("give candidates: --candidate FILE, or --model PROVIDER:MODEL to have some written")
    require_statistics()
    collection = load_collection(
        collection_of((skill,), options["collection"]), options["config_file"], options["namesakes"]
    )
    refuse_bad_records(collection.problems, None)
    print_lines(collection.notes)
    (chosen,) = choose_skills(collection, (skill,))
    seed = collection.config.router.seed if options["seed"] is None else options["seed"]
    options["time"] = options["time"] or datetime.now(UTC)
    bench = SuggestionBench(collection, chosen, split_prompts(collection), options["routers"] or FREE, seed)
    found: list[DescriptionCandidate] = read_candidates(options["files"])
    prompts = (*bench.prompts.train, *bench.prompts.sealed)
    limit = collection.config.limits.containment
    if options["models"]:
        bench = replace(bench, panel=_open_panel(bench, options))
        print_lines(_forecast(bench, judge_candidates(found, chosen.description, prompts, limit), options))
    if options["model"]:
        found += _ask(bench, options)
    if options["dry_run"]:
        print_lines(["dry run: nothing was asked, measured or written"])
        return CLEAN
    judged = judge_candidates(found, chosen.description, prompts, limit)
    report = suggest_description(bench, judged, options["time"])
    click.echo(encode_record(report) if options["format_"] == "json" else suggestion_text(report), nl=False)
    return CLEAN if report.verdict == "better" else FINDINGS


def _open_panel(bench: SuggestionBench, options: dict[str, Any]) -> ModelPanel:
    """The models that measure. Raises UsageError for names that are none, or of free routers."""
    from skill_health.discovery.roots import reports_folder
    from skill_health.drafts.suggest.by_models import ModelPanel, PanelTerms, choose_panel
    from skill_health.router.run.conduct import RouterRunOptions

    limits = RouterRunOptions(
        options["max_runs"],
        options["max_usd"],
        options["concurrency"],
        quiet=options["quiet"],
        despite_check=options["despite_check"],
    )
    terms = PanelTerms(
        options["time"], options["anew"], limits, options["uncapped"], keyless=options["dry_run"], stream=sys.stderr
    )
    collection = bench.collection
    reports = reports_folder(options["out"], collection.root, collection.config)
    chosen = choose_panel(options["models"], options["reps"], bench.seed, collection)
    return ModelPanel(collection, bench.skill, bench.prompts, chosen, reports, terms)


def _forecast(bench: SuggestionBench, judged: Sequence[DescriptionCandidate], options: dict[str, Any]) -> Iterable[str]:
    """What measuring takes, before anything is asked; what is not written yet is taken to be as long as it may be."""
    from skill_health.rules.frontmatter.description_length import MAX_LENGTH

    texts = [each.text for each in judged if not each.fault]
    texts += ["x" * MAX_LENGTH] * (options["count"] if options["model"] else 0)
    return bench.panel.forecast_lines(texts) if bench.panel and texts else ()


def _ask(bench: SuggestionBench, options: dict[str, Any]) -> list[DescriptionCandidate]:
    """The candidates of a model; none for a dry run. Raises AbortedError where it gave no answer that can be used."""
    from skill_health.bench.prices import price_table
    from skill_health.discovery.roots import reports_folder
    from skill_health.drafts.asking.plan import forecast_lines, open_writer, prepare_drafting
    from skill_health.drafts.asking.run import DraftingTerms, conduct_drafting, refuse_uncapped_drafting
    from skill_health.drafts.suggest.candidates import (
        DescriptionCandidate,
        plan_descriptions,
        question_of,
        read_descriptions,
    )

    collection, skill = bench.collection, bench.skill
    routing = collection.config.router
    writer = open_writer(options["model"], routing, price_table(routing), options["dry_run"])
    siblings = collection.siblings(skill)
    plan = plan_descriptions(skill, siblings, bench.missed(), writer, options["count"], bench.seed)
    reports = reports_folder(options["out"], collection.root, collection.config)
    prepared = prepare_drafting(plan, routing, reports, options["time"], named=options["named"], anew=options["anew"])
    print_lines(forecast_lines(prepared, options["max_runs"], options["max_usd"]))
    if options["dry_run"]:
        return []
    terms = DraftingTerms.of(options)
    refuse_uncapped_drafting(prepared, terms)
    ended = conduct_drafting(prepared, terms, sys.stderr)
    if ended.left and ended.reason == "interrupted":
        raise KeyboardInterrupt
    if bench.panel:
        bench.panel.charge(ended.spent)
    text = ended.texts.get(question_of(skill))
    descriptions = read_descriptions(text, writer.provider.think_tags) if text else "no answer"
    if isinstance(descriptions, str):
        why = ended.reason or next((each.error or ", ".join(each.kinds) for each in ended.answers), "") or descriptions
        raise AbortedError(f"{writer.spec} wrote no candidates ({why}); run the same command again to ask it once more")
    name = ended.resolved(question_of(skill)) or writer.spec
    return [DescriptionCandidate(each, name) for each in descriptions[: options["count"]]]


__all__ = ["command"]
