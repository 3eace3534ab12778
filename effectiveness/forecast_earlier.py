"""What earlier runs tell about the next one: dollars and seconds of a trial, and its success without a skill."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from skill_health.bench.journal import RESULTS, readable_lines
from skill_health.bench.run_folder import earlier_runs
from skill_health.core.history import read_backwards
from skill_health.effectiveness.records import TrialResult
from skill_health.effectiveness.results import from_line
from skill_health.effectiveness.runs import KIND

FOLDERS, TRIALS, FEWEST = 30, 1_000, 5
"""So many runs are looked at, so many trials of a model are enough, fewer than FEWEST are too few."""
_ABSURD = 10**8
_LINES = 20_000


@dataclass(frozen=True, slots=True)
class EarlierTrials:
    """What earlier trials of one model come to, on average; None where too few of them said so."""

    trials: int = 0
    usd: float | None = None
    seconds: float | None = None


@dataclass(slots=True)
class _Seen:
    trials: int
    usd: list[float]
    seconds: list[float]


def read_earlier(reports: str, specs: Collection[str]) -> dict[str, EarlierTrials]:
    """What the latest runs below a folder of reports tell of each of these models.

    What cannot be read there is passed over: a damaged old run must not keep a new one from starting.
    """
    seen = {spec: _Seen(0, [], []) for spec in specs}
    for number, (folder, manifest) in enumerate(earlier_runs(reports, KIND)):
        if number == FOLDERS or all(each.trials >= TRIALS for each in seen.values()):
            break
        if {model["spec"] for model in manifest["models"]}.intersection(seen):
            for result in readable_lines(os.path.join(folder, RESULTS), from_line):
                mine = seen.get(result.model)
                if mine is not None and mine.trials < TRIALS and result.scored:
                    _note(mine, result)
    return {spec: EarlierTrials(each.trials, _mean(each.usd), _mean(each.seconds)) for spec, each in seen.items()}


def read_controls(path: str, specs: Collection[str]) -> dict[tuple[str, str | None], float]:
    """How often a model passed without a skill when it was last tried, by model and skill (None: all tasks).

    `path` is a history; lines that are damaged or of another kind are passed over. Raises UsageError where it cannot
    be read.
    """
    found: dict[tuple[str, str | None], float] = {}
    for number, (_, raw) in enumerate(read_backwards(path)):
        if number == _LINES:
            break
        try:
            record = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and record.get("kind") == "effectiveness" and record.get("model") in specs:
            skill, rate = record.get("skill"), _share(record.get("control"))
            if rate is not None and (skill is None or isinstance(skill, str)):
                found.setdefault((record["model"], skill), rate)
    return found


def _note(seen: _Seen, result: TrialResult) -> None:
    seen.trials += 1
    if result.cost_usd is not None and result.cost_usd < _ABSURD:
        seen.usd.append(result.cost_usd)
    if result.duration_ms is not None and result.duration_ms < _ABSURD:
        seen.seconds.append(result.duration_ms / 1000)


def _mean(values: list[float]) -> float | None:
    return round(fmean(values), 6) if len(values) >= FEWEST else None


def _share(estimate: Any) -> float | None:
    value = estimate.get("value") if isinstance(estimate, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)
