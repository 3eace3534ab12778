"""`skill-health draft prompts`: draft labelled requests for skills, by a model, from templates, or from transcripts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import print_lines
from skill_health.core.errors import CLEAN, INTERRUPTED, AbortedError
from skill_health.core.files import is_there
from skill_health.drafts.commands._options import model_options, moment_option, skill_options

if TYPE_CHECKING:
    from skill_health.drafts.material import DraftingCollection
    from skill_health.drafts.prompts.propose import ProposedPrompt, WrittenDrafts
    from skill_health.router.records import ListedSkill


@click.command(short_help="Draft labelled prompts for skills, by a model, from templates, or from transcripts.")
@skill_options
@click.option(
    "-n",
    "--each",
    "most",
    type=click.IntRange(1, 40),
    default=5,
    metavar="N",
    help="Up to N of each kind per skill (5).",
)
@click.option("--intent", default="", metavar="TEXT", help="What you want to have tested, in your words.")
@model_options
@click.option(
    "--check-model", metavar="PROVIDER:MODEL", help="Have this model look for ambiguous ones; it may only reject."
)
@click.option(
    "--without-model", is_flag=True, help="From templates, though the configuration names models (the default)."
)
@click.option(
    "--from-transcripts",
    is_flag=True,
    help="From logs of Claude Code, Codex and OpenCode: the usual ones, or PATHs among the arguments.",
)
@click.option("--yes", is_flag=True, help="With --from-transcripts: write without asking.")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Seed of the split (from the configuration, else 1).")
@moment_option
def command(skills: tuple[str, ...], **options: Any) -> int:
    """Draft requests that must find a skill, near misses that must find a sibling, and requests for no skill.

    Without --model they are filled templates over what the skill says of itself, which are weaker. Each is held against
    our rules, put into a part of the test set, and kept in drafts/prompts until `skill-health draft review`. Without
    SKILL it is for every skill of the collection.

    With --from-transcripts they are what users of agents asked for when a skill of the collection was loaded, without
    keys, addresses and numbers of persons. They are shown, and nothing is written until you say so.
    """
    from skill_health.drafts.material import choose_skills, collection_of, load_collection

    logs: tuple[str, ...] = ()
    if options["from_transcripts"]:
        skills, logs = _part(skills)
    paths = collection_of(skills, options["collection"])
    collection = load_collection(paths, options["config_file"], options["namesakes"])
    print_lines(collection.notes)
    chosen = choose_skills(collection, skills)
    if options["model"] and options["without_model"]:
        raise click.UsageError("--model and --without-model exclude each other")
    if options["check_model"] and not options["model"]:
        raise click.UsageError("--check-model looks at what --model writes: name one")
    if options["from_transcripts"]:
        if options["model"]:
            raise click.UsageError("--model and --from-transcripts exclude each other")
        return _take(collection, chosen, logs, options)
    return _ask(collection, chosen, options) if options["model"] else _fill(collection, chosen, options)


def _part(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The skills and the logs among the arguments: a log is a path that is there and no folder of a skill."""
    import os

    from skill_health.discovery.listing import has_skill, is_skill_name

    def is_log(word: str) -> bool:
        return (
            is_there(word)
            and not is_skill_name(os.path.basename(word))
            and not (os.path.isdir(word) and has_skill(word))
        )

    return tuple(word for word in words if not is_log(word)), tuple(word for word in words if is_log(word))


def _take(
    collection: DraftingCollection, chosen: tuple[ListedSkill, ...], logs: tuple[str, ...], options: dict[str, Any]
) -> int:
    """Show what would be drafted from logs, ask, and write it."""
    from skill_health.documents.prompt_draft import PromptDraft
    from skill_health.drafts.from_logs import find_logs, propose_from_logs, shown_lines
    from skill_health.drafts.prompts.propose import build_drafts
    from skill_health.drafts.store import add_drafts, read_drafts

    found = propose_from_logs(collection, chosen, find_logs(logs))
    print_lines(found.notes)
    stored = read_drafts(collection.root, PromptDraft)
    print_lines(stored.problems)
    time = options["time"] or datetime.now(UTC)
    made = build_drafts(collection, found.proposed, stored.drafts, _seed(collection, options), time, options["most"])
    kept = [draft for draft in made if draft.state == "proposed"]
    for line in shown_lines(kept, made):
        click.echo(line)
    if not kept:
        click.echo("No new draft.")
        return CLEAN
    if options["dry_run"]:
        print_lines(["dry run: nothing was written"])
        return CLEAN
    if not options["yes"]:
        click.echo(f"Write these {len(kept)} drafts into drafts/prompts? [y/N] ", nl=False)
        answer = sys.stdin.readline() if sys.stdin is not None else ""
        click.echo()
        if answer.strip().lower() not in ("y", "yes"):
            click.echo("Nothing was written.")
            return CLEAN
    written = add_drafts(collection.root, kept)
    click.echo(f"{len(written)} drafts were written. Look at them by `skill-health draft review`.")
    return CLEAN


