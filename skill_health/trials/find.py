"""Which trial somebody means, among those of a run, and how each of them went, in a word."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Literal

from skill_health.core.errors import UsageError
from skill_health.text.terminal import clean
from skill_health.trials.results import FAILED, Trial, Trials, order

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
