"""`skill-health draft tasks`: proposals of tasks that show what a skill is worth, and executable tasks made of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import amount, print_lines
from skill_health.core.errors import CLEAN, INTERRUPTED, AbortedError, UsageError
from skill_health.core.times import time_option

if TYPE_CHECKING:
    from skill_health.config.settings import Config
    from skill_health.drafts.asking.writer import OpenWriter
    from skill_health.drafts.tasks.draft import DraftTerms
    from skill_health.drafts.tasks.subject import DraftSubject
    from skill_health.drafts.tasks.validate import KnownTask
    from skill_health.skill.model import Skill

_MOST_INTENT = 1 << 20


@click.command(short_help="Propose tasks for skills, and make executable tasks of what is accepted.")
@click.argument("skills", nargs=-1, required=True, metavar="SKILL...")
@click.option("--together", is_flag=True, help="Draft for all of them as one set, instead of for each.")
@click.option("--intent", default="", metavar="TEXT", help="What you want to have tested.")
@click.option(
    "--intent-file", "intent_files", multiple=True, metavar="FILE", help="The same from a file: an issue, a log."
)
@click.option("--model", metavar="PROVIDER:MODEL", help="The model that drafts (none: templates, which are weaker).")
@click.option(
    "--second", metavar="PROVIDER:MODEL", help="A model that rejects ambiguous tasks, and can do nothing else."
)
@click.option("--most", type=click.IntRange(1, 10), default=3, metavar="N", help="At most so many proposals each (3).")
@click.option("--straight", is_flag=True, help="Make tasks of proposals that nobody has accepted yet, too.")
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
@click.option("--out", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option("--sandbox", metavar="NAME", help="Where drafted scripts are tried: bubblewrap, docker, podman, or none.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Tasks tried at once (one for each processor).")
@click.option("--max-runs", type=click.IntRange(0), metavar="N", help="At most so many calls, repeated ones included.")
@click.option("--max-budget-usd", type=click.FloatRange(0), callback=amount, metavar="X", help="At most so much.")
@click.option("--unsafe-no-cost-cap", is_flag=True, help="Ask paid models without a cap.")
@click.option("--concurrency", type=click.IntRange(1, 256), default=4, metavar="N", help="Calls under way at once (4).")
@click.option("--dry-run", is_flag=True, help="Say what would be asked and what it would cost; ask and write nothing.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--no-resume", is_flag=True, help="Ask anew what was answered before.")
@click.option("--time", callback=time_option, metavar="ISO", help="Date the drafts so (now).")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="What to print.")
def command(skills: tuple[str, ...], **options: Any) -> int:
    """Draft tasks for each SKILL: its folder, its SKILL.md, a folder above several, or its name in the collection.

    Proposals come first, into drafts/proposals: title, situation, inputs, outcome, and what is hidden. Accept them in
    `draft review`, and the same command makes tasks of them, into drafts/tasks: instruction, starting files, two
    rubrics of 100 points, checks, a reference solution. Each is held against rules and tried in the sandbox; what fails
    is kept with its reason. With --straight nobody is waited for.

    What was stopped goes on where it was when the same command is given again; exit 3 where calls are left.
    """
    from skill_health.core.extras import STATISTICS, require_modules

    require_modules("draft tasks", (*STATISTICS, *(("httpx",) if options["model"] or options["second"] else ())))
    from skill_health.config.load import describe_refused
    from skill_health.documents._record import encode_record
    from skill_health.drafts.tasks.draft import DraftingStopped, TaskDrafting
    from skill_health.drafts.tasks.report import build_drafting_report, drafting_text
    from skill_health.drafts.tasks.validate import make_surroundings
    from skill_health.effectiveness.check.skills import collection
    from skill_health.lint.pipeline import configure
    from skill_health.text.terminal import echo

    if options["second"] and not options["model"] and options["dry_run"]:
        print_lines(["the second model is asked about tasks, which a dry run does not make"])
    paths = [path for path in skills if os.path.exists(path)]
    root, config = configure(paths or (os.curdir,), options["config_file"], {})
    print_lines(describe_refused(config))
    root, all_skills = collection((), options["config_file"], root)
    subjects = _subjects(skills, all_skills, root, _read_intent(options), options["together"])
    terms = _open_terms(root, config, options)
    around = make_surroundings(root, all_skills, _known(root, config))
    drafting = TaskDrafting(subjects, around, terms)
    if options["dry_run"]:
        print_lines(drafting.forecast())
        print_lines(["dry run: nothing was asked, nothing was written"])
        return CLEAN
    stopped = None
    try:
        drafting.draft()
    except DraftingStopped as error:
        stopped = error.asked
    report = build_drafting_report(subjects, terms, drafting.unanswered)
    echo(encode_record(report) if options["format_"] == "json" else drafting_text(report))
    if stopped is not None:
        larger = " with a larger cap" if stopped.capped else ""
        again = f"run the same command again{larger} to continue"
        if stopped.reason == "interrupted":
            print_lines([f"interrupted: {stopped.left} calls have no result; {again}"])
            return INTERRUPTED
        raise AbortedError(f"incomplete: {stopped.left} calls have no result ({stopped.reason}); {again}")
    return CLEAN


def _subjects(
    named: Sequence[str], skills: Sequence[Skill], root: str, intent: str, together: bool
) -> tuple[DraftSubject, ...]:
    """The skills that were named, each by itself or all as one set. Raises UsageError for what is none."""
    from skill_health.discovery.roots import relative
    from skill_health.drafts.tasks.subject import make_subject
    from skill_health.text.near import did_you_mean

    found: dict[str, Skill] = {}
    for name in named:
        inside = relative(os.path.realpath(name), root) if os.path.exists(name) else None
        below = [each for each in skills if inside is not None and _is_at(each.path, inside)]
        mine = below or [each for each in skills if each.name == name]
        if not mine:
            raise UsageError(f"there is no skill {name!r}{did_you_mean(name, [each.name for each in skills])}")
        if not below and len(mine) > 1:
            raise UsageError(f"{len(mine)} skills are called {name!r}: name the folder, such as {mine[0].folder}")
        found |= {each.path: each for each in mine}
    chosen = list(found.values())
    sets = [chosen] if together else [[each] for each in chosen]
    return tuple(make_subject(each, root, intent) for each in sets)


def _is_at(path: str, inside: str) -> bool:
    return inside in ("", ".") or path == inside or path.startswith(f"{inside}/")


def _read_intent(options: dict[str, Any]) -> str:
    """What the user wants, from the options and files. Raises UsageError for a file that cannot be read."""
    from skill_health.core.files import here, read_whole

    texts = [options["intent"]]
    for path in options["intent_files"]:
        try:
            texts.append(read_whole(path, _MOST_INTENT).decode("utf-8", "replace"))
        except OSError as error:
            raise UsageError(f"cannot read {here(path)}: {error.strerror}") from None
    return "\n\n".join(filter(None, texts))


def _open_terms(root: str, config: Config, options: dict[str, Any]) -> DraftTerms:
    """The models, the sandbox and the caps. Raises UsageError for what the user can fix."""
    from skill_health.discovery.roots import reports_folder
    from skill_health.drafts.tasks.draft import DraftTerms
    from skill_health.effectiveness.sandbox._load import NONE, back_end, pick
    from skill_health.effectiveness.workspace.scripts import ScriptOptions

    image = config.effectiveness.image
    # What a model wrote is not run with all rights of the user because trials are: that has to be asked for here.
    usual = config.effectiveness.sandbox if config.effectiveness.sandbox != NONE else ""
    name = pick(options["sandbox"] or usual or None, image)
    terms = DraftTerms(
        root=root,
        reports=reports_folder(options["out"], root, config),
        time=options["time"] or datetime.now(UTC),
        scripts=ScriptOptions(back_end(name), image, options["jobs"] or os.cpu_count() or 1),
        most=options["most"],
        straight=options["straight"],
        anew=options["no_resume"],
    )
    if not (options["model"] or options["second"]):
        return terms
    return _with_models(terms, config, options)


def _with_models(terms: DraftTerms, config: Config, options: dict[str, Any]) -> DraftTerms:
    from dataclasses import replace

    from skill_health.bench.prices import price_table, refuse_spending
    from skill_health.drafts.asking.run import QuestionTerms
    from skill_health.drafts.asking.writer import open_writer, writer_keys

    prices = price_table(config.router)

    def opened(spec: str | None) -> OpenWriter | None:
        return open_writer(spec, config.router, prices, options["dry_run"]) if spec else None

    writer, reviewer = opened(options["model"]), opened(options["second"])
    asked = [each for each in (writer, reviewer) if each]
    if not options["dry_run"] and not options["unsafe_no_cost_cap"]:
        capped = options["max_runs"] is not None or options["max_budget_usd"] is not None
        refuse_spending([(each.spec, each.price) for each in asked], capped, prices)
    asking = QuestionTerms(
        options["max_runs"], options["max_budget_usd"], concurrency=options["concurrency"], quiet=options["quiet"]
    )
    keys = writer_keys(asked, config.router)
    return replace(terms, writer=writer, reviewer=reviewer, prices=prices, asking=asking, keys=keys)


def _known(root: str, config: Config) -> list[KnownTask]:
    """The tasks that the collection has, and those that are drafted and not rejected."""
    from skill_health.documents.task_draft import TaskDraft
    from skill_health.drafts.store import read_drafts
    from skill_health.drafts.tasks.folder import load_folder, task_place
    from skill_health.drafts.tasks.validate import KnownTask
    from skill_health.effectiveness.tasks._load import load_tasks
    from skill_health.registries.sources import expand

    folders = sorted({os.path.dirname(path) for pattern in config.sources.tasks for path in expand(root, pattern)})
    tasks = load_tasks([os.path.join(root, folder) for folder in folders], root).tasks if folders else ()
    found = [KnownTask(task.path, task.prompt, task.target_skills or ()) for task in tasks]
    for draft in read_drafts(root, TaskDraft).drafts:
        if draft.state != "rejected":
            try:
                task = load_folder(task_place(root, draft), root)
            except UsageError as error:
                print_lines([str(error)])
                continue
            found.append(KnownTask(draft.id, task.prompt, task.target_skills or ()))
    return found
