"""`skill-health effectiveness check`: are tasks fit to measure with, before anything is spent on them?"""

from __future__ import annotations

import click

from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.effectiveness.commands._checking import GivenTasks, check_options


@click.command(short_help="Audit tasks for leaks, and try each with nothing done and with its oracle.")
@check_options
@click.option("--notes", is_flag=True, help="Also say what is not supported, and what is worth knowing.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="What to print.")
def command(
    tasks: tuple[str, ...],
    skill_paths: tuple[str, ...],
    config_file: str | None,
    skip_namesakes: bool,
    static: bool,
    sandbox: str | None,
    network: str | None,
    hosts: tuple[str, ...],
    jobs: int | None,
    notes: bool,
    format_: str,
) -> int:
    """Check tasks, or the folders that hold them: exit 1 where one is not fit to use.

    The files are right; what an agent without the skill gets gives nothing away; the oracle passes, and doing nothing
    fails; the verifier says the same three times and leaves the workspace as it is. What skills share with solution and
    tests is reported, with the words.

    The oracle and the verifier of each task run in a sandbox without a network, as verifiers do in a trial; with
    --static nothing runs at all. The sandbox `none` keeps them from nothing.
    """
    from skill_health.effectiveness.check.check import as_json, as_text
    from skill_health.effectiveness.commands._checking import check_given
    from skill_health.lint.pipeline import prefix
    from skill_health.text.terminal import echo

    found = check_given(
        GivenTasks(tasks, skill_paths, config_file, skip_namesakes, static, sandbox, network, hosts, jobs)
    )
    checked, problems = found.checked, found.problems
    if format_ == "json":
        echo(as_json(checked, problems))
    else:
        echo(as_text(checked, problems, notes, prefix(found.root)))
    return CLEAN if not problems and all(one.ok for one in checked) else FINDINGS
