"""The folder of a trial: what was run, what came of it, and all evidence, with no secret in any file."""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from msgspec import UNSET, UnsetType, structs

from skill_health import __version__
from skill_health.bench.http.messages import Usage
from skill_health.core.errors import AbortedError
from skill_health.core.files import is_there
from skill_health.documents._record import TokenUsage
from skill_health.documents.effect_criteria import CriterionVerdict
from skill_health.documents.effect_result import Invoked, TrialResult, TrialTests
from skill_health.effectiveness.agents._api import ProgramOutput, StreamReading, ToolUse, TrajectoryStep
from skill_health.effectiveness.delivery.served import TOOLS, tool_of
from skill_health.effectiveness.gateway._api import GatewayTrace
from skill_health.effectiveness.records import PROMPT
from skill_health.effectiveness.sandbox._resources import how_enforced, task_limits
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.trial.agent_run import AgentRun, timeout_of
from skill_health.effectiveness.trial.outcome import AgentExit, numbers, outcome_of
from skill_health.effectiveness.trial.redact import redact
from skill_health.effectiveness.trial.rewards import CTRF, CtrfReport
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.trial.verify import Verified
from skill_health.effectiveness.workspace.workspace import Workplace

MAX_NOTE = 500


@dataclass(frozen=True, slots=True)
class Left:
    """What an agent left: the files about its workspace, how many paths it changed, and what is worth a note."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    changed: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """All that happened in a trial. `ran` is None where no agent could be started, `seen` where it asks no model."""

    end: AgentExit
    ran: AgentRun | None = None
    seen: GatewayTrace | None = None
    left: Left = Left()
    verified: Verified | None = None
    criteria: tuple[CriterionVerdict, ...] = ()


def result_of(cell: TrialSpec, story: TrialRecord, hidden: tuple[str, ...]) -> TrialResult:
    """The result; none of the `hidden` words is in it."""
    end, verdict = story.end, story.verified.verdict if story.verified else None
    output = story.ran.output if story.ran else ProgramOutput(None)
    outcome = outcome_of(end.imposed, verdict)
    problem = verdict.problem if verdict else ""
    missing = outcome in ("infrastructure", "unjudged")
    counted = numbers(cell, story.ran.reading, story.seen) if story.ran else None
    notes = [*end.notes, *story.left.notes, *(counted.notes if counted else ())]
    notes += _around_server(story.ran) if story.ran else ()
    notes += [problem] if problem and not missing else []
    ctrf = story.verified.ctrf if story.verified else CtrfReport()
    notes += [ctrf.problem] if ctrf.problem else []
    result = TrialResult(
        *cell.key,
        outcome=outcome,
        reward=verdict.reward if verdict else None,
        rewards=dict(verdict.values) if verdict else {},
        exit_code=output.exit_code,
        duration_ms=output.duration_ms,
        skills=tuple((skill.name, skill.digest) for skill in cell.skills),
        changed=story.left.changed,
        attempts=cell.attempt,
        notes=tuple(_plain(note, hidden) for note in notes),
        error=_plain(end.error or (problem if missing else ""), hidden),
        disagreement=_plain(end.disagreement, hidden) if end.disagreement else UNSET,
        criteria=tuple(structs.replace(each, why=_plain(each.why, hidden)) for each in story.criteria) or UNSET,
        tests=tally_of(ctrf),
    )
    if story.ran is None or counted is None:
        return result
    reading, seen = story.ran.reading, story.seen
    return structs.replace(
        result,
        stop_reason=reading.stop_reason,
        resolved_model=seen.models[-1] if seen and seen.models else reading.model,
        usage=TokenUsage(**asdict(counted.usage) | {"raw": None}),
        usage_source=counted.usage_source,
        cost_usd=counted.cost_usd,
        cost_source=counted.cost_source,
        turns=reading.turns,
        tool_calls=reading.tool_calls if reading.steps else None,
        invoked=_invoked(cell, story.ran),
        invocations=_staged_of(cell, reading.invocations),
        evidence=reading.evidence,
        seen=reading.listed,
        skill_calls=_skill_calls(story.ran) if cell.arm.served else UNSET,
    )


def _skill_calls(ran: AgentRun) -> dict[str, int] | None:
    """How often each tool of the server was called. A stream of which something was left out does not tell."""
    if ran.output.cut_stdout or not ran.reading.observable:
        return None
    called = Counter(tool_of(tool.name) for step in ran.reading.steps for tool in step.tools)
    return {name: called[name] for name in TOOLS}


def _around_server(ran: AgentRun) -> Iterator[str]:
    """A note where the agent went past the server to the file that it serves."""
    store = ran.job.served.store if ran.job.served else ""
    tools = (tool for step in ran.reading.steps for tool in step.tools)
    if store and any(os.path.dirname(store) in json.dumps(dict(tool.arguments), default=str) for tool in tools):
        yield "the agent looked into the folder that the server of skills reads"


def tally_of(report: CtrfReport) -> TrialTests | UnsetType:
    """The tests of a verification as a result has them."""
    found = report.summary
    return TrialTests(passed=found.passed, counted=found.counted, skipped=found.skipped) if found else UNSET


def _invoked(cell: TrialSpec, ran: AgentRun) -> Invoked:
    """Whether a staged skill was opened. A stream of which something was left out cannot say that none was.

    Nobody can see whether one that stands in the prompt was read.
    """
    if not cell.skills:
        return "no"
    if cell.arm.delivery == PROMPT:
        return "not_observable"
    if _staged_of(cell, ran.reading.invocations):
        return "yes"
    return "not_observable" if ran.output.cut_stdout or not ran.reading.observable else "no"


def _staged_of(cell: TrialSpec, names: Iterable[str]) -> tuple[str, ...]:
    staged = {skill.name for skill in cell.skills}
    return tuple(name for name in dict.fromkeys(names) if name in staged)


def _plain(text: str, hidden: tuple[str, ...]) -> str:
    """One line without secrets."""
    clean = redact(text.encode("utf-8", "replace"), hidden).decode("utf-8", "replace")
    return " ".join(clean.split())[:MAX_NOTE]


TRIAL, VERDICT, USAGE, FINAL = "trial.json", "verdict.json", "usage.json", "final.txt"
TRAJECTORY, CRITERIA = "trajectory.json", "criteria.json"
MAX_FINAL = 1 << 20


def description(cell: TrialSpec, at: Workplace) -> dict[str, Any]:
    """What was run, as trial.json says it: enough to run it again, and to verify it again."""
    task, choice = cell.task, cell.choice
    held = task_limits(cell.limits, task.resources)
    return {
        "version": 1,
        "kind": "trial",
        "tool_version": __version__,
        "python": platform.python_version(),
        "task": {
            "id": task.id,
            "digest": task.digest,
            "verifier_digest": task.verifier_digest,
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
        "limits": {**asdict(held), "timeout_sec": timeout_of(cell), "usd": cell.max_usd},
        "sandbox": {
            "name": cell.back_end,
            "version": at.sandbox.found(),
            "isolates": list(at.sandbox.ISOLATES),
            "enforced": {
                **how_enforced(
                    at.sandbox, held, at.places.quota, at.own is None or bool(at.own.layers), task.agent_network
                ),
                **_times(task),
            },
            **({"image": at.own.name, "asked": asdict(task.resources)} if at.own and task.resources else {}),
        },
    }


def _times(task: Task) -> dict[str, str]:
    """The limits of time that a task has beside that of its agent, all of which end what they are of."""
    recipe = {"build": f"{task.recipe.build_timeout_sec:g} s"} if task.recipe else {}
    return {**recipe, **({"verifier": f"{task.verifier.timeout_sec:g} s"} if task.verifier else {})}


def evidence(cell: TrialSpec, ran: AgentRun, seen: GatewayTrace | None, staged: Mapping[str, str]) -> dict[str, bytes]:
    """The files about the agent: its streams, its steps, what it was offered, and its tokens."""
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
        TRAJECTORY: to_json(to_atif(ran.reading, cell.choice.name, cell.choice.model)),
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
        **({f"verifier/{CTRF}": verified.ctrf.data} if verified.ctrf.data else {}),
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
        "verifier_digest": task.verifier_digest,
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
        if is_there(place, links=False):
            shutil.rmtree(place)
        os.rename(half, place)
    except OSError as error:
        with suppress(OSError):
            shutil.rmtree(half)
        raise AbortedError(f"cannot write {place}: {error.strerror or error}") from error


SCHEMA_VERSION = "ATIF-v1.7"
_UNKNOWN = "unknown"


def to_atif(reading: StreamReading, agent: str, model: str) -> dict[str, Any]:
    """The trajectory of a trial: `skill_health/core/schemas/trajectory.schema.json` describes it.

    `agent` and `model` are the names as they were asked for; the model that the stream itself names goes before. What
    is not known is left out. A stream without any step has one that says so, since the format wants one.
    """
    name = reading.model or model
    steps = [_step(number, step) for number, step in enumerate(reading.steps, 1)]
    metrics = {
        "total_prompt_tokens": reading.usage.input_tokens,
        "total_completion_tokens": reading.usage.output_tokens,
        "total_cached_tokens": reading.usage.cached_tokens,
        "total_cost_usd": reading.cost_usd,
        "total_steps": len(steps) or None,
        "extra": _further(reading.usage),
    }
    notes = [reading.error, f"failure: {reading.failure}" if reading.failure else ""]
    return _known(
        {
            "schema_version": SCHEMA_VERSION,
            "session_id": reading.session_id,
            "agent": _known({"name": agent, "version": reading.version or _UNKNOWN, "model_name": name or None}),
            "steps": steps or [{"step_id": 1, "source": "system", "message": "No step could be read from the stream."}],
            "notes": "; ".join(filter(None, notes)) or None,
            "final_metrics": _known(metrics) or None,
            "extra": _known({"stop_reason": reading.stop_reason, "turns": reading.turns}) or None,
        }
    )


def _step(number: int, step: TrajectoryStep) -> dict[str, Any]:
    """One step; what only agents' steps may have is left out of others."""
    plain = {"step_id": number, "timestamp": _time(step.at), "source": step.source, "message": step.message}
    if step.source != "agent":
        return _known(plain)
    ids = list(_ids(number, step.tools))
    calls = [
        {"tool_call_id": call_id, "function_name": tool.name, "arguments": dict(tool.arguments)}
        for call_id, tool in zip(ids, step.tools, strict=True)
    ]
    results = [
        {"source_call_id": call_id, "content": tool.result}
        for call_id, tool in zip(ids, step.tools, strict=True)
        if tool.result is not None
    ]
    failed = [call_id for call_id, tool in zip(ids, step.tools, strict=True) if tool.failed]
    return _known(
        {
            **plain,
            "model_name": step.model,
            "reasoning_content": step.reasoning or None,
            "tool_calls": calls or None,
            "observation": {"results": results} if results else None,
            "metrics": _metrics(step.usage) if step.usage else None,
            "extra": {"failed_calls": failed} if failed else None,
        }
    )


def _time(at: str | None) -> str | None:
    """The time that a stream holds, None for what is none: the format takes nothing else."""
    try:
        datetime.fromisoformat(at or "")
    except ValueError:
        return None
    return at


def _ids(number: int, tools: tuple[ToolUse, ...]) -> Iterator[str]:
    """The ids of a step's calls, each once: results refer to them."""
    taken: set[str] = set()
    for nth, tool in enumerate(tools, 1):
        call_id = tool.call_id or f"call-{number}-{nth}"
        while call_id in taken:
            call_id = f"{call_id}-{nth}"
        taken.add(call_id)
        yield call_id


def _metrics(usage: Usage) -> dict[str, Any] | None:
    named = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "extra": _further(usage),
    }
    return _known(named) or None


def _further(usage: Usage) -> dict[str, Any] | None:
    more = {"cache_write_tokens": usage.cache_write_tokens, "reasoning_tokens": usage.reasoning_tokens}
    return _known(more) or None


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
