"""What our own agents print, `loop` and `scripted`: JSON lines, and how they are read.

    {"event": "start", "agent", "model", "skills": [names], "system"}
    {"event": "step", "text", "calls": [{"id", "name", "arguments"}], "model", "usage"}     one answer of the model
    {"event": "result", "index", "text", "failed"}                                          of a call of the last step
    {"event": "end", "stop_reason", "final", "usage", "cost_usd", "turns", "failure", "error"}

The last may be missing, where the agent was stopped; `usage` of the whole is then the sum of what the steps say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from skill_health import __version__
from skill_health.bench.http.json_values import count, mapping, objects, optional, text
from skill_health.bench.http.messages import TOKENS, Usage
from skill_health.effectiveness.agents._api import Failure, Job, ProgramOutput, StreamReading, ToolUse, TrajectoryStep
from skill_health.effectiveness.agents._invocation import opened
from skill_health.effectiveness.agents._stream import read_stream
from skill_health.text.terminal import one_line

SKILLS = ".agents/skills"
FAILURES = ("infrastructure", "quota", "auth", "refusal")
_MOST_SKILLS = 10_000


def listed(output: ProgramOutput) -> tuple[str, ...] | None:
    """The skills that the agent found when it started; None where it did not come so far."""
    for event in read_stream(output.stdout).events:
        if event.get("event") == "start":
            return _names(event.get("skills"))
    return None


def read(output: ProgramOutput, job: Job) -> StreamReading:
    """What the stream of a trial says."""
    events = read_stream(output.stdout).events
    start = next((event for event in events if event.get("event") == "start"), {})
    end = next((event for event in reversed(events) if event.get("event") == "end"), None)
    steps = _steps(events)
    names, evidence = opened((tool for step in steps for tool in step.tools), job.skills, SKILLS)
    models = [step.model for step in steps if step.model]
    told = text(start.get("system"))
    known = StreamReading(
        steps=(*([TrajectoryStep("system", told)] if told else []), TrajectoryStep("user", job.prompt), *steps),
        usage=_sum(step.usage for step in steps),
        model=models[-1] if models else optional(start.get("model")),
        turns=len(steps) or None,
        version=__version__,
        invocations=names,
        evidence=evidence,
        listed=_names(start.get("skills")) if start else None,
    )
    return _unfinished(known, output) if end is None else _finished(known, end)


def _finished(known: StreamReading, end: Mapping[str, Any]) -> StreamReading:
    failure = text(end.get("failure"))
    final = text(end.get("final"))
    said = _usage(end.get("usage"))
    closing = (TrajectoryStep("agent", final, model=known.model),) if final and final != known.steps[-1].message else ()
    return replace(
        known,
        steps=(*known.steps, *closing),
        final_message=final,
        usage=known.usage if said is None else said,
        cost_usd=_amount(end.get("cost_usd")),
        turns=count(end.get("turns")) or known.turns,
        stop_reason=optional(end.get("stop_reason")),
        failure=cast(Failure, failure) if failure in FAILURES else "infrastructure" if failure else "",
        error=one_line(text(end.get("error"))),
    )


def _unfinished(known: StreamReading, output: ProgramOutput) -> StreamReading:
    """An agent that was stopped has done what it could; one that broke off by itself is broken."""
    if output.stopped:
        return known
    words = output.stderr.decode("utf-8", "replace").strip().splitlines()
    code = "an unknown exit code" if output.exit_code is None else f"exit code {output.exit_code}"
    why = f": {words[-1]}" if words else ""
    return replace(known, failure="infrastructure", error=one_line(f"the agent broke off with {code}{why}"))


def _steps(events: Iterable[Mapping[str, Any]]) -> tuple[TrajectoryStep, ...]:
    """Each answer of the model, with what its calls gave."""
    steps: list[TrajectoryStep] = []
    for event in events:
        if event.get("event") == "step":
            uses = tuple(
                ToolUse(text(call.get("id")), text(call.get("name")), mapping(call.get("arguments")))
                for call in objects(event.get("calls"))
            )
            model, usage = optional(event.get("model")), _usage(event.get("usage"))
            steps.append(TrajectoryStep("agent", text(event.get("text")), uses, model=model, usage=usage))
        elif event.get("event") == "result" and steps:
            index, last = count(event.get("index")), steps[-1]
            if index is not None and index < len(last.tools):
                use = replace(last.tools[index], result=text(event.get("text")), failed=event.get("failed") is True)
                steps[-1] = replace(last, tools=(*last.tools[:index], use, *last.tools[index + 1 :]))
    return tuple(steps)


def _usage(given: Any) -> Usage | None:
    if not isinstance(given, dict):
        return None
    return Usage(**{name: count(given.get(name)) for name in TOKENS}, raw=None)


def _sum(usages: Iterable[Usage | None]) -> Usage:
    """The sum over all steps. Input and output are None where any step does not say them.

    A provider may leave out what it has nothing to say of: the others are None only where no step says them.
    """
    every = [usage or Usage() for usage in usages]
    whole = {name: [getattr(usage, name) for usage in every] for name in TOKENS}
    unknown = {
        name
        for name, values in whole.items()
        if all(value is None for value in values) or (name in ("input_tokens", "output_tokens") and None in values)
    }
    return Usage(**{name: sum(filter(None, values)) for name, values in whole.items() if name not in unknown})


def _amount(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and 0 <= value < 1e9 else None


def _names(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    return tuple(name for name in value[:_MOST_SKILLS] if isinstance(name, str))
