"""Qwen Code, driven without a person: `qwen -o stream-json`, its home a fresh folder, the prompt on stdin.

What it is given, the same in every arm: settings of ours and nobody else's, every tool but the one that reaches into
the web, no questions asked, no memory of its own (which asks the model once more after the work). The few skills that
it brings cannot be switched off: they are listed in a control, too.

It looks for skills in the workspace, not in the folders above. Its stream begins with its commands, each skill among
them, before any model is asked. It ends well even where no model answered, with the error as its last message.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from skill_health.bench.http.json_values import count, mapping, objects, optional, part_of, text
from skill_health.bench.http.messages import Usage
from skill_health.effectiveness.agents._api import Command, Failure, Job, ProgramOutput, StreamReading, TrajectoryStep
from skill_health.effectiveness.agents._failures import api_error, failed, telling, without_end
from skill_health.effectiveness.agents._invocation import opened
from skill_health.effectiveness.agents._stream import Transcript, read_stream, words_of
from skill_health.effectiveness.tasks._folder import File

TITLE = "Qwen Code, with a model of any provider"
PROGRAM = "qwen"
SKILLS = ".qwen/skills"
PROTOCOLS: tuple[str, ...] = ("openai", "anthropic", "gemini")
ORDERED = False
VERIFIED = "0.15.10"
EXTRA = ""
IMPORTS: tuple[str, ...] = ()
SIMULATED = False

_LIST = b"/context"
# Commands that stand among the skills in its list and are none.
_COMMANDS = frozenset(
    ("bug", "clear", "compress", "context", "diff", "docs", "doctor", "export", "init", "insight", "language", "model",
     "stats", "status", "summary", "tasks")
)  # fmt: skip
_MOST_NAMES = 10_000


def command(job: Job) -> Command:
    """One turn without questions: every tool is allowed, since the sandbox is what holds."""
    # A slash in front would make it a command of the program's own; one that stands after a line break does not.
    prompt = f"\n{job.prompt}" if job.prompt.startswith("/") else job.prompt
    return _command(job, prompt.encode("utf-8", "replace"))


def probe(job: Job) -> Command:
    """A command of its own, which asks no model; the stream begins with what it found as always."""
    return _command(job, _LIST)


def listed(output: ProgramOutput) -> tuple[str, ...] | None:
    """The skills among the commands that the stream begins with, those that it brings itself among them."""
    return _listed(_first(read_stream(output.stdout).events, "system"))


def read(output: ProgramOutput, job: Job) -> StreamReading:
    """What the stream of a trial says. It has no cost."""
    stream = read_stream(output.stdout)
    start, end = _first(stream.events, "system"), _first(tuple(reversed(stream.events)), "result")
    transcript, broken = _transcript(stream.events, job.protocol)
    steps = transcript.steps()
    names, evidence = opened((tool for step in steps for tool in step.tools), job.skills, SKILLS)
    known = StreamReading(
        steps=(TrajectoryStep("user", job.prompt), *steps),
        final_message=next((step.message for step in reversed(steps) if step.message), ""),
        usage=_usage(end.get("usage"), job.protocol),
        turns=len(steps) or None,
        stop_reason=optional(end.get("subtype")),
        model=next((step.model for step in reversed(steps) if step.model), None) or optional(start.get("model")),
        version=optional(start.get("qwen_code_version")),
        session_id=optional(start.get("session_id")),
        invocations=names,
        evidence=evidence,
        listed=_listed(start),
    )
    failure, error = _failure(end, broken) if end else without_end(telling(output), stream)
    return replace(known, failure=failure, error=error)


def _failure(end: Mapping[str, Any], broken: str) -> tuple[Failure, str]:
    if broken:
        return api_error(broken) or failed(None, broken)
    if end.get("is_error") is not True:
        return "", ""
    if end.get("subtype") == "error_max_turns":
        return "", "stopped by its own limit of turns"
    return failed(None, text(mapping(end.get("error")).get("message")) or text(end.get("result")))


def _command(job: Job, stdin: bytes) -> Command:
    words = (job.program, "--yolo", "--auth-type", job.protocol, "-o", "stream-json")
    nowhere = f"{job.home}/.qwen/none.json"
    base_url = f"{job.base_url}/v1" if job.protocol == "openai" else job.base_url
    prefix, url = _VARIABLES[job.protocol]
    environment = {
        url: base_url,
        f"{prefix}_API_KEY": job.key,
        f"{prefix}_MODEL": job.model,
        "QWEN_CODE_NO_RELAUNCH": "true",
        # Settings of the whole machine are as good as a user's: they must not reach a trial.
        "QWEN_CODE_SYSTEM_SETTINGS_PATH": nowhere,
        "QWEN_CODE_SYSTEM_DEFAULTS_PATH": nowhere,
        "NO_COLOR": "1",
    }
    if job.max_output_tokens:
        environment["QWEN_CODE_MAX_OUTPUT_TOKENS"] = str(job.max_output_tokens)
    return Command(words, environment, (File(".qwen/settings.json", _SETTINGS),), stdin)


_VARIABLES = {
    "openai": ("OPENAI", "OPENAI_BASE_URL"),
    "anthropic": ("ANTHROPIC", "ANTHROPIC_BASE_URL"),
    "gemini": ("GEMINI", "GOOGLE_GEMINI_BASE_URL"),
}
_SETTINGS = json.dumps(
    {
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"enableAutoUpdate": False},
        "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        "permissions": {"deny": ["web_fetch", "web_search"]},
    },
    indent=1,
).encode("ascii")


def _transcript(events: Sequence[Mapping[str, Any]], protocol: str) -> tuple[Transcript, str]:
    """The steps, and the error that the last message stands for where no model gave it: "" for none."""
    made, broken = Transcript(), ""
    for event in events:
        message = mapping(event.get("message"))
        if event.get("type") == "assistant":
            usage = mapping(message.get("usage"))
            said = words_of([block for block in objects(message.get("content")) if block.get("type") == "text"])
            # A model that writes the same words has put out tokens.
            broken = said if api_error(said) and not count(usage.get("output_tokens")) else ""
            if not broken:
                _answer(made, message, said)
                made.note(optional(message.get("model")), _usage(usage, protocol) if any(usage.values()) else None)
            made.close()
        elif event.get("type") == "user":
            for block in objects(message.get("content")):
                if block.get("type") == "tool_result":
                    failed_ = block.get("is_error")
                    words = words_of(block.get("content"))
                    made.give(text(block.get("tool_use_id")), words, failed_ if isinstance(failed_, bool) else None)
    return made, broken


def _answer(made: Transcript, message: Mapping[str, Any], said: str) -> None:
    for block in objects(message.get("content")):
        if block.get("type") == "thinking":
            made.think(text(block.get("thinking")))
        elif block.get("type") == "tool_use":
            made.call(text(block.get("id")), text(block.get("name")), mapping(block.get("input")))
    made.say(said)


def _usage(raw: Any, protocol: str) -> Usage:
    """What it calls input holds what was read from a cache; what Anthropic wrote to one, it counts nowhere."""
    said = mapping(raw)
    taken, given, whole = (count(said.get(key)) for key in ("input_tokens", "output_tokens", "total_tokens"))
    if not taken and not given:
        # No answer came: zeros here are for what was never counted.
        return Usage()
    cached = part_of(said.get("cache_read_input_tokens"), taken)
    if protocol == "anthropic":
        return Usage(None, given, cached)
    if taken is not None and given is not None and whole is not None and whole > taken + given:
        # Google's thoughts are in the total alone.
        return Usage(taken, whole - taken, cached, reasoning_tokens=whole - taken - given)
    return Usage(taken, given, cached)


def _listed(start: Mapping[str, Any]) -> tuple[str, ...] | None:
    names = start.get("slash_commands")
    if not isinstance(names, list):
        return None
    return tuple(name for name in names[:_MOST_NAMES] if isinstance(name, str) and name not in _COMMANDS)


def _first(events: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any]:
    return next((event for event in events if event.get("type") == kind), {})
