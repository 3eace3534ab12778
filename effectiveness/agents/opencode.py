"""OpenCode, driven without a person: `opencode run --format json`, its home a fresh folder, the prompt on stdin.

What it is given, the same in every arm: a configuration of ours, the one folder of skills to look into (by itself it
looks into all folders above the workspace, too, and installs a package into each `.opencode` that it finds), every tool
but the one that reaches into the web, no questions asked, and not the skill that it brings, unless one of that name is
staged: a control is free of skills.

It needs ripgrep on PATH: without it the tool for skills fails, each time, and all that a run would measure is that. A
subagent's tools and tokens are not in its stream.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from skill_health.bench.http.json_values import added, count, mapping, objects, optional, part_of, text
from skill_health.bench.http.messages import Usage, add_usage
from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents._api import Command, Job, ProgramOutput, StreamReading, TrajectoryStep
from skill_health.effectiveness.agents._failures import failed, telling, without_end
from skill_health.effectiveness.agents._invocation import opened
from skill_health.effectiveness.agents._stream import Transcript, read_stream
from skill_health.effectiveness.delivery.served import SERVER, STARTS
from skill_health.effectiveness.tasks._folder import File
from skill_health.text.terminal import one_line

PROVIDER, SKILLS = "gateway", ".opencode/skills"

# The libraries that it brings along for each protocol, and the version in the URL that they expect.
LIBRARIES = {
    "openai": ("@ai-sdk/openai-compatible", "/v1"),
    "anthropic": ("@ai-sdk/anthropic", "/v1"),
    "openai-responses": ("@ai-sdk/openai", "/v1"),
    "gemini": ("@ai-sdk/google", "/v1beta"),
}
_BUILT_IN = "customize-opencode"
_OFF = (
    "AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "SHARE", "EXTERNAL_SKILLS", "PROJECT_CONFIG", "DEFAULT_PLUGINS"
)  # fmt: skip
_FOLDERS = {"CONFIG": ".config", "DATA": ".local/share", "STATE": ".local/state", "CACHE": ".cache"}


def environment(job: Job) -> dict[str, str]:
    """Nothing is fetched, and no folder but the trial's own is looked into."""
    off = {f"OPENCODE_DISABLE_{what}": "1" for what in _OFF}
    folders = {f"XDG_{name}_HOME": f"{job.home}/{folder}" for name, folder in _FOLDERS.items()}
    # Else, where there is a network, it installs a package of its own into each new home.
    return {**off, **folders, "npm_config_offline": "true", "NO_COLOR": "1"}


def files(job: Job) -> tuple[File, ...]:
    """The configuration below home, as one in the workspace would be part of the work."""
    library, version = LIBRARIES[job.protocol]
    model: dict[str, Any] = {"name": job.model, "tool_call": True}
    if job.max_output_tokens:
        # 0 is a context of unknown size, which is never compacted.
        model["limit"] = {"context": 0, "output": job.max_output_tokens}
    whole = f"{PROVIDER}/{job.model}"
    staged = job.served is None and any(skill.name == _BUILT_IN for skill in job.skills)
    servers: dict[str, Any] = {}
    if job.served:
        command, wait = list(job.served.command), 1000 * STARTS
        servers[SERVER] = {"type": "local", "command": command, "enabled": True, "timeout": wait}
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "model": whole,
        "small_model": whole,
        "enabled_providers": [PROVIDER],
        "permission": {"webfetch": "deny", "skill": {} if staged else {_BUILT_IN: "deny"}},
        "skills": {"paths": [f"{job.workspace}/{SKILLS}"]},
        **({"mcp": servers} if servers else {}),
        "instructions": [f"{job.workspace}/AGENTS.md"],
        "provider": {
            PROVIDER: {
                "npm": library,
                "name": PROVIDER,
                "options": {"baseURL": job.base_url + version, "apiKey": job.key},
                "models": {job.model: model},
            }
        },
    }
    return (File(".config/opencode/opencode.json", json.dumps(settings, indent=1).encode("ascii")),)


__all__ = ["SKILLS", "command", "listed", "probe", "read"]

TITLE = "OpenCode, with a model of any provider"
PROGRAM = "opencode"
PROTOCOLS = tuple(LIBRARIES)
ORDERED = False
VERIFIED = "1.18.33"
EXTRA = ""
IMPORTS: tuple[str, ...] = ()
SIMULATED = False
MCP = "{server}_{tool}"

_HERE = "<built-in>"
_SUBAGENT = "task"
_TRUNCATED = "MessageOutputLengthError"
_REFUSED = "ContentFilterError"
_AUTH = "ProviderAuthError"


def check(spec: str) -> None:
    """Raise UsageError where ripgrep is missing."""
    if not _ripgrep():
        raise UsageError("opencode needs ripgrep: without it its tool for skills fails; install the program rg")


