"""`skill-health effectiveness import`: evaluations in the formats of others -> folders of tasks to edit and keep."""

from __future__ import annotations

import click

from skill_health.core.errors import CLEAN, FINDINGS
from skill_health.core.files import is_there


@click.command(short_help="Write the evaluations of others as folders of tasks.")
@click.argument("tasks", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--to", "target", required=True, metavar="FOLDER", help="Where the folders are written, one for each task."
)
@click.option("--notes", is_flag=True, help="Also say what of each task could not be carried over.")
def command(tasks: tuple[str, ...], target: str, notes: bool) -> int:
    """Read the evaluations in PATHS, files or folders, and write each as a folder of a task.

    `effectiveness run` takes evaluations as they are; a folder of ours is for those who want to edit them: a prompt,
    its starting files, and a rubric of criteria. What could not be carried over stands in it as well. Nothing that is
    there is replaced. Exit 1 where an evaluation is none or could not be written.
    """
    import os
    from collections import Counter

    from skill_health.core.errors import UsageError
    from skill_health.core.files import here
    from skill_health.effectiveness.tasks._load import load_tasks
    from skill_health.effectiveness.tasks.plan_directory import missing_parts, why_not_written, write_task
    from skill_health.lint.pipeline import configure
    from skill_health.registries.records import problem_line
    from skill_health.text.numbers import count
    from skill_health.text.terminal import clean, echo

    root, _ = configure(tasks, None, {})
    loaded = load_tasks(tasks, root)
    reasons = {task.id: why_not_written(task) for task in loaded.tasks}
    wanted = {name: os.path.join(os.path.abspath(target), name) for name, why in reasons.items() if not why}
    if there := next((place for place in wanted.values() if is_there(place, links=False)), None):
        raise UsageError(f"{here(there)} is there already: name another folder with --to, or remove it")
    for task in loaded.tasks:
        if task.id in wanted:
            write_task(task, wanted[task.id])
    said = [f"{here(target)}: {count(len(wanted), 'task')} written"]
    kept_out = Counter(filter(None, reasons.values()))
    said += [f"not written: {count(times, 'task')}: {why}" for why, times in sorted(kept_out.items())]
    said += [problem_line(problem) for problem in loaded.problems]
    written = [task for task in loaded.tasks if task.id in wanted]
    parts = sum(len(missing_parts(task)) for task in written)
    if parts and not notes:
        said.append(f"{count(parts, 'part')} of them could not be carried over: --notes names each")
    if notes:
        said += [f"{task.id}: {line}" for task in written for line in missing_parts(task)]
    echo("".join(f"{clean(line)}\n" for line in said))
    return FINDINGS if kept_out or loaded.problems else CLEAN
