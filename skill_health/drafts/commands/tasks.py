"""`skill-health draft tasks`: proposals of tasks that show what a skill is worth, and executable tasks made of them."""

from __future__ import annotations

import os
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import amount, print_lines
from skill_health.core.errors import CLEAN, INTERRUPTED, AbortedError, UsageError
from skill_health.drafts.commands._options import moment_option, skill_options

if TYPE_CHECKING:
    from skill_health.config.settings import Config
    from skill_health.drafts.tasks.draft import DraftTerms

_MOST_INTENT = 1 << 20


@click.command(short_help="Propose tasks for skills, and make executable tasks of what is accepted.")
@skill_options
@click.option("--together", is_flag=True, help="Draft one set for all of them, instead of one for each.")
@click.option("--intent", default="", metavar="TEXT", help="What you want to have tested.")
@click.option(
    "--intent-file", "intent_files", multiple=True, metavar="FILE", help="The same from a file: an issue, a log."
)
@click.option("-n", "--each", "most", type=click.IntRange(1, 10), default=3, metavar="N", help="Up to N per skill (3).")
@click.option("--straight", is_flag=True, help="Make tasks of proposals that nobody has accepted yet, too.")
@click.option(
    "--model", metavar="PROVIDER:MODEL", help="Have this model write them (without: templates, which are weaker)."
)
@click.option(
    "--check-model", metavar="PROVIDER:MODEL", help="Have this model look for ambiguous ones; it may only reject."
)
@click.option("--sandbox", metavar="NAME", help="Where drafted scripts are tried: bubblewrap, docker, podman, or none.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Concurrent tasks (one for each processor).")
@click.option(
    "--max-calls",
    "max_runs",
    type=click.IntRange(0),
    metavar="N",
    help="At most N calls, retries included.",
)
@click.option(
    "--max-budget-usd",
    "max_usd",
    type=click.FloatRange(0),
    callback=amount,
    metavar="X",
    help="Spend at most X US dollars.",
)
@click.option("--unsafe-no-cost-cap", "uncapped", is_flag=True, help="Ask paid models without a cap.")
@click.option("--concurrency", type=click.IntRange(1, 1024), default=16, metavar="N", help="Concurrent calls (16).")
@click.option("--dry-run", is_flag=True, help="Say what would be asked and what it would cost; ask and write nothing.")
@click.option("--out", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option("--no-resume", "anew", is_flag=True, help="Ask again what was answered before.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@moment_option
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="What to print.")
def command(skills: tuple[str, ...], **options: Any) -> int:
    """Draft tasks that show what a skill is worth: for each SKILL, or for all of the collection.

    Proposals come first, into drafts/proposals: title, situation, inputs, outcome, and what is hidden. Accept them in
    `draft review`, and the same command makes tasks of them, into drafts/tasks: instruction, starting files, two
    rubrics of 100 points, checks, a reference solution. Each is held against rules and tried in the sandbox; what fails
    is kept with its reason. With --straight nobody is waited for.

    What was stopped resumes when the same command is given again; exit 3 where calls are left.
    """
    from skill_health.core.extras import STATISTICS, require_modules

    asks = options["model"] or options["check_model"]
    require_modules("draft tasks", (*STATISTICS, *(("httpx",) if asks else ())))
    from skill_health.config.load import describe_refused
    from skill_health.documents._record import encode_record
    from skill_health.drafts.material import choose_skills, collection_of, load_collection
    from skill_health.drafts.tasks.draft import DraftingStopped, TaskDrafting
    from skill_health.drafts.tasks.known import known_tasks
    from skill_health.drafts.tasks.report import build_drafting_report, drafting_text
    from skill_health.drafts.tasks.subject import make_subject
    from skill_health.drafts.tasks.validate import make_surroundings
    from skill_health.text.terminal import echo

    paths = collection_of(skills, options["collection"])
    collection = load_collection(paths, options["config_file"], options["namesakes"])
    root, config = collection.root, collection.config
    print_lines((*describe_refused(config), *collection.notes))
    listed = choose_skills(collection, skills)
    plain = Counter(skill.name for skill in collection.skills.values())
    named = {each.path: collection.skills[each.path].name for each in listed}
    meant = {each.path: named[each.path] if plain[named[each.path]] == 1 else each.name for each in listed}
    chosen = [collection.skills[each.path] for each in listed]
    intent = _read_intent(options)
    sets = [chosen] if options["together"] else [[skill] for skill in chosen]
    subjects = tuple(make_subject(each, root, intent, [meant[skill.path] for skill in each]) for each in sets)
    terms = _open_terms(root, config, options)
    known, problems = known_tasks(root, config)
    print_lines(problems)
    drafting = TaskDrafting(subjects, make_surroundings(root, tuple(collection.skills.values()), known), terms)
    if options["dry_run"]:
        print_lines(drafting.forecast())
        print_lines(["dry run: nothing was asked, nothing was written"])
        return CLEAN
    stopped = None
    try:
        drafting.draft()
    except DraftingStopped as error:
        stopped = error.ended
    report = build_drafting_report(subjects, terms, drafting.unanswered)
    echo(encode_record(report) if options["format_"] == "json" else drafting_text(report))
    if stopped is not None:
        larger = " with a larger cap" if stopped.capped else ""
        again = f"run the same command again{larger} to continue"
        if stopped.reason == "interrupted":
            print_lines([f"interrupted: {stopped.left} questions have no answer; {again}"])
            return INTERRUPTED
        raise AbortedError(f"incomplete: {stopped.left} questions have no answer ({stopped.reason}); {again}")
    return CLEAN


def _read_intent(options: dict[str, Any]) -> str:
    """What the user wants, from the options and files. Raises UsageError for a file that cannot be read."""
    from skill_health.core.files import here, read_whole

    texts = [options["intent"]]
    for path in options["intent_files"]:
        try:
            texts.append(read_whole(path, _MOST_INTENT).decode("utf-8", "replace"))
        except OSError as error:
            raise UsageError(f"cannot read {here(path)}: {error.strerror or error}") from None
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
        anew=options["anew"],
    )
    return _with_models(terms, config, options)


def _with_models(terms: DraftTerms, config: Config, options: dict[str, Any]) -> DraftTerms:
    """The same with the models that are named, within caps."""
    from dataclasses import replace

    from skill_health.bench.prices import price_table, refuse_spending
    from skill_health.drafts.asking.plan import open_writer
    from skill_health.drafts.asking.run import DraftingTerms

    asking = DraftingTerms.of(options)
    if not (options["model"] or options["check_model"]):
        return replace(terms, routing=config.router, asking=asking)
    prices = price_table(config.router)
    writer, reviewer = (
        open_writer(spec, config.router, prices, options["dry_run"]) if spec else None
        for spec in (options["model"], options["check_model"])
    )
    if not options["dry_run"] and not options["uncapped"]:
        asked = [(each.spec, each.price) for each in (writer, reviewer) if each]
        refuse_spending(asked, options["max_runs"] is not None or options["max_usd"] is not None, prices)
    return replace(terms, writer=writer, reviewer=reviewer, routing=config.router, asking=asking)
