"""Cursor's agent (`cursor-agent --print`), by its documented interface: nobody has seen this work here.

It asks Cursor's own servers with a key of the user's, so there is no gateway. Its sandbox has the real key in
CURSOR_API_KEY, in reach of whatever the agent does, and a proxy that lets it to Cursor's domains and nowhere else. What
it sends is encrypted, and it lists no skills: that it was offered what was staged, and nothing more, rests on the
folders of its sandbox alone. Nothing meters it either: a cap in dollars is kept between trials and never within one,
and tokens are what its stream says. So it runs only where the user asks for it by name (`--weaker-proof cursor`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from skill_health.bench.http.json_values import added, count, mapping, optional, part_of, text
from skill_health.bench.http.messages import Usage
from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents._api import Command, Job, ProgramOutput, StreamReading, TrajectoryStep
from skill_health.effectiveness.agents._failures import failed, telling, without_end
from skill_health.effectiveness.agents._invocation import opened
from skill_health.effectiveness.agents._stream import Transcript, read_stream, words_of
from skill_health.effectiveness.tasks._folder import File

TITLE = "Cursor's agent, known from its documents only; needs --weaker-proof cursor"
PROGRAM = "cursor-agent"
SKILLS = ".cursor/skills"
PROTOCOLS: tuple[str, ...] = ()
ORDERED = False
VERIFIED = ""
EXTRA = ""
IMPORTS: tuple[str, ...] = ()
SIMULATED = False
OWN_KEY = "CURSOR_API_KEY"
"""The variable of a key that the agent itself must have: no gateway can stand between it and its server."""

DOMAINS = ("cursor.sh", "cursor.com")
UNPROVED = (
    "it asks Cursor's servers with your key, which its sandbox holds, so nobody saw which skills it was offered, no cap "
    "ended a trial, and its tokens are its own count"
)
_SETTINGS = b'{"version": 1, "network": {"useHttp1ForAgent": true}}\n'
_FLAGS = ("--print", "--output-format=stream-json", "--force")


def check(spec: str) -> None:
    """Raise UsageError where there is no model or no key."""
    if not spec.partition(":")[2]:
        raise UsageError("cursor: which model? Write cursor:MODEL")
    _key()


def command(job: Job) -> Command:
    """One turn without questions. Raises UsageError without a key."""
    words = (job.program, *_FLAGS, f"--model={job.model}", "--", job.prompt)
    folder = f"{job.home}/.cursor"
    env = {
        OWN_KEY: _key(), "CURSOR_CONFIG_DIR": folder, "NO_COLOR": "1", "HTTPS_PROXY": job.base_url,
        "HTTP_PROXY": job.base_url, "NODE_USE_ENV_PROXY": "1",
    }  # fmt: skip
    return Command(words, env, (File(".cursor/cli-config.json", _SETTINGS),))


def probe(job: Job) -> Command | None:
    """None: it has no list of skills."""
    return None


def listed(output: ProgramOutput) -> tuple[str, ...] | None:
    """None: nothing is listed."""
    return None


def _key() -> str:
    key = os.environ.get(OWN_KEY, "").strip()
    if not key:
        raise UsageError(f"cursor needs a key of its own: set {OWN_KEY}")
    return key


def read(output: ProgramOutput, job: Job) -> StreamReading:
    """What the stream of a trial says."""
    stream = read_stream(output.stdout)
    steps = _steps(stream.events)
    start = next((event for event in stream.events if event.get("type") == "system"), {})
    end = next((event for event in reversed(stream.events) if event.get("type") == "result"), None)
    names, evidence = opened((tool for step in steps for tool in step.tools), job.skills, SKILLS)
    known = StreamReading(
        steps=(TrajectoryStep("user", job.prompt), *steps),
        final_message=next((step.message for step in reversed(steps) if step.message), ""),
        usage=_usage(mapping(end.get("usage"))) if end else Usage(),
        stop_reason=optional(end.get("subtype")) if end else None,
        model=optional(start.get("model")),
        session_id=optional(start.get("session_id")),
        invocations=names,
        evidence=evidence,
    )
    if end is None:
        failure, error = without_end(telling(output), stream)
    elif end.get("is_error") is True:
        failure, error = failed(None, text(end.get("result")))
    else:
        return known
    return replace(known, failure=failure, error=error)


def _steps(events: Iterable[Mapping[str, Any]]) -> tuple[TrajectoryStep, ...]:
    made = Transcript()
    for event in events:
        kind = event.get("type")
        if kind == "assistant":
            made.say(words_of(mapping(event.get("message")).get("content")))
        elif kind == "thinking":
            made.think(text(event.get("text")))
        elif kind == "tool_call":
            call_id = text(event.get("call_id"))
            name, said = next(iter(mapping(event.get("tool_call")).items()), ("", {}))
            made.call(call_id, name.removesuffix("ToolCall"), mapping(mapping(said).get("args")))
            if event.get("subtype") == "completed":
                result = mapping(mapping(said).get("result"))
                made.give(call_id, _result(result), "success" not in result)
                made.close()
    return made.steps()


def _result(result: Mapping[str, Any]) -> str:
    inner = next((value for value in result.values() if isinstance(value, dict)), {})
    return "\n".join(text(inner.get(key)) for key in ("content", "stdout", "stderr", "error") if inner.get(key))


def _usage(said: Mapping[str, Any]) -> Usage:
    """Whether its input holds what was cached is documented nowhere: where anything was, the whole is not known."""
    cached, written = count(said.get("cacheReadTokens")), count(said.get("cacheWriteTokens"))
    taken = None if cached or written else added(said.get("inputTokens"))
    return Usage(taken, count(said.get("outputTokens")), part_of(cached, taken), part_of(written, taken))
