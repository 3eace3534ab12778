"""What an agent did, in the Agent Trajectory Interchange Format (ATIF, laude-institute/harbor)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from skill_health.bench.http.messages import Usage
from skill_health.effectiveness.agents._api import StreamReading, ToolUse, TrajectoryStep

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