def _ripgrep() -> tuple[str, ...]:
    found = shutil.which("rg")
    return (os.path.abspath(found),) if found else ()


def command(job: Job) -> Command:
    """One turn without questions. The title is given, so that no model is asked for one."""
    words = ("run", "--format", "json", "--pure", "--auto", "--title", "task", "--model", f"{PROVIDER}/{job.model}")
    prompt = job.prompt.encode("utf-8", "replace")
    return Command((job.program, *words), environment(job), files(job), prompt, _ripgrep())


def probe(job: Job) -> Command:
    """Its own list of skills, for which it asks nobody."""
    words = (job.program, "debug", "skill", "--pure")
    return Command(words, environment(job), files(job), programs=_ripgrep())


def listed(output: ProgramOutput) -> tuple[str, ...] | None:
    """The names in a JSON list of skills. What it brings itself stands there, too, but no model is told of it."""
    try:
        data = json.loads(output.stdout)
    except (ValueError, RecursionError):
        return None
    if output.exit_code != 0 or not isinstance(data, list):
        return None
    names = [item.get("name") for item in objects(data) if item.get("location") != _HERE]
    return None if any(not isinstance(name, str) for name in names) else tuple(map(str, names))


def read(output: ProgramOutput, job: Job) -> StreamReading:
    """What the stream of a trial says. It has no cost, since it is told no price."""
    stream = read_stream(output.stdout)
    events = stream.events
    steps = _steps(events)
    tools = [tool for step in steps for tool in step.tools]
    names, evidence = opened(tools, job.skills, SKILLS)
    alone = not any(tool.name == _SUBAGENT for tool in tools)
    ends = [mapping(event.get("part")) for event in events if event.get("type") == "step_finish"]
    known = StreamReading(
        steps=(TrajectoryStep("user", job.prompt), *steps),
        final_message=next((step.message for step in reversed(steps) if step.message), ""),
        usage=add_usage([_usage(end) for end in ends]) if alone else Usage(),
        turns=len(ends) or None,
        stop_reason=optional(ends[-1].get("reason")) if ends else None,
        session_id=optional(events[0].get("sessionID")) if events else None,
        invocations=names,
        evidence=evidence,
        observable=bool(names) or alone,
    )
    if (error := _last_error(events)) is not None:
        return _failed(known, error)
    if known.stop_reason not in (None, "tool-calls"):
        return known
    # A step with calls of tools is followed by another.
    failure, line = without_end(telling(output), stream)
    return replace(known, failure=failure, error=line)


def _last_error(events: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The error that ended it: one that work followed on did not."""
    error: Mapping[str, Any] | None = None
    for event in events:
        if event.get("type") == "error":
            error = mapping(event.get("error"))
        elif event.get("type") == "step_finish":
            error = None
    return error


def _failed(known: StreamReading, error: Mapping[str, Any]) -> StreamReading:
    name, data = text(error.get("name")), mapping(error.get("data"))
    message = text(data.get("message")) or name
    if name == _TRUNCATED:
        return replace(known, stop_reason="length", error=one_line(message))
    if name in (_REFUSED, _AUTH):
        return replace(known, failure="refusal" if name == _REFUSED else "auth", error=one_line(message))
    try:
        body = json.loads(text(data.get("responseBody")) or "null")
    except (ValueError, RecursionError):
        body = None
    failure, line = failed(count(data.get("statusCode")), message, body)
    return replace(known, failure=failure, error=line)


def _steps(events: Iterable[Mapping[str, Any]]) -> tuple[TrajectoryStep, ...]:
    made = Transcript()
    for event in events:
        part = mapping(event.get("part"))
        kind = event.get("type")
        if kind == "text":
            made.say(text(part.get("text")))
        elif kind == "reasoning":
            made.think(text(part.get("text")))
        elif kind == "tool_use":
            state = mapping(part.get("state"))
            call_id, failed_ = text(part.get("callID")), state.get("status") == "error"
            made.call(call_id, text(part.get("tool")), mapping(state.get("input")))
            made.give(call_id, text(state.get("error") if failed_ else state.get("output")), failed_)
        elif kind == "step_finish":
            made.note(usage=_usage(part))
            made.close()
    return made.steps()


def _usage(part: Mapping[str, Any]) -> Usage:
    """Tokens of one answer: what it calls input leaves out what was cached, and output the thoughts."""
    tokens = mapping(part.get("tokens"))
    cache = mapping(tokens.get("cache"))
    taken = added(tokens.get("input"), cache.get("read"), cache.get("write"))
    given = added(tokens.get("output"), tokens.get("reasoning"))
    return Usage(
        taken,
        given,
        part_of(cache.get("read"), taken),
        part_of(cache.get("write"), taken),
        part_of(tokens.get("reasoning"), given),
    )