def _fill(collection: DraftingCollection, chosen: tuple[ListedSkill, ...], options: dict[str, Any]) -> int:
    from skill_health.drafts.prompts.propose import write_proposals
    from skill_health.drafts.prompts.templates import propose_from_templates

    if options["dry_run"]:
        print_lines([f"{len(chosen)} skills, templates only: nothing is asked; dry run: nothing was written"])
        return CLEAN
    proposed = [each for skill in chosen for each in propose_from_templates(collection, skill, options["most"])]
    time = options["time"] or datetime.now(UTC)
    written = write_proposals(
        collection, proposed, _seed(collection, options), time, options["most"], options["intent"]
    )
    if options["intent"]:
        print_lines(["templates cannot follow --intent: it counts only for the script that a request may be in"])
    print_lines(_unfilled(chosen, proposed))
    _tell(written)
    return CLEAN


def _unfilled(chosen: tuple[ListedSkill, ...], proposed: list[ProposedPrompt]) -> Iterator[str]:
    """Which skills say nothing that makes a request for them: their recall cannot be measured with these drafts."""
    from skill_health.text.near import list_some

    filled = {each.skill.name for each in proposed if each.content.role == "positive"}
    if bare := [skill.name for skill in chosen if skill.name not in filled]:
        yield f"{list_some(bare)}: no text that templates can ask for; write requests that must find it, or name a --model"


def _ask(collection: DraftingCollection, chosen: tuple[ListedSkill, ...], options: dict[str, Any]) -> int:
    from skill_health.bench.prices import price_table
    from skill_health.core.files import here
    from skill_health.discovery.roots import reports_folder
    from skill_health.drafts.asking.plan import forecast_lines, open_writer, prepare_drafting
    from skill_health.drafts.asking.run import DraftingTerms, conduct_drafting, refuse_uncapped_drafting
    from skill_health.drafts.prompts.by_model import PromptQuestions
    from skill_health.drafts.prompts.propose import write_proposals

    if options["named"] and options["anew"]:
        raise click.UsageError("--resume and --no-resume exclude each other")
    routing = collection.config.router
    prices = price_table(routing)
    writer, checker = (
        open_writer(spec, routing, prices, options["dry_run"]) if spec else None
        for spec in (options["model"], options["check_model"])
    )
    assert writer is not None
    asked = PromptQuestions(collection, chosen, writer, checker, options["most"], options["intent"])
    seed = _seed(collection, options)
    reports = reports_folder(options["out"], collection.root, collection.config)
    time = options["time"] or datetime.now(UTC)
    prepared = prepare_drafting(asked.plan(seed), routing, reports, time, named=options["named"], anew=options["anew"])
    print_lines(forecast_lines(prepared, options["max_runs"], options["max_usd"]))
    if options["dry_run"]:
        print_lines(["dry run: nothing was asked, nothing was written"])
        return CLEAN
    terms = DraftingTerms.of(options)
    refuse_uncapped_drafting(prepared, terms)
    ended = conduct_drafting(prepared, terms, sys.stderr)
    written = write_proposals(
        collection, asked.proposals(ended), seed, prepared.created, options["most"], options["intent"]
    )
    print_lines(
        f"{each.question}: no answer that can be used ({', '.join(each.kinds) or each.error or each.status})"
        for each in ended.answers
        if each.status != "finished"
    )
    _tell(written)
    if not ended.left:
        return CLEAN
    again = f"run the same command again{' with a larger cap' if ended.capped else ''} to continue (or add --resume {ended.run_id})"
    if ended.reason == "interrupted":
        print_lines([f"interrupted: {ended.left} questions have no answer; {again}"])
        return INTERRUPTED
    raise AbortedError(
        f"incomplete: {ended.left} questions have no answer ({ended.reason}), see {here(ended.folder)}; {again}"
    )


def _seed(collection: DraftingCollection, options: dict[str, Any]) -> int:
    seed: int | None = options["seed"]
    return collection.config.router.seed if seed is None else seed


def _tell(written: WrittenDrafts) -> None:
    """Say what was written; the split of a draft is not."""
    from skill_health.drafts.report import build_draft_report, report_text

    print_lines(written.problems)
    if not written.drafts:
        click.echo("No new draft.")
        return
    click.echo(report_text(build_draft_report(written.drafts)), nl=False)
