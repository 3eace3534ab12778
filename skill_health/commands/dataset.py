"""`skill-health dataset`: tasks, skills and results as a data set to publish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from skill_health.core.errors import CLEAN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skill_health.config.settings import Config
    from skill_health.discovery.corpus import Discovery
    from skill_health.skill.model import Skill


@click.command(short_help="Write tasks, skills and results as a data set, with a card.")
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
@click.option("--skills", "skill_paths", multiple=True, metavar="PATH", help="Where the skills are (the repository).")
@click.option(
    "--run", "runs", multiple=True, metavar="RUN", help="A run whose trials go in: its id or folder; repeatable."
)
@click.option("--to", "target", required=True, metavar="DIR", help="The folder to write, which is not there yet.")
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "parquet"]), default="jsonl", help="The form of the tables."
)
@click.option(
    "--licence",
    "licences",
    multiple=True,
    metavar="SPDX",
    help="A licence under which skills may be passed on, `any` for all of them (instead of the usual open ones); repeatable.",
)
@click.option("--undeclared", default="", metavar="SPDX", help="The licence of skills that declare none, by your word.")
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
def command(
    tasks: tuple[str, ...], skill_paths: tuple[str, ...], runs: tuple[str, ...], target: str, form: str,
    licences: tuple[str, ...], undeclared: str, config_file: str | None,
) -> int:  # fmt: skip
    """Write the tasks at or below TASK, the skills that they are for, and the trials of finished runs.

    Tables of tasks (with files, verifiers, oracles and rubrics), skills and results, and a card by which
    `datasets.load_dataset` opens them. Left out are skills that the safety and leakage rules warn of, skills whose
    licence does not say that they may be passed on, near copies, and what names persons or credentials; the card lists
    each.
    """
    from typing import cast

    from skill_health.core.extras import STATISTICS, require_modules

    require_modules("dataset", STATISTICS)
    from skill_health.bench.command_line import print_lines
    from skill_health.core.errors import UsageError
    from skill_health.datasets.gather import OPEN, PublishingTerms, gather_dataset
    from skill_health.datasets.write import TableForm, write_dataset
    from skill_health.discovery.corpus import discover
    from skill_health.effectiveness.commands.report import find
    from skill_health.effectiveness.tasks._load import load_tasks
    from skill_health.lint.pipeline import configure
    from skill_health.lint.readable import require_readable
    from skill_health.text.numbers import count
    from skill_health.text.terminal import clean, echo

    root, config = configure(skill_paths or (".",), config_file, {})
    discovery = discover(skill_paths or (".",), config, root)
    require_readable(discovery.entries, discovery.unread)
    skills, unsafe = _read_skills(discovery, config)
    loaded = load_tasks(tasks, root)
    allowed = () if "any" in licences else tuple(each.casefold() for each in licences) or OPEN
    found = gather_dataset(
        loaded.tasks, skills, [find(run, None, config_file) for run in runs], unsafe,
        PublishingTerms(allowed, undeclared.casefold()),
    )  # fmt: skip
    print_lines(clean(f"note: {bad.path}: {bad.message}") for bad in loaded.problems)
    print_lines(clean(f"left out: {each.what}: {each.reason}") for each in found.left_out)
    if not found.tasks and not found.skills:
        raise UsageError("nothing is left to publish: see what was left out above")
    write_dataset(found, target, cast(TableForm, form), sorted({row.licence for row in found.skills if row.licence}))
    echo(
        clean(
            f"written: {target}, {count(len(found.tasks), 'task')}, {count(len(found.skills), 'skill')}, "
            f"{count(len(found.results), 'trial')}"
        )
        + "\n"
    )
    return CLEAN


def _read_skills(discovery: Discovery, config: Config) -> tuple[Sequence[Skill], dict[str, str]]:
    """The readable skills, and why some of them are not safe to pass on, by the path of their SKILL.md."""
    from datetime import date

    from skill_health.config.settings import config_with
    from skill_health.core.boundary import Boundary
    from skill_health.lint.check import load_skill
    from skill_health.lint.pipeline import run
    from skill_health.lint.readable import read_entry
    from skill_health.rules._api import Severity

    chosen = config_with(config, select=("safety", "leakage"), extend_select=(), ignore=())
    unsafe: dict[str, str] = {}
    for finding in run(discovery, chosen, date.today()).findings:
        if finding.severity is not Severity.INFO:
            unsafe.setdefault(finding.skill, f"{finding.code} in line {finding.line}: {finding.message}"[:200])
    boundary = Boundary(discovery.root)
    return [
        load_skill(each, *read_entry(boundary, each)) for each in discovery.entries if each.target and not each.problem
    ], unsafe
