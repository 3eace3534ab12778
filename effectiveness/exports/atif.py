"""ATIF, the Agent Trajectory Interchange Format: one file a trial, with how it ended in `extra`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from skill_health.core.validation import problems
from skill_health.documents._record import record_values
from skill_health.effectiveness.exports._api import ExportedFile, ExportGap, Read, plain_json
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.trials.reading import KeptTrial
from skill_health.trials.results import Trial

TITLE = "Agent Trajectory Interchange Format (ATIF)"
_OURS = (
    "task_id", "model", "arm", "replication", "outcome", "reward", "rewards", "usage", "cost_usd", "duration_ms", "turns",
    "tool_calls", "invoked", "invocations", "evidence",
)  # fmt: skip


def export(run: EffectRun, trials: Sequence[Trial], read: Read) -> Iterator[ExportedFile | ExportGap]:
    """A trajectory for each trial that has one; what a stranger may have put there has to fit the schema."""
    for trial in trials:
        kept = read(trial)
        if kept.trajectory is None:
            yield ExportGap(trial.name, f"left out, as {kept.problems[0]}")
            continue
        told = plain_json(kept.trajectory)
        wrong = next(iter(problems("trajectory", told)), None)
        if wrong is not None:
            yield ExportGap(trial.name, f"left out, as the trajectory breaks its schema: {wrong.message}")
            continue
        extra = {**(told.get("extra") or {}), "skill_health": _result(run, kept)}
        text = json.dumps({**told, "extra": extra}, indent=1, ensure_ascii=True, allow_nan=False)
        yield ExportedFile(f"{trial.name}.json", text.encode() + b"\n")


def _result(run: EffectRun, kept: KeptTrial) -> dict[str, Any]:
    """How the trial ended, as the run has it."""
    values = plain_json(record_values(kept.trial.line))
    checks = [{"kind": each.kind, "name": each.name, "said": each.said} for each in kept.checks]
    return {"run_id": run.run_id, **{name: values[name] for name in _OURS}, "checks": plain_json(checks)}
