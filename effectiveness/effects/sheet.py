"""Results by model, task and arm: the cells that everything else is computed from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from msgspec import UNSET

from skill_health.documents._targets import NO_SKILL
from skill_health.documents.effect_manifest import EffectManifest, FrozenAgent
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.records import CONTROL, JOIN, SUBSET, Arm
from skill_health.effectiveness.workspace.staging import parse_arm


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """A task as a report needs it.

    `skill` is the name of the skill that should help, or of the bundle whose `skills` should; `arms` are the names of
    those that it has, in the run's order.
    """

    id: str
    slug: str
    skill: str | None
    category: str
    difficulty: str
    arms: tuple[str, ...]
    skills: tuple[str, ...] = ()

    @property
    def is_control(self) -> bool:
        """Whether no skill should help."""
        return self.skill == NO_SKILL


@dataclass(frozen=True, slots=True)
class TrialRunFacts:
    """A manifest as values; `arms` are those of the run by name, in its order, `extends` the runs that it extends."""

    tasks: Mapping[str, TaskFacts]
    arms: Mapping[str, Arm]
    models: tuple[FrozenAgent, ...]
    replications: int
    margin: float
    seed: int
    extends: tuple[str, ...] = ()

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


def read_facts(manifest: EffectManifest) -> TrialRunFacts:
    """The facts of a manifest. Raises UsageError for an arm that there is not."""
    arms = {name: parse_arm(name) for name in manifest.arms}
    tasks = {
        task.id: TaskFacts(
            id=task.id,
            slug=task.slug,
            skill=task.target_name,
            skills=task.target_skills or (),
            category=task.category,
            difficulty=task.difficulty,
            arms=tuple(arm for arm in arms if arm in manifest.staged.get(task.id, {})),
        )
        for task in sorted(manifest.tasks, key=lambda task: task.id)
    }
    return TrialRunFacts(
        tasks, arms, manifest.models, manifest.replications, manifest.margin, manifest.seed, manifest.extends
    )


def extended(times: int) -> str:
    """Why a run that was extended is preliminary, "" for one that was not."""
    if not times:
        return ""
    often = {1: "once", 2: "twice"}.get(times, f"{times} times")
    return f"extended {often}, and it could be looked at before: its p-values are those of a fixed design"


@dataclass(frozen=True, slots=True)
class PairArms:
    """The arms of two skills by name. `together` are both skills, in each order that the run has."""

    first: str
    second: str
    variant: str
    singles: tuple[str, str]
    together: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, the control first."""
        return (CONTROL, *self.singles, *self.together)


def pair_arms(arms: Mapping[str, Arm]) -> tuple[PairArms, ...]:
    """Every two skills that a run tries alone and together, by their names."""
    found: dict[tuple[str, str, str], PairArms] = {}
    if CONTROL not in arms:
        return ()
    for arm in arms.values():
        if len(arm.subset) != 2:
            continue
        first, second = sorted(arm.subset)
        variant = arm.name.removeprefix(f"{SUBSET}:{arm.argument}")
        singles = replace(arm, argument=first).name, replace(arm, argument=second).name
        orders = (replace(arm, argument=JOIN.join(names)).name for names in ((first, second), (second, first)))
        if set(singles) <= set(arms):
            together = tuple(name for name in orders if name in arms)
            found[first, second, variant] = PairArms(first, second, variant, singles, together)
    return tuple(found[key] for key in sorted(found))


_MOST = 1e15
"""Larger numbers are no measurements."""

MEASURES: Mapping[str, Callable[[TrialResult], float | None]] = {
    "input_tokens": lambda result: result.usage.input_tokens,
    "output_tokens": lambda result: result.usage.output_tokens,
    "cached_tokens": lambda result: result.usage.cached_tokens,
    "cost_usd": lambda result: result.cost_usd,
    "duration_ms": lambda result: result.duration_ms,
    "turns": lambda result: result.turns,
    "tool_calls": lambda result: result.tool_calls,
}
"""What is measured of a trial beside its success; None where nobody knows."""


