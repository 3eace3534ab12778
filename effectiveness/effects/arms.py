"""One arm over a set of tasks: how often it succeeds, whether skills are opened, and what it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Literal, get_args

from msgspec import structs

from skill_health.documents._record import FullFigure
from skill_health.documents.effect_report import ArmFigures, InvokedTrials, TaskInvocations
from skill_health.documents.effect_result import Invoked
from skill_health.effectiveness.effects.sheet import MEASURES, Cells, CellTrials, TaskFacts, TrialRunFacts
from skill_health.effectiveness.records import CONTROL
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import clustered_mean, clustered_proportion, unbounded_mean

FLOOR, CEILING = 0.05, 0.95
"""Where an arm leaves nothing to lose or to gain: docs/statistics.md says why there."""


def full_figure(estimate: Estimate) -> FullFigure:
    """An estimate as a report holds it; what it calls clusters are tasks here."""
    return FullFigure(**asdict(replace(estimate, method=_of_tasks(estimate.method), note=_of_tasks(estimate.note))))


def _of_tasks(text: str) -> str:
    return text.replace("clusters", "tasks").replace("cluster", "task").replace("calls", "trials")


def arms(facts: TrialRunFacts, tasks: Sequence[TaskFacts], cells: Cells) -> tuple[ArmFigures, ...]:
    """Every arm that at least one of the tasks has, in the run's order."""
    there = {arm for task in tasks for arm in task.arms}
    return tuple(_arm(name, facts, tasks, cells) for name in facts.arms if name in there)


def _arm(name: str, facts: TrialRunFacts, tasks: Sequence[TaskFacts], cells: Cells) -> ArmFigures:
    found = [cell for task in tasks if (cell := cells.get((task.id, name)))]
    trials = sum(len(cell.trials) for cell in found)
    success = clustered_proportion([cell.passes for cell in found], [len(cell.trials) for cell in found])
    return ArmFigures(
        arm=name,
        trials=trials,
        tasks=len(found),
        missing=facts.planned(tasks, [name]) - trials,
        success=full_figure(success),
        reward=full_figure(_reward(found)),
        invoked=InvokedTrials(**structs.asdict(count_invocations(found)), rate=full_figure(_rate(found))),
        success_given_invoked=full_figure(_given_invoked(found)),
        **{measure: full_figure(_measured(found, measure)) for measure in MEASURES},
        skill_calls=full_figure(_skill_calls(found)) if facts.arms[name].served else None,
        flags=flags(success),
    )


def flags(success: Estimate) -> tuple[Literal["floor", "ceiling"], ...]:
    """Whether nearly no trial passes, or nearly every one."""
    if success.value is None or FLOOR < success.value < CEILING:
        return ()
    return ("floor",) if success.value <= FLOOR else ("ceiling",)


def count_invocations(cells: Iterable[CellTrials]) -> TaskInvocations:
    """How many trials opened a skill, did not, or cannot be seen to have."""
    counts = Counter(result.invoked for cell in cells for result in cell.trials)
    return TaskInvocations(**{word: counts[word] for word in get_args(Invoked)})


def invoked_of(task: TaskFacts, cells: Cells) -> TaskInvocations:
    """The same for one task in all arms that stage a skill."""
    return count_invocations(cell for arm in task.arms if arm != CONTROL and (cell := cells.get((task.id, arm))))


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


def _skill_calls(cells: Sequence[CellTrials]) -> Estimate:
    known = [
        [sum(calls.values()) for result in cell.trials if isinstance(calls := result.skill_calls, Mapping)]
        for cell in cells
    ]
    return unbounded_mean([sum(each) / len(each) for each in known if each], sum(map(len, known)), 0.0)


def _measured(cells: Sequence[CellTrials], measure: str) -> Estimate:
    means = [mean for cell in cells if (mean := cell.mean(measure)) is not None]
    return unbounded_mean(means, sum(len(cell.measures[measure]) for cell in cells), 0.0)
