"""Which trials the runs of a folder have, which of them somebody means, and how each went, in a word."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from skill_health.core.errors import UsageError
from skill_health.text.terminal import clean
from skill_health.trials.kept_files import ReportFolders
from skill_health.trials.results import FAILED, Trial, Trials, order, read_trials

TrialState = Literal["passed", "partial", "failed", "error", "missing"]
STATES: tuple[TrialState, ...] = ("passed", "partial", "failed", "error", "missing")
SIGNS = {"passed": "✓", "partial": "◐", "failed": "✕", "error": "!", "missing": "·"}
"""What stands for a state beside its colour."""
_FULL = 1.0
_SHOWN = 4


def state_of(trial: Trial) -> TrialState:
    """How a trial went. Partial did not pass, with a reward above 0 all the same; an error is missing data."""
    line = trial.line
    if line.outcome == "pass":
        return "passed"
    if line.outcome not in FAILED:
        return "error"
    return "partial" if line.reward is not None and 0 < line.reward < _FULL else "failed"


def say_state(trial: Trial) -> str:
    """The state of a trial in words, with its outcome where that says more."""
    state, outcome = state_of(trial), trial.line.outcome
    return state if outcome in ("pass", "fail") else f"{state} ({outcome})"


def every_trial(trials: Trials) -> list[Trial]:
    """All trials of a run, by task, model, arm and replication."""
    found = (trial for some in trials.values() for trial in some)
    return sorted(found, key=lambda each: (each.line.task_id, each.line.model, *order(each)))


class KeptRuns:
    """The trials of the runs in a folder of reports; each run is read once, when it is asked for."""

    def __init__(self, shelf: ReportFolders) -> None:
        """`shelf` is the folder of the reports; where it is not known, no run has trials."""
        self.shelf = shelf
        self._read: dict[str, Trials] = {}
        self._named: dict[str, Mapping[str, Trial]] = {}

    def trials(self, run: str) -> Trials:
        """The trials of a run by model and task."""
        if run not in self._read:
            self._read[run] = read_trials(self.shelf, run) if self.shelf.folder else {}
        return self._read[run]

    def named(self, run: str) -> Mapping[str, Trial]:
        """The trials of a run by name, in the order of `every_trial`."""
        if run not in self._named:
            self._named[run] = {each.name: each for each in every_trial(self.trials(run))}
        return self._named[run]


def find_trial(trials: Iterable[Trial], asked: str) -> Trial:
    """The trial that is meant: by its name, by the name or the path of its folder, or as TASK/ARM/REPLICATION.

    Raises UsageError where there is none, or where several models have one.
    """
    every = list(trials)
    last = os.path.basename(asked.rstrip("/"))
    found = [each for each in every if asked == each.name or (last and each.way and each.way[-1] == last)]
    found = found or [each for each in every if asked == _place(each)]
    if len(found) == 1:
        return found[0]
    if found:
        names = _listed([f"{each.name} ({each.line.model})" for each in found])
        raise UsageError(f"{len(found)} trials are {clean(asked[:200])}: name one of {names}")
    some = _listed([_place(each) for each in every])
    raise UsageError(
        f"there is no trial {clean(asked[:200])} in this run: name one as {some}" if some else "this run has no trials"
    )


def _place(trial: Trial) -> str:
    return f"{trial.line.task_id}/{trial.line.arm}/{trial.line.replication}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(clean(name[:200]) for name in names[:_SHOWN]) + more