@dataclass(frozen=True, slots=True)
class CellTrials:
    """The scored trials of one task in one arm by one model, in the order of their replications. There is at least one.

    `measures` are the known values of each of MEASURES, `rewards` those of the trials that have one, and `tests` the
    passed shares of those whose verifier reports its tests.
    """

    trials: tuple[TrialResult, ...]
    passes: int
    rewards: tuple[float, ...]
    measures: Mapping[str, tuple[float, ...]]
    tests: tuple[float, ...] = ()

    @property
    def success(self) -> float:
        """The share that passed: the mean over replications."""
        return self.passes / len(self.trials)

    @property
    def exact(self) -> Fraction:
        """The same, exactly."""
        return Fraction(self.passes, len(self.trials))

    @property
    def costs(self) -> tuple[float, ...]:
        """The dollars of each trial of which they are known."""
        return self.measures["cost_usd"]

    @property
    def tokens(self) -> tuple[float, ...]:
        """Tokens read and written, of each trial of which both are known."""
        read, written = self.measures["input_tokens"], self.measures["output_tokens"]
        if len(read) == len(written) == len(self.trials):
            return tuple(map(sum, zip(read, written, strict=True)))
        usages = [(_known(trial.usage.input_tokens), _known(trial.usage.output_tokens)) for trial in self.trials]
        return tuple(one + other for one, other in usages if one is not None and other is not None)

    def mean(self, measure: str) -> float | None:
        """The mean of a measure over the replications that it is known of; None where it is of none."""
        values = self.measures[measure]
        return math.fsum(values) / len(values) if values else None


Cells = Mapping[tuple[str, str], CellTrials]
"""The cells of one model, by task and arm; one without a scored trial is not there."""


@dataclass(frozen=True, slots=True)
class ModelTrials:
    """All of one model: its results in the order of their keys, and its cells."""

    spec: str
    results: tuple[TrialResult, ...]
    cells: Cells = field(repr=False)

    @property
    def outcomes(self) -> dict[str, int]:
        """How many trials ended in which outcome."""
        return dict(sorted(Counter(result.outcome for result in self.results).items()))

    @property
    def scored(self) -> int:
        """How many trials count."""
        return sum(result.scored for result in self.results)

    @property
    def cost_usd(self) -> float | None:
        """The dollars of all trials of which they are known; None where they are of none."""
        known = [cost for result in self.results if (cost := _known(result.cost_usd)) is not None]
        return math.fsum(known) if known else None


@dataclass(frozen=True, slots=True)
class RunTrials:
    """A whole run. `foreign` counts results that were not planned, and second ones for the same key."""

    facts: TrialRunFacts
    columns: tuple[ModelTrials, ...]
    foreign: int


def read_sheet(facts: TrialRunFacts, results: Sequence[TrialResult]) -> RunTrials:
    """Put every result into its cell; the order of `results` does not matter."""
    kept: dict[str, dict[tuple[str, str, int], TrialResult]] = {model.spec: {} for model in facts.models}
    for result in results:
        of_model = kept.get(result.model)
        if of_model is None or not _planned(facts, result):
            continue
        key = (result.task_id, result.arm, result.replication)
        # Of two results for one key the same one is taken, whichever comes first.
        of_model[key] = min(of_model[key], result, key=repr) if key in of_model else result
    columns = tuple(_column(spec, found) for spec, found in kept.items())
    return RunTrials(facts, columns, len(results) - sum(len(column.results) for column in columns))


def _planned(facts: TrialRunFacts, result: TrialResult) -> bool:
    task = facts.tasks.get(result.task_id)
    return task is not None and result.arm in task.arms and 0 <= result.replication < facts.replications


def _column(spec: str, found: Mapping[tuple[str, str, int], TrialResult]) -> ModelTrials:
    results = tuple(found[key] for key in sorted(found))
    trials: dict[tuple[str, str], list[TrialResult]] = {}
    for result in results:
        if result.scored:
            trials.setdefault((result.task_id, result.arm), []).append(result)
    return ModelTrials(spec, results, {key: make_cell(each) for key, each in trials.items()})


def make_cell(trials: Sequence[TrialResult]) -> CellTrials:
    """The cell of trials that count, of which there is at least one."""
    return CellTrials(
        trials=tuple(trials),
        passes=sum(result.outcome == "pass" for result in trials),
        rewards=_all_known(result.reward for result in trials),
        measures={name: _all_known(map(measure, trials)) for name, measure in MEASURES.items()},
        tests=_all_known(None if result.tests is UNSET else result.tests.share for result in trials),
    )


def _all_known(values: Iterable[float | None]) -> tuple[float, ...]:
    return tuple(known for value in values if (known := _known(value)) is not None)


def _known(value: float | None) -> float | None:
    """The value where it is a measurement: finite, and no token count of a hostile stream."""
    return float(value) if value is not None and math.isfinite(value) and abs(value) <= _MOST else None
