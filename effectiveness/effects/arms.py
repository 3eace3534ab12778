"""One arm over a set of tasks: how often it succeeds, whether skills are opened, and what it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skill_health.effectiveness.effects.sheet import MEASURES, Cells, CellTrials, TaskFacts, TrialRunFacts
from skill_health.effectiveness.records import CONTROL
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import clustered_mean, clustered_proportion, unbounded_mean

FLOOR, CEILING = 0.05, 0.95
"""Where an arm leaves nothing to lose or to gain: docs/statistics.md says why there."""


def arm_json(estimate: Estimate) -> dict[str, Any]:
    """An estimate as a report holds it; what it calls clusters are tasks here."""
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "clusters": estimate.clusters,
        "p": estimate.p,
        "p_adjusted": estimate.p_adjusted,
        "method": _of_tasks(estimate.method),
        "note": _of_tasks(estimate.note),
    }


def _of_tasks(text: str) -> str:
    return text.replace("clusters", "tasks").replace("cluster", "task").replace("calls", "trials")


def arms(facts: TrialRunFacts, tasks: Sequence[TaskFacts], cells: Cells) -> list[dict[str, Any]]:
    """Every arm that at least one of the tasks has, in the run's order."""
    there = {arm for task in tasks for arm in task.arms}
    return [_arm(name, facts, tasks, cells) for name in facts.arms if name in there]


def _arm(name: str, facts: TrialRunFacts, tasks: Sequence[TaskFacts], cells: Cells) -> dict[str, Any]:
    found = [cell for task in tasks if (cell := cells.get((task.id, name)))]
    trials = sum(len(cell.trials) for cell in found)
    success = clustered_proportion([cell.passes for cell in found], [len(cell.trials) for cell in found])
    return {
        "arm": name,
        "trials": trials,
        "tasks": len(found),
        "missing": facts.planned(tasks, [name]) - trials,
        "success": arm_json(success),
        "reward": arm_json(_reward(found)),
        "invoked": invoked(found) | {"rate": arm_json(_rate(found))},
        "success_given_invoked": arm_json(_given_invoked(found)),
        **{measure: arm_json(_measured(found, measure)) for measure in MEASURES},
        "flags": flags(success),
    }


def flags(success: Estimate) -> list[str]:
    """Whether nearly no trial passes, or nearly every one."""
    if success.value is None:
        return []
    return ["floor"] * (success.value <= FLOOR) + ["ceiling"] * (success.value >= CEILING)


def invoked(cells: Iterable[CellTrials]) -> dict[str, Any]:
    """How many trials opened a skill, did not, or cannot be seen to have."""
    counts = Counter(result.invoked for cell in cells for result in cell.trials)
    return {word: counts[word] for word in ("yes", "no", "not_observable")}


def invoked_of(task: TaskFacts, cells: Cells) -> Mapping[str, int]:
    """The same for one task in all arms that stage a skill."""
    return invoked(cell for arm in task.arms if arm != CONTROL and (cell := cells.get((task.id, arm))))


def _rate(cells: Sequence[CellTrials]) -> Estimate:
    observed = [
        [result.invoked == "yes" for result in cell.trials if result.invoked != "not_observable"] for cell in cells
    ]
    return clustered_proportion([sum(each) for each in observed], [len(each) for each in observed])


def _given_invoked(cells: Sequence[CellTrials]) -> Estimate:
    passed = [[result.outcome == "pass" for result in cell.trials if result.invoked == "yes"] for cell in cells]
    return clustered_proportion([sum(each) for each in passed], [len(each) for each in passed])


def _reward(cells: Sequence[CellTrials]) -> Estimate:
    rewards = [cell.rewards for cell in cells if cell.rewards]
    if all(0 <= reward <= 1 for each in rewards for reward in each):
        return clustered_mean([sum(each) for each in rewards], [len(each) for each in rewards])
    return unbounded_mean([sum(each) / len(each) for each in rewards], sum(map(len, rewards)))


def _measured(cells: Sequence[CellTrials], measure: str) -> Estimate:
    means = [mean for cell in cells if (mean := cell.mean(measure)) is not None]
    return unbounded_mean(means, sum(len(cell.measures[measure]) for cell in cells), 0.0)
