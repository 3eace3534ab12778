"""`skill-health draft leaks`: a model looks for answers in skills, beside the deterministic check."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import print_lines
from skill_health.core.errors import CLEAN, AbortedError, UsageError
from skill_health.drafts.commands._options import model_options, moment_option

if TYPE_CHECKING:
    from skill_health.documents.leak_audit import LeakAudit
    from skill_health.text.blocks import Block


@click.command(short_help="Have a model look for answers of tasks in the skills that should help.")
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
@click.option("--skills", "skill_paths", multiple=True, metavar="PATH", help="Where the skills are (the repository).")
@model_options
@moment_option
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="What to print.")
def command(tasks: tuple[str, ...], **options: Any) -> int:
    """Ask a model which answers of the tasks at or below TASK are given away by the skills that should help.

    It is shown each task with its skills, solution and tests. Each claim needs a quote of the skill and one of the
    solution or the tests. Where both stand there it is listed as quoted, else as made up. It decides nothing:
    `effectiveness check` and `review` go by what can be computed.

    What was stopped resumes when the same command is given again; exit 3 where calls are left.
    """
    from skill_health.bench.prices import price_table
    from skill_health.core.extras import require_modules

    if not options["model"]:
        raise click.UsageError("name who looks: --model PROVIDER:MODEL")
    require_modules("draft leaks", ("httpx", "numpy", "scipy"))
    from skill_health.discovery.roots import reports_folder
    from skill_health.documents._record import encode_record
    from skill_health.drafts.asking.plan import forecast_lines, open_writer, prepare_drafting
    from skill_health.drafts.asking.run import DraftingTerms, conduct_drafting, refuse_uncapped_drafting
    from skill_health.drafts.leaks import build_audit, leak_question, plan_leaks
    from skill_health.effectiveness.check.skills import collection, own_skills, skill_texts
    from skill_health.effectiveness.tasks._load import load_tasks
    from skill_health.lint.pipeline import configure
    from skill_health.text.blocks import as_text
    from skill_health.text.terminal import clean, echo

    root, config = configure(tasks, options["config_file"], {})
    loaded = load_tasks(tasks, root)
    print_lines(clean(f"note: {bad.path}: {bad.message}") for bad in loaded.problems)
    skills_root, found = collection(options["skill_paths"], options["config_file"], root)
    shared = skill_texts(found, skills_root)
    asked = [leak_question(task, own_skills(task) or shared) for task in sorted(loaded.tasks, key=lambda each: each.id)]
    questions = [each for each in asked if each]
    if not questions:
        raise UsageError("no task here has a skill of its own, and a solution or tests: name the skills with --skills")
    writer = open_writer(options["model"], config.router, price_table(config.router), options["dry_run"])
    plan = plan_leaks(questions, writer, config.router.seed)
    reports = reports_folder(options["out"], root, config)
    time = options["time"] or datetime.now(UTC)
    prepared = prepare_drafting(plan, config.router, reports, time, named=options["named"], anew=options["anew"])
    print_lines(forecast_lines(prepared, options["max_runs"], options["max_usd"]))
    if options["dry_run"]:
        print_lines(["dry run: nothing was asked or written"])
        return CLEAN
    terms = DraftingTerms.of(options)
    refuse_uncapped_drafting(prepared, terms)
    ended = conduct_drafting(prepared, terms, sys.stderr)
    audit = build_audit(questions, ended.texts, ended.run_id, writer.spec, writer.provider.think_tags)
    echo(encode_record(audit) if options["format_"] == "json" else as_text(audit_blocks(audit)))
    if ended.left and ended.reason == "interrupted":
        raise KeyboardInterrupt
    if ended.left:
        larger = " with a larger cap" if ended.capped else ""
        raise AbortedError(
            f"incomplete: {ended.left} questions have no answer ({ended.reason}); run the same command again{larger} to continue"
        )
    return CLEAN


def audit_blocks(audit: LeakAudit) -> Iterator[Block]:
    """The audit for a reader: what is quoted first, then how much was made up."""
    from skill_health.text.blocks import Items, Sentence, TitleBlock
    from skill_health.text.numbers import count

    for task in audit.tasks:
        yield TitleBlock(f"{task.task} ({', '.join(task.skills)})")
        quoted = [claim for claim in task.claims if claim.standing == "quoted"]
        if task.outcome == "no answer":
            yield Sentence("no answer that could be read")
        elif not quoted:
            yield Sentence("no leak is quoted")
        yield Items(
            [f"{claim.skill}: {claim.quote!r} gives away {claim.answer!r}: {claim.why}" for claim in quoted], most=100
        )
        if task.cut:
            yield Sentence("its texts were too long to be shown whole")
    yield TitleBlock("In all")
    yield Sentence(
        f"{audit.model} quotes {count(audit.quoted, 'place')} in {count(len(audit.tasks), 'task')}, and made up {audit.made_up} "
        "(one of the quotes stands nowhere). A model's opinion: nothing is decided by it."
    )
