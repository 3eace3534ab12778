"""`skill-health effectiveness review`: is a task fit for a benchmark, by its files, its oracle and its trials?"""

from __future__ import annotations

import click

from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.effectiveness.commands._checking import GivenTasks, check_options


@click.command(short_help="Review tasks in six parts, with a recommendation by stated rules.")
@check_options
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="RUN",
    help="A run with trials of the tasks (the last one, if any); repeatable.",
)
@click.option(
    "--out", metavar="DIR", help="Folder of the reports that runs are in (from the configuration, else reports)."
)
@click.option("--format", "format_", type=click.Choice(["text", "md", "json"]), default="text", help="What to print.")
def command(
    tasks: tuple[str, ...], skill_paths: tuple[str, ...], config_file: str | None, skip_namesakes: bool, static: bool,
    sandbox: str | None, network: str | None, hosts: tuple[str, ...], jobs: int | None, runs: tuple[str, ...], out: str | None,
    format_: str,
) -> int:  # fmt: skip
    """Review tasks, or the folders that hold them: exit 1 where one is not to be approved.

    Each review has the metadata, what the oracle comes to, what agents did with the skills and without, what the
    skills gain, what failed and in which trial, and a recommendation: approve, approve with caveats, major changes
    needed, reject, or not decided where too little was run.

    Oracles and verifiers are run as by `effectiveness check`, and no agent is: their trials are read from finished
    runs, as far as these had the task in its present state.
    """
    from datetime import date

    from skill_health.bench.run_folder import find_run, run_ids
    from skill_health.core.extras import STATISTICS, require_modules
    from skill_health.discovery.roots import reports_folder
    from skill_health.documents._record import encode_record
    from skill_health.documents.effect_check import UnreadableTask
    from skill_health.documents.task_review import TaskReviewReport

    require_modules("effectiveness review", STATISTICS)
    from skill_health.effectiveness.commands._checking import check_given
    from skill_health.effectiveness.review.build import ReviewedRun, review_task
    from skill_health.effectiveness.review.skills import count_skill_errors
    from skill_health.effectiveness.review.text import review_blocks
    from skill_health.effectiveness.run.runs import KIND, load_run
    from skill_health.text.blocks import as_markdown, as_text
    from skill_health.text.terminal import echo

    found = check_given(
        GivenTasks(tasks, skill_paths, config_file, skip_namesakes, static, sandbox, network, hosts, jobs)
    )
    reports = reports_folder(out, found.root, found.config)
    chosen = runs or tuple(run_ids(reports, KIND))[:1]
    read = [ReviewedRun.open(load_run(find_run(run, reports, KIND))) for run in dict.fromkeys(chosen)]
    today = date.today()
    report = TaskReviewReport(
        schema="skill-health/effectiveness-review/1",
        tasks=tuple(
            review_task(task, one, read, count_skill_errors(task, found.skills, found.skills_root, config_file, today))
            for task, one in zip(found.tasks, found.checked, strict=True)
        ),
        bad=tuple(
            UnreadableTask(path=one.path, line=one.line, message=one.message, help=one.help) for one in found.problems
        ),
        runs=tuple(each.run.run_id for each in read),
    )
    if format_ == "json":
        echo(encode_record(report))
    else:
        blocks = review_blocks(report)
        echo(as_markdown(blocks) if format_ == "md" else as_text(blocks))
    approved = all(each.recommendation.startswith("approve") for each in report.tasks)
    return CLEAN if approved and not report.bad else FINDINGS
