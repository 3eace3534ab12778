"""Tasks as a command names them, checked: what `check` prints and `review` begins with."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from skill_health.bench.command_line import all_of
from skill_health.effectiveness.commands._options import SKIP_NAMESAKES, network_options

if TYPE_CHECKING:
    from skill_health.config.settings import Config
    from skill_health.effectiveness.check.check import TaskCheck
    from skill_health.effectiveness.tasks._api import Task
    from skill_health.registries.records import BadRecord
    from skill_health.skill.model import Skill

check_options = all_of((
    click.argument("tasks", nargs=-1, required=True, metavar="TASK..."),
    click.option("--skills", "skill_paths", multiple=True, metavar="PATH", help="The collection of skills, if the tasks are not inside it."),
    click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found."),
    click.option("--skip-namesakes", is_flag=True, help=SKIP_NAMESAKES),
    click.option("--static", is_flag=True, help="Run nothing: read only."),
    click.option("--sandbox", metavar="NAME", help="bubblewrap, docker, podman, harbor:PROVIDER, or none (the first that works)."),
    network_options,
    click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Concurrent tasks (one for each processor)."),
))  # fmt: skip
"""The tasks, the skills that they are held against, and where oracles and verifiers run."""


@dataclass(frozen=True, slots=True)
class GivenTasks:
    """What these options say."""

    paths: tuple[str, ...]
    skills: tuple[str, ...]
    config_file: str | None
    skip_namesakes: bool
    static: bool
    sandbox: str | None
    network: str | None
    hosts: tuple[str, ...]
    jobs: int | None


@dataclass(frozen=True, slots=True)
class CheckedTasks:
    """Tasks with their checks, in order; `tasks` are they as they were read, and `problems` is what is none.

    Paths of tasks are relative to `root`, those of skills to `skills_root`.
    """

    root: str
    config: Config
    tasks: tuple[Task, ...]
    checked: tuple[TaskCheck, ...]
    problems: tuple[BadRecord, ...]
    skills: tuple[Skill, ...]
    skills_root: str


def check_given(given: GivenTasks) -> CheckedTasks:
    """Check the tasks, and say on the way what there is to note. Raises UsageError."""
    from skill_health.bench.collection import SKIP
    from skill_health.bench.command_line import print_lines
    from skill_health.config.load import describe_refused
    from skill_health.core.errors import UsageError
    from skill_health.effectiveness.check.check import check_tasks
    from skill_health.effectiveness.check.skills import collection
    from skill_health.effectiveness.plan.inputs import settle_names
    from skill_health.effectiveness.sandbox._load import back_end, pick
    from skill_health.effectiveness.tasks._load import load_tasks
    from skill_health.effectiveness.workspace.images import drop_copies, network_choice, place_tasks
    from skill_health.effectiveness.workspace.scripts import ScriptOptions
    from skill_health.lint.pipeline import configure

    click.get_current_context().call_on_close(drop_copies)
    root, config = configure(given.paths, given.config_file, {})
    loaded = load_tasks(given.paths, root)
    skills_root, found = collection(given.skills, given.config_file, root)
    if not found and not any(task.skills for task in loaded.tasks):
        where = ", ".join(given.skills) or skills_root
        raise UsageError(f"no skill below {where}: name the skills under test with --skills")
    terms, name, image = None, "", config.effectiveness.image
    if not given.static:
        own = any(task.contained for task in loaded.tasks)
        name = pick(given.sandbox or config.effectiveness.sandbox or None, image, own=own)
        terms = ScriptOptions(back_end(name), image, given.jobs or os.cpu_count() or 1)
    namesakes = SKIP if given.skip_namesakes else config.router.namesakes
    settled = settle_names(found, loaded.tasks, skills_root, namesakes)
    print_lines((*describe_refused(config), *settled.notes))
    ready = settled.tasks
    if not given.static:
        granted = network_choice(given.network, given.hosts, config.effectiveness)
        ready = place_tasks(ready, name, image, granted, lambda line: print_lines([line])).tasks
    checked = check_tasks(ready, settled.skills, skills_root, terms)
    return CheckedTasks(
        root, config, settled.tasks, checked, tuple(loaded.problems), tuple(settled.skills), skills_root
    )  # fmt: skip
