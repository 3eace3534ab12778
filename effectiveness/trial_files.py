"""The folder of a trial: what was run, what came of it, and all evidence, with no secret in any file."""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from skill_health import __version__
from skill_health.core.errors import AbortedError
from skill_health.effectiveness.cell import TrialSpec
from skill_health.effectiveness.gateway._api import GatewayTrace
from skill_health.effectiveness.records import TrialResult
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.trial_agent import AgentRun, timeout_of
from skill_health.effectiveness.trial_redact import redact
from skill_health.effectiveness.trial_result import TrialRecord
from skill_health.effectiveness.trial_verify import Verified
from skill_health.effectiveness.workspace import Workplace

TRIAL, VERDICT, USAGE, FINAL = "trial.json", "verdict.json", "usage.json", "final.txt"
MAX_FINAL = 1 << 20


def description(cell: TrialSpec, at: Workplace) -> dict[str, Any]:
    """What was run, as trial.json says it: enough to run it again, and to verify it again."""
    task, choice = cell.task, cell.choice
    return {
        "version": 1,
        "kind": "trial",
        "tool_version": __version__,
        "python": platform.python_version(),
        "task": {
            "id": task.id,
            "digest": task.digest,
            "verifier_digest": task.verifier.digest if task.verifier else None,
        },
        "model": choice.spec,
        "agent": {"name": choice.name, "version": cell.version, "model": choice.model, "protocol": choice.protocol},
        "arm": cell.arm.name,
        "replication": cell.replication,
        "attempt": cell.attempt,
        "seed": cell.seed,
        "prompt": cell.prompt,
        "skills": [{"name": each.name, "digest": each.digest, "placebo": each.placebo} for each in cell.skills],
        "skills_folder": choice.agent.SKILLS,
        "limits": {**asdict(cell.limits), "timeout_sec": timeout_of(cell), "usd": cell.max_usd},
        "sandbox": {"name": cell.back_end, "version": at.sandbox.found(), "isolates": list(at.sandbox.ISOLATES)},
    }


def evidence(cell: TrialSpec, ran: AgentRun, seen: GatewayTrace | None, staged: Mapping[str, str]) -> dict[str, bytes]:
    """The files about the agent: its streams, its steps, what it was offered, and its tokens."""
    from skill_health.effectiveness.trajectory import to_atif

    shown = {
        "planned": {skill.name: skill.digest for skill in cell.skills},
        "staged": dict(staged),
        "listed": ran.reading.listed,
        "offered": seen.offered if seen else None,
        "expected": cell.expected,
    }
    passed = None if seen is None else {**asdict(seen), "first_request": len(seen.first_request)}
    said = {"agent": asdict(ran.reading.usage), "agent_cost_usd": ran.reading.cost_usd, "gateway": passed}
    return {
        "stream.out": ran.output.stdout,
        "stream.err": ran.output.stderr,
        "trajectory.json": to_json(to_atif(ran.reading, cell.choice.name, cell.choice.model)),
        "probe.json": to_json(shown),
        USAGE: to_json(said),
        FINAL: ran.reading.final_message.encode("utf-8", "replace")[:MAX_FINAL],
        **({"request.json": seen.first_request} if seen and seen.first_request else {}),
    }


def judgement(verified: Verified) -> dict[str, bytes]:
    """The files about the verification."""
    return {
        "verifier/stdout": verified.output.stdout,
        "verifier/stderr": verified.output.stderr,
        "verifier/reward.json": to_json(dict(verified.verdict.values)),
        **({"verifier/notes.txt": verified.remarks} if verified.remarks else {}),
    }


def verdict_record(result: TrialResult, story: TrialRecord, task: Task) -> dict[str, Any]:
    """What verdict.json says. `imposed` is the outcome that held before any verification, "" for none."""
    verdict = story.verified.verdict if story.verified else None
    return {
        "outcome": result.outcome,
        "imposed": story.end.imposed,
        "reward": result.reward,
        "rewards": dict(result.rewards),
        "verdict": verdict.outcome if verdict else None,
        "source": verdict.source if verdict else "",
        "problem": verdict.problem if verdict else "",
        "verifier_digest": task.verifier.digest if task.verifier else None,
        "error": result.error,
        "notes": list(result.notes),
    }


def to_json(record: Any) -> bytes:
    """A JSON file: keys sorted, one value a line, UTF-8."""
    text = json.dumps(record, sort_keys=True, indent=1, ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace") + b"\n"


def write_folder(place: str, files: Mapping[str, bytes], hidden: tuple[str, ...]) -> None:
    """Write a trial's folder, which comes into being when it is complete; what stood there before goes.

    Secrets are replaced in every file but the archive, which was packed without any. Raises AbortedError.
    """
    above, name = os.path.split(place)
    half = os.path.join(above, f".{name[:80]}-{secrets.token_hex(6)}")
    try:
        for path, data in files.items():
            target = os.path.join(half, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "xb") as stream:
                stream.write(data if path.endswith(".gz") else redact(data, hidden))
        if os.path.lexists(place):
            shutil.rmtree(place)
        os.rename(half, place)
    except OSError as error:
        with suppress(OSError):
            shutil.rmtree(half)
        raise AbortedError(f"cannot write {place}: {error.strerror or error}") from error
