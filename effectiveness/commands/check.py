"""`skill-health effectiveness check`: are tasks fit to measure with, before anything is spent on them?"""

from __future__ import annotations

import click

from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.effectiveness.commands._options import SKIP_NAMESAKES, network_options


@click.command(short_help="Audit tasks for leaks, and try each with nothing done and with its oracle.")
@click.argument("tasks", nargs=-1, required=True, metavar="TASK...")
@click.option(
    "--skills",
    "skill_paths",
    multiple=True,
    metavar="PATH",
    help="The collection of skills, if the tasks are not inside it.",
)
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
@click.option("--skip-namesakes", is_flag=True, help=SKIP_NAMESAKES)
@click.option("--static", is_flag=True, help="Run nothing: read the tasks and audit them for leaks only.")
@click.option(
    "--sandbox", metavar="NAME", help="bubblewrap, docker, podman, harbor:PROVIDER, or none (the first that works)."
)
@network_options
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Concurrent tasks (one for each processor).")
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
    import os

    from skill_health.bench.collection import SKIP
    from skill_health.bench.command_line import print_lines
    from skill_health.config.load import describe_refused
    from skill_health.core.errors import UsageError
    from skill_health.effectiveness.check.check import as_json, as_text, check_tasks
    from skill_health.effectiveness.check.skills import collection
    from skill_health.effectiveness.plan.inputs import settle_names
    from skill_health.effectiveness.sandbox._load import back_end, pick
    from skill_health.effectiveness.tasks._load import load_tasks
    from skill_health.effectiveness.workspace.images import drop_copies, network_choice, place_tasks
    from skill_health.effectiveness.workspace.scripts import ScriptOptions
    from skill_health.lint.pipeline import configure, prefix
    from skill_health.text.terminal import echo

    click.get_current_context().call_on_close(drop_copies)
    tasks_root, config = configure(tasks, config_file, {})
    loaded = load_tasks(tasks, tasks_root)
    root, found = collection(skill_paths, config_file, tasks_root)
    if not found and not any(task.skills for task in loaded.tasks):
        raise UsageError(f"no skill below {', '.join(skill_paths) or root}: name the skills under test with --skills")
    terms, name = None, ""
    if not static:
        image = config.effectiveness.image
        own = any(task.contained for task in loaded.tasks)
        name = pick(sandbox or config.effectiveness.sandbox or None, image, own=own)
        terms = ScriptOptions(back_end(name), image, jobs or os.cpu_count() or 1)
    settled = settle_names(found, loaded.tasks, root, SKIP if skip_namesakes else config.router.namesakes)
    print_lines((*describe_refused(config), *settled.notes))
    ready = settled.tasks
    if not static:
        granted = network_choice(network, hosts, config.effectiveness)
        ready = place_tasks(ready, name, image, granted, lambda line: print_lines([line])).tasks
    checked = check_tasks(ready, settled.skills, root, terms)
    if format_ == "json":
        echo(as_json(checked, loaded.problems))
    else:
        echo(as_text(checked, loaded.problems, notes, prefix(tasks_root)))
    return CLEAN if not loaded.problems and all(one.ok for one in checked) else FINDINGS
