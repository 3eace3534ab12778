"""fixtures/practices: every fact that only its skills have decides its task, and the fifteen subjects are all there."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from test_checks import RESULT

from skill_health.effectiveness.agents._api import ProgramOutput
from skill_health.effectiveness.check.check import check_tasks
from skill_health.effectiveness.check.skills import collection
from skill_health.effectiveness.checks._api import TrialEvidence, decide_check
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.workspace.tree import read_tree

PRACTICES = Path(__file__).resolve().parents[2] / "fixtures" / "practices"
TASKS = load_tasks([str(PRACTICES / "tasks")]).tasks
SUBJECTS = {
    "filesystem-context", "context-compression", "multi-agent-patterns", "memory-systems", "tool-design", "evaluation",
    "advanced-evaluation", "harness-engineering", "context-degradation", "context-optimization", "latent-briefing",
    "bdi-mental-states", "hosted-agents", "project-development", "context-fundamentals",
}  # fmt: skip


def folder_of(task: Task) -> Path:
    return next(PRACTICES.glob(f"tasks/{task.id}-*"))


def oracle(task: Task) -> dict[str, Any]:
    """The names of the oracle's module, before it does anything."""
    source = (folder_of(task) / "oracle" / "solve.py").read_text("utf-8")
    assert source.endswith("\n\nmain()\n")
    names: dict[str, Any] = {}
    exec(compile(source.removesuffix("main()\n"), "solve.py", "exec"), names)
    return names


def verdict(task: Task, workspace: Path) -> bool:
    """Whether every criterion is met."""

    async def run(command: str, seconds: float) -> ProgramOutput:
        done = subprocess.run(["bash", "-c", command], cwd=workspace, capture_output=True, timeout=seconds, check=False)
        return ProgramOutput(done.returncode, done.stdout, done.stderr)

    async def all_met() -> bool:
        evidence = TrialEvidence(str(workspace), read_tree(str(workspace)), "", None, RESULT, run)
        assert task.rubric is not None
        for each in task.rubric.criteria:
            assert each.check is not None
            if (await decide_check(each.check, evidence)).answer != "met":
                return False
        return True

    return asyncio.run(all_met())


def others(value: Any) -> Iterator[Any]:
    """Values that somebody might as well have taken who does not know this one; each differs in one fact."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from {value * 2 + 1, value + 1, value / 2 if isinstance(value, float) else value // 2, value - 1}
    elif isinstance(value, str):
        yield f"{value}-s"
    elif value is None:
        yield 2
    else:
        places = value if isinstance(value, Mapping) else range(len(value))
        for place in places:
            for other in others(value[place]):
                changed = dict(value) if isinstance(value, Mapping) else list(value)
                changed[place] = other
                yield changed


def facts(rules: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each single fact."""
    if isinstance(rules, Mapping | tuple):
        for place in rules if isinstance(rules, Mapping) else range(len(rules)):
            yield from facts(rules[place], (*path, place))
    else:
        yield path


def replaced(rules: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = dict(rules) if isinstance(rules, Mapping) else list(rules)
    changed[path[0]] = replaced(rules[path[0]], path[1:], value)
    return changed if isinstance(rules, Mapping) else tuple(changed)


def at(rules: Any, path: tuple[Any, ...]) -> Any:
    for place in path:
        rules = rules[place]
    return rules


def passes(task: Task, rules: Any, place: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether work passes that was done by other rules; work that comes to no end does not."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder_of(task) / "starting", place)
    names = oracle(task)
    names["RULES"] = rules
    with monkeypatch.context() as patch:
        patch.chdir(place)
        try:
            names["main"]()
        except (LookupError, TypeError, ValueError, ZeroDivisionError, StopIteration):
            return False
    return verdict(task, place)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.slug)
def test_each_fact_decides(task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = oracle(task)["RULES"]
    assert passes(task, deepcopy(rules), tmp_path / "w", monkeypatch)
    found = list(facts(rules))
    assert len(found) >= 4

    def is_idle(path: tuple[Any, ...]) -> bool:
        changed = (replaced(rules, path, other) for other in others(at(rules, path)))
        return all(passes(task, each, tmp_path / "w", monkeypatch) for each in changed)

    idle = [path for path in found if is_idle(path)]
    assert idle == [], "whoever guesses these otherwise passes all the same"


def test_each_subject_has_a_skill_and_a_task() -> None:
    assert {path.parent.name for path in PRACTICES.glob("skills/*/SKILL.md")} == SUBJECTS
    assert {task.target_name for task in TASKS} == {task.category for task in TASKS} == SUBJECTS
    assert len(TASKS) == len(SUBJECTS)


@pytest.mark.slow
def test_no_task_says_what_its_skill_says() -> None:
    """What a look finds, without running anything: no leak, and every skill that is named is there."""
    root, skills = collection([str(PRACTICES / "skills")], None)
    checked = check_tasks(TASKS, skills, root)
    assert {one.task.slug: (one.faults, one.notes) for one in checked if one.faults or one.notes} == {}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.slug)
def test_nothing_done_fails(task: Task) -> None:
    assert not verdict(task, folder_of(task) / "starting")
