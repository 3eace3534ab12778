"""Tasks against arms: how many trials of each pair passed, and which of them to look at first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from skill_health.documents.effect_report import ModelEffectReport, TaskArmCounts, TaskReport
from skill_health.page.figures import MISSING
from skill_health.page.model import Origins, Page, PageCell
from skill_health.trials.find import STATES, TrialState, state_of
from skill_health.trials.results import Trial, order

MOST_CELLS = 4_000
"""So many cells stand on a page; of further tasks only the number is said."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """The trials of a task in an arm: "1/3" passed, and what else there is ("1 error, 1 not run").

    `states` are all that its trials are in, "missing" for those that were planned and not run. `trial` is the one to
    look at first, one that went as `sign` says where there is any; "" where none was run.
    """

    passed: PageCell
    more: str
    states: tuple[TrialState, ...]
    trial: str

    @property
    def sign(self) -> TrialState:
        """The state of the worst trial; that it passed is said of those that all did."""
        return _sign(self.states)


def _sign(states: Collection[TrialState]) -> TrialState:
    return next((state for state in _WORST if state in states), "missing")


_WORST: tuple[TrialState, ...] = ("failed", "partial", "error", "missing", "passed")


@dataclass(frozen=True, slots=True)
class GridRow:
    """A task with its cells, in the order of the arms; None for an arm that the task does not have."""

    id: str
    slug: str
    cells: tuple[GridCell | None, ...]

    @property
    def states(self) -> tuple[TrialState, ...]:
        """All states in which a trial of it is."""
        there = {state for cell in self.cells if cell for state in cell.states}
        return tuple(state for state in STATES if state in there)


@dataclass(frozen=True, slots=True)
class TrialGrid:
    """The trials of a run by one agent and model. `left` tasks are not shown; `counts` are of all trials."""

    run: str
    model: str
    simulated: bool
    arms: tuple[str, ...]
    rows: tuple[GridRow, ...]
    left: int
    counts: Mapping[TrialState, int]


def build_grids(page: Page) -> Iterator[TrialGrid]:
    """A grid for each run and model, the latest run first.

    Where the trials themselves are not there, what the report counts of them is all that is known.
    """
    room = MOST_CELLS
    for report in page.effects:
        trials = page.runs.trials(report.run_id)
        for model in report.models:
            of_task = {task: some for (name, task), some in trials.items() if name == model.model}
            if not model.tasks:
                continue
            arms = _arms(model)
            shown = model.tasks[: room // max(1, len(arms))]
            room -= len(shown) * len(arms)
            rows = tuple(
                _row(page.origins, task, arms, of_task.get(task.task_id, ()), report.replications) for task in shown
            )
            counts = Counter(state_of(trial) for some in of_task.values() for trial in some)
            if not of_task:
                for task in model.tasks:
                    for arm in task.arms.values():
                        counts += _reported(arm)
            counts["missing"] = max(0, model.planned - sum(counts.values()))
            yield TrialGrid(
                report.run_id, model.model, model.simulated, arms, rows, len(model.tasks) - len(shown),
                {state: counts[state] for state in STATES if counts[state]},
            )  # fmt: skip


def _arms(model: ModelEffectReport) -> tuple[str, ...]:
    """The arms of all tasks, negative controls included, in the order of the report."""
    return tuple(dict.fromkeys([*(arm.arm for arm in model.arms), *(arm for task in model.tasks for arm in task.arms)]))


def _row(origins: Origins, task: TaskReport, arms: Sequence[str], trials: Sequence[Trial], planned: int) -> GridRow:
    by_arm: dict[str, list[Trial]] = {}
    for trial in trials:
        by_arm.setdefault(trial.line.arm, []).append(trial)
    cells = tuple(
        _cell(origins, task.arms[arm], by_arm.get(arm, []), planned) if arm in task.arms else None for arm in arms
    )
    return GridRow(task.task_id, task.slug, cells)


def _reported(counts: TaskArmCounts) -> Counter[TrialState]:
    """The states of trials that are known from a report alone."""
    return Counter({"passed": counts.passes, "failed": counts.n - counts.passes})


def _cell(origins: Origins, counts: TaskArmCounts, trials: Sequence[Trial], planned: int) -> GridCell:
    found = Counter(state_of(trial) for trial in trials) if trials else _reported(counts)
    found["missing"] = max(0, planned - sum(found.values()))
    states = tuple(state for state in STATES if found[state])
    sign = _sign(states)
    first = min(trials, key=lambda trial: (state_of(trial) != sign, order(trial)), default=None)
    passed = PageCell(
        f"{counts.passes:,}/{counts.n:,}" if counts.n else MISSING, counts.passes if counts.n else None,
        origins.of(counts, "passes"),
    )  # fmt: skip
    told = (("partial", "partial"), ("error", "error" if found["error"] == 1 else "errors"), ("missing", "not run"))
    more = ", ".join(f"{found[state]:,} {word}" for state, word in told if found[state])  # type: ignore[index]
    return GridCell(passed, more, states, first.name if first else "")
