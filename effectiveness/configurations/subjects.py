"""Runs and their judgings -> subjects: each agent with its model, its trials by task and arm, and their scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET

from skill_health.bench.run_folder import is_reported, run_ids, runs_folder
from skill_health.core.errors import UsageError
from skill_health.documents.effect_configurations import ScoreName
from skill_health.documents.effect_criteria import CriterionVerdict, deciding, met_share
from skill_health.documents.effect_manifest import FrozenAgent, FrozenTask
from skill_health.documents.effect_result import Key, TrialResult
from skill_health.documents.judge_report import RubricScore
from skill_health.effectiveness.compare.comparable import agreeing, changed_tasks, shared
from skill_health.effectiveness.effects.contrasts import primary
from skill_health.effectiveness.effects.sheet import (
    CellTrials,
    ModelTrials,
    TaskFacts,
    TrialRunFacts,
    make_cell,
    read_facts,
    read_sheet,
)
from skill_health.effectiveness.judge.prepare import JUDGING
from skill_health.effectiveness.judge.scores.report import Judging, load_judging
from skill_health.effectiveness.judge.scores.votes import score_trial
from skill_health.effectiveness.rubric.model import WHOLE
from skill_health.effectiveness.run.runs import EffectRun

SCORES: tuple[ScoreName, ...] = ("goal", "instruction", "weighted", "success")
Cell = tuple[str, str]
"""A task and an arm."""
TaskKey = tuple[str, str, str, str]
"""A task of any run: its id, and what makes it the same task."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run with the judging whose scores are used; `passed_over` counts its other judgings."""

    run: EffectRun
    judging: Judging | None = None
    passed_over: int = 0


def find_judging(run: EffectRun) -> JudgedRun:
    """A run with its latest judging that is over. Raises UsageError where a file of that is missing or damaged."""
    names = list(run_ids(run.folder, JUDGING))
    folders = [f"{runs_folder(run.folder, JUDGING)}/{name}" for name in names]
    over = next((folder for folder in folders if is_reported(folder)), None)
    return JudgedRun(run, load_judging(over) if over else None, len(names) - (over is not None))


@dataclass(frozen=True, slots=True)
class TrialScores:
    """How one trial did, each from 0 to 1; None where that is not known."""

    success: float | None = None
    weighted: float | None = None
    goal: float | None = None
    instruction: float | None = None

    def of(self, score: ScoreName) -> float | None:
        """One of them by its name."""
        found: float | None = getattr(self, score)
        return found


@dataclass(frozen=True, slots=True)
class TriedSubject:
    """One agent with one model in one run.

    `cells` and `scores` have its trials by task and arm: those in which the agent had its chance, whether or not a
    verifier could tell how it went. `with_arm` is the arm that is compared with the control, None where there are not
    both.
    """

    name: str
    source: JudgedRun
    agent: FrozenAgent
    facts: TrialRunFacts
    column: ModelTrials
    with_arm: str | None
    cells: Mapping[Cell, CellTrials] = field(repr=False)
    scores: Mapping[Cell, tuple[TrialScores, ...]] = field(repr=False)
    judged: Mapping[Key, RubricScore] = field(repr=False)
    tasks: Mapping[str, FrozenTask] = field(repr=False)

    @property
    def run(self) -> EffectRun:
        """Its run."""
        return self.source.run

    @property
    def resolved(self) -> tuple[str, ...]:
        """What providers called its model."""
        return tuple(sorted({each.resolved_model for each in self.column.results if each.resolved_model}))

    @property
    def targets(self) -> tuple[TaskFacts, ...]:
        """The tasks that a skill should help with."""
        return self.facts.targets

    def key(self, task: str) -> TaskKey:
        """A task as other runs may have it, too."""
        frozen = self.tasks[task]
        return (task, frozen.digest, frozen.verifier_digest, frozen.target_name or "")

    def values(self, task: str, arm: str | None, score: ScoreName) -> tuple[float, ...]:
        """The known scores of a task's trials in an arm; none in no arm."""
        found = self.scores.get((task, arm), ()) if arm else ()
        return tuple(value for each in found if (value := each.of(score)) is not None)

    def mean(self, task: str, arm: str | None, score: ScoreName) -> float | None:
        """Their mean; None where there is none. Equal shares of trials give equal numbers."""
        found = self.values(task, arm, score)
        return round(math.fsum(found) / len(found), 12) if found else None

    def measured(self, task: str, arm: str | None, measure: str) -> float | None:
        """The mean of a measure over a task's trials in an arm of which it is known."""
        cell = self.cells.get((task, arm)) if arm else None
        return cell.mean(measure) if cell else None

    def tokens(self, task: str, arm: str | None) -> tuple[float, ...]:
        """Tokens read and written of each of a task's trials in an arm of which both are known."""
        cell = self.cells.get((task, arm)) if arm else None
        return cell.tokens if cell else ()

    def costs(self, task: str, arm: str | None) -> tuple[float, ...]:
        """Dollars of each of a task's trials in an arm of which they are known."""
        cell = self.cells.get((task, arm)) if arm else None
        return cell.costs if cell else ()

    def staged(self, task: str, arm: str) -> tuple[str, ...]:
        """The names of the skills staged."""
        return tuple(self.run.manifest.staged.get(task, {}).get(arm, ()))


