"""What a manifest says that a report needs: the tasks, the models, and which trials were planned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.effectiveness.conditions import parse_arm
from skill_health.effectiveness.records import Arm
from skill_health.effectiveness.tasks._api import NO_SKILL

MARGIN = 0.10
"""The largest difference that counts as none where a manifest declares no other."""


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A task as a report needs it. `arms` are the names of those that it has, in the run's order."""

    id: str
    slug: str
    skill: str | None
    category: str
    difficulty: str
    arms: tuple[str, ...]

    @property
    def is_control(self) -> bool:
        """Whether no skill should help."""
        return self.skill == NO_SKILL


@dataclass(frozen=True, slots=True)
class TrialRunFacts:
    """A manifest as values; `arms` are those of the run by name, in its order."""

    tasks: Mapping[str, TaskFacts]
    arms: Mapping[str, Arm]
    models: tuple[Mapping[str, Any], ...]
    replications: int
    margin: float
    seed: int

    @property
    def targets(self) -> tuple[TaskFacts, ...]:
        """The tasks that are no negative controls, in the order of their ids."""
        return tuple(task for task in self.tasks.values() if not task.is_control)

    @property
    def controls(self) -> tuple[TaskFacts, ...]:
        """The negative controls."""
        return tuple(task for task in self.tasks.values() if task.is_control)

    def planned(self, tasks: Iterable[TaskFacts], arms: Iterable[str] | None = None) -> int:
        """How many trials of one model were planned for these tasks, in these arms or in all."""
        wanted = set(self.arms if arms is None else arms)
        return sum(arm in wanted for task in tasks for arm in task.arms) * self.replications


def read_facts(manifest: Mapping[str, Any]) -> TrialRunFacts:
    """The facts of a manifest.

    Raises:
        KeyError, TypeError: where it is none of ours.
        UsageError: for an arm that there is not.
    """
    arms = {name: parse_arm(name) for name in manifest["arms"]}
    staged: Mapping[str, Mapping[str, Any]] = manifest["staged"]
    tasks = {}
    for record in sorted(manifest["tasks"], key=lambda record: str(record["id"])):
        there = staged.get(record["id"], {})
        tasks[record["id"]] = TaskFacts(
            id=record["id"],
            slug=str(record.get("slug") or ""),
            skill=record.get("target_skill"),
            category=str(record.get("category") or ""),
            difficulty=str(record.get("difficulty") or ""),
            arms=tuple(arm for arm in arms if arm in there),
        )
    margin = manifest.get("margin")
    return TrialRunFacts(
        tasks=tasks,
        arms=arms,
        models=tuple(manifest["models"]),
        replications=int(manifest["replications"]),
        margin=MARGIN if margin is None else float(margin),
        seed=int(manifest["seed"]),
    )
