"""The check of tasks as lines and as JSON, both the same on every machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from skill_health.effectiveness.check import TaskCheck
from skill_health.effectiveness.check_runs import VerifiedState
from skill_health.registries.records import BadRecord, problem_line
from skill_health.text.terminal import clean

SCHEMA = "skill-health/effectiveness-check/1"


def as_text(checked: Sequence[TaskCheck], bad: Sequence[BadRecord], notes: bool, prefix: str = "") -> str:
    """One line for each problem, with notes where they are wanted, and a last line with the count.

    `prefix` stands in front of every path: what leads from here to the folder that paths are relative to.
    """
    return "".join(f"{line}\n" for line in _lines(checked, bad, notes, prefix))


def _lines(checked: Sequence[TaskCheck], bad: Sequence[BadRecord], notes: bool, prefix: str) -> Iterator[str]:
    yield from (problem_line(one._replace(path=f"{prefix}{one.path}")) for one in bad)
    for one in checked:
        path = f"{prefix}{one.task.path}"
        yield from (_line(path, f"{fault.kind}: {fault.message}") for fault in one.faults)
        if notes:
            yield from (_line(path, f"note: {note}") for note in one.notes)
    total, good = len(checked) + len(bad), sum(one.ok for one in checked)
    ran = sum(one.nothing_done is not None for one in checked)
    told = (
        ""
        if notes or not (count := sum(len(one.notes) for one in checked))
        else f"; {count} note{'s' * (count != 1)} (--notes)"
    )
    yield f"{total} task{'s' * (total != 1)}, {good} fit to use, {ran} tried{told}"


def _line(path: str, text: str) -> str:
    return clean(" ".join(f"{path}: {text}".split()))


def as_json(checked: Sequence[TaskCheck], bad: Sequence[BadRecord]) -> str:
    """The same in full, by the schema `effectiveness-check`."""
    record = {
        "schema": SCHEMA,
        "tasks": [_record(one) for one in checked],
        "bad": [{"path": one.path, "line": one.line, "message": one.message, "help": one.help} for one in bad],
        "ok": not bad and all(one.ok for one in checked),
    }
    return json.dumps(record, indent=2, sort_keys=True, ensure_ascii=True) + "\n"


def _record(one: TaskCheck) -> dict[str, Any]:
    task = one.task
    return {
        "id": task.id,
        "path": task.path,
        "format": task.format,
        "target_skill": task.target_skill,
        "digest": task.digest,
        "verifier_digest": task.verifier.digest if task.verifier else None,
        "runnable": task.runnable,
        "ok": one.ok,
        "problems": [{"kind": fault.kind, "message": fault.message} for fault in one.faults],
        "notes": list(one.notes),
        "nothing_done": _state(one.nothing_done),
        "solved": _state(one.solved),
    }


def _state(state: VerifiedState | None) -> list[dict[str, Any]] | None:
    if state is None:
        return None
    return [{"outcome": one.verified.verdict.outcome, "reward": one.verified.verdict.reward} for one in state.tried]