def read_subjects(runs: Sequence[JudgedRun]) -> tuple[TriedSubject, ...]:
    """Every agent with its model of every run, in the order of runs and of their manifests.

    Raises UsageError where runs cannot be put side by side.
    """
    if wrong := list(obstacles([each.run for each in runs])):
        raise UsageError("; ".join(wrong))
    named = Counter(model.spec for each in runs for model in each.run.manifest.models)
    return tuple(subject for each in runs for subject in _of_run(each, named))


def obstacles(runs: Sequence[EffectRun]) -> Iterator[str]:
    """Why runs cannot be put side by side, and what to do about it; nothing where they can."""
    for name, times in Counter(run.run_id for run in runs).items():
        if times > 1:
            yield f"run {name} is given {times} times: give each run once"
    for run in runs:
        if not run.results:
            yield f"run {run.run_id} has no results: finish it first, or leave it out"
    for at, one in enumerate(runs):
        for other in runs[at + 1 :]:
            if one.run_id != other.run_id and (both := shared(one, other)):
                yield f"runs {one.run_id} and {other.run_id} share {both} trials (--extend): leave one of them out"
            elif one.run_id != other.run_id and not agreeing(one.manifest, other.manifest):
                changed = changed_tasks(one.manifest, other.manifest)
                what = f"all {len(changed)} common tasks have changed" if changed else "they have no task in common"
                yield (
                    f"runs {one.run_id} and {other.run_id} cannot be compared: {what}; run one of them again with the "
                    "tasks of the other, or leave it out"
                )


def _of_run(source: JudgedRun, named: Mapping[str, int]) -> Iterator[TriedSubject]:
    run, facts = source.run, read_facts(source.run.manifest)
    judged = _judged(source.judging)
    pair = primary(facts.arms)
    for model, column in zip(run.manifest.models, read_sheet(facts, run.results).columns, strict=True):
        trials: dict[Cell, list[TrialResult]] = {}
        for result in column.results:
            if result.finished:
                trials.setdefault((result.task_id, result.arm), []).append(result)
        yield TriedSubject(
            name=model.spec if named[model.spec] == 1 else f"{model.spec}@{run.run_id}",
            source=source,
            agent=model,
            facts=facts,
            column=column,
            with_arm=pair.arm if pair else None,
            cells={key: make_cell(each) for key, each in trials.items()},
            scores={key: tuple(score_result(one, judged.get(one.key)) for one in each) for key, each in trials.items()},
            judged={key: score for key, score in judged.items() if key[1] == model.spec},
            tasks={task.id: task for task in run.manifest.tasks},
        )


def _judged(judging: Judging | None) -> dict[Key, RubricScore]:
    if judging is None:
        return {}
    sheet = judging.sheet()
    return {trial.key: score_trial(sheet, trial) for trial in judging.manifest.trials}


def criteria_of(result: TrialResult) -> tuple[CriterionVerdict, ...]:
    """The verdicts of a trial's criteria by checks; none where its task has no rubric."""
    return () if result.criteria is UNSET else result.criteria


def score_result(result: TrialResult, judged: RubricScore | None) -> TrialScores:
    """The scores of a trial: by its judging, else by the checks of its criteria.

    A group with criteria that wait for a judge has no score yet, and neither has the whole.
    """
    success = result.success
    if judged is not None:
        return TrialScores(success, *map(_share, (judged.weighted, judged.goal, judged.instruction)))
    criteria = criteria_of(result)
    waiting = {each.group for each in criteria if each.answer == "not_judged"}
    counted = deciding(criteria)
    by_group = {
        group: None if group in waiting else met_share(each for each in counted if each.group == group)
        for group in {each.group for each in criteria}
    }
    weighted = None
    if len(by_group) == 1:
        weighted = next(iter(by_group.values()))
    elif by_group and not waiting and "criteria_met" in result.rewards:
        # The reward of a task that its criteria decide is their weighted share; the weights are in no result.
        weighted = result.reward
    return TrialScores(success, weighted, by_group.get("goal"), by_group.get("instruction"))


def _share(points: float | None) -> float | None:
    return None if points is None else min(max(points / WHOLE, 0.0), 1.0)
