"""One arm over a set of tasks: how often it succeeds, whether skills are opened, and what it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Literal, get_args

from msgspec import UNSET, structs

from skill_health.documents._record import FullFigure
from skill_health.documents.effect_loading import SelectedFigure
from skill_health.documents.effect_report import ArmFigures, BestOf, CreationFigures, InvokedTrials, TaskInvocations
from skill_health.documents.effect_result import Invoked, SkillCreation
from skill_health.effectiveness.effects.sheet import MEASURES, Cells, CellTrials, TaskFacts, TrialRunFacts
from skill_health.effectiveness.records import CONTROL
from skill_health.stats.estimates import Estimate, best_of
from skill_health.stats.intervals import clustered_mean, clustered_proportion, unbounded_mean
from skill_health.text.numbers import signed

FLOOR, CEILING = 0.05, 0.95
"""Where an arm leaves nothing to lose or to gain: docs/statistics.md says why there."""
ALPHA = 0.05
"""The level of the tests of a report."""


def full_figure(estimate: Estimate, cluster: str = "task") -> FullFigure:
    """An estimate as a report holds it; what it calls clusters are tasks here, or what `cluster` says."""
    told = [text.replace("cluster", cluster).replace("calls", "trials") for text in (estimate.method, estimate.note)]
    return FullFigure(**asdict(replace(estimate, method=told[0], note=told[1])))


def say_interval(estimate: Estimate) -> str:
    """The interval of a difference of shares in words, or why there is none."""
    if estimate.low is None or estimate.high is None:
        return full_figure(estimate).note
    return f"95 % interval {signed(estimate.low)} to {signed(estimate.high)}"


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
        tests=full_figure(_tests(found)) if any(cell.tests for cell in found) else None,
        best_of=tuple(_best_of(found, k) for k in tries(facts.replications)),
        invoked=InvokedTrials(**structs.asdict(count_invocations(found)), rate=full_figure(_rate(found))),
        success_given_invoked=SelectedFigure(**structs.asdict(full_figure(_given_invoked(found)))),
        **{measure: full_figure(_measured(found, measure)) for measure in MEASURES},
        skill_calls=full_figure(_skill_calls(found)) if facts.arms[name].served else None,
        flags=flags(success),
        creation=_creation(found),
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


def _creation(cells: Sequence[CellTrials]) -> CreationFigures | None:
    """What the agents wrote for themselves, and what that took; None in an arm where none does."""
    found = [[result.creation for result in cell.trials if result.creation is not UNSET] for cell in cells]
    if not any(found):
        return None
    counts = Counter(each.outcome for own in found for each in own)
    measures = {
        name: [[value for each in own if (value := measure(each)) is not None] for own in found]
        for name, measure in _OF_CREATION.items()
    }
    return CreationFigures(
        written=counts["written"],
        nothing=counts["nothing"],
        unusable=counts["unusable"],
        **{
            name: full_figure(
                unbounded_mean([sum(each) / len(each) for each in known if each], sum(map(len, known)), 0.0)
            )
            for name, known in measures.items()
        },
    )


_OF_CREATION: Mapping[str, Callable[[SkillCreation], float | None]] = {
    "input_tokens": lambda made: made.usage.input_tokens,
    "output_tokens": lambda made: made.usage.output_tokens,
    "cost_usd": lambda made: made.cost_usd,
    "duration_ms": lambda made: made.duration_ms,
}


def _rate(cells: Sequence[CellTrials]) -> Estimate:
    observed = [
        [result.invoked == "yes" for result in cell.trials if result.invoked != "not_observable"] for cell in cells
    ]
    return clustered_proportion([sum(each) for each in observed], [len(each) for each in observed])


def _given_invoked(cells: Sequence[CellTrials]) -> Estimate:
    passed = [[result.outcome == "pass" for result in cell.trials if result.invoked == "yes"] for cell in cells]
    return clustered_proportion([sum(each) for each in passed], [len(each) for each in passed])


_STEPS = (2, 3, 5, 10, 20, 50)


def tries(replications: int) -> tuple[int, ...]:
    """The numbers of tries that are shown: a few, and all that there are; none where each task is tried once."""
    return tuple(sorted({*(k for k in _STEPS if k < replications), *[replications] * (replications > 1)}))


def _best_of(cells: Sequence[CellTrials], k: int) -> BestOf:
    passes = [[float(result.outcome == "pass") for result in cell.trials] for cell in cells]
    return BestOf(
        k=k,
        pass_at_k=full_figure(_best(passes, k, "trials")),
        reward=full_figure(_best([cell.rewards for cell in cells], k, "rewards")),
    )


def _best(groups: Sequence[Sequence[float]], k: int, of: str) -> Estimate:
    """The mean over tasks of the best of k: each task weighs the same, however many trials it has."""
    fit = [each for each in groups if len(each) >= k]
    best, n = [best_of(each, k) for each in fit], sum(map(len, fit))
    if not fit:
        return Estimate(None, note=f"no task has {k} scored {of}")
    if not all(0 <= value <= 1 for each in fit for value in each):
        return unbounded_mean(best, n)
    return replace(clustered_mean([min(value, 1.0) for value in best], [1.0] * len(best)), n=n)


def _tests(cells: Sequence[CellTrials]) -> Estimate:
    shares = [cell.tests for cell in cells if cell.tests]
    return clustered_mean([sum(each) for each in shares], [len(each) for each in shares])


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
