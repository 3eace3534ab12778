"""Any agent that speaks the Agent Client Protocol, version 1, over its stdin and stdout: `acp:PROVIDER:MODEL`.

Its command line is in the configuration, under [effectiveness]:

    acp-command = ["qwen", "--acp", "--auth-type", "openai"]
    acp-env = { SOME_VARIABLE = "{base_url}/v1" }

In words and values {model}, {base_url}, {key}, {workspace} and {home} stand for what they say. The usual variables of
the provider's protocol (such as OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL) are set without being named. A client
of ours runs beside the agent in its sandbox, and allows whatever it asks leave for.

Skills are staged in .agents/skills: choose an agent that looks there. The protocol has no word for skills and none for
a list of them: what was offered is seen in the requests to the model, and what was opened by the tools that agents are
known to have for it. Tokens are never read here: an agent tells those of its last answer as if they were of the whole.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

from skill_health import __version__
from skill_health.bench.http.json_values import count, mapping, objects, optional, text
from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents._api import (
    Command,
    Failure,
    Job,
    ProgramOutput,
    StreamReading,
    ToolUse,
    TrajectoryStep,
)
from skill_health.effectiveness.agents._failures import api_error, failed, without_end
from skill_health.effectiveness.agents._invocation import opened
from skill_health.effectiveness.agents._stream import Transcript, read_stream, words_of
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.tasks._folder import File
from skill_health.text.patterns import lazy

SKILLS = ".agents/skills"
_AUTH_REQUIRED = -32000
_BY_KIND = {"read": "read", "execute": "shell"}
_WORD = lazy(r"[A-Za-z][\w.-]{0,60}\Z")
_NAME = lazy(r"[\w-]+")
_DONE = ("completed", "failed")


@dataclass(slots=True)
class _Call:
    """All that was said of one call of a tool. What came later holds."""

    first_title: str = ""
    title: str = ""
    kind: str = ""
    name: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)

    def hear(self, update: Mapping[str, Any]) -> None:
        self.title = text(update.get("title")) or self.title
        self.first_title = self.first_title or self.title
        self.kind = text(update.get("kind")) or self.kind
        self.name = text(mapping(update.get("_meta")).get("toolName")) or self.name
        self.arguments.update(mapping(update.get("rawInput")))
        self.places = [text(place.get("path")) for place in objects(update.get("locations"))] or self.places

    def tool(self, call_id: str, skills: Sequence[SkillCopy]) -> tuple[str, Mapping[str, Any]]:
        """The name of the tool and its arguments: told, or known by how agents write ids and titles."""
        before, mark, _ = call_id.partition("__")
        known = self.name or (before if mark and _WORD.match(before) else "")
        word = self.first_title if _WORD.match(self.first_title) else ""
        name = known or _BY_KIND.get(self.kind) or word or self.kind or "tool"
        if not known and "skill" in word.lower():
            name = word
        if self.arguments:
            return name, self.arguments
        if "skill" in name.lower():
            said = set(_NAME.findall(self.title))
            return name, {"name": next((skill.name for skill in skills if skill.name in said), self.title)}
        if self.kind == "execute":
            return name, {"command": self.title}
        return name, {"paths": self.places} if self.places else {"title": self.title}


def read(output: ProgramOutput, job: Job) -> StreamReading:
    """What the stream of a trial says. It has neither tokens nor cost, and does not count turns."""
    stream = read_stream(output.stdout)
    steps = _steps(stream.events, job.skills)
    names, evidence = opened((tool for step in steps for tool in step.tools), job.skills, SKILLS)
    info = mapping(next((event.get("info") for event in stream.events if event.get("event") == "agent"), None))
    end = next((event for event in reversed(stream.events) if event.get("event") == "end"), None)
    known = StreamReading(
        steps=(TrajectoryStep("user", job.prompt), *steps),
        final_message=next((step.message for step in reversed(steps) if step.message), ""),
        stop_reason=optional(end.get("stop_reason")) if end else None,
        version=optional(info.get("version")),
        session_id=next(filter(None, (text(update.get("sessionId")) for update in _updates(stream.events))), None),
        invocations=names,
        evidence=evidence,
    )
    failure, error = without_end(output, stream) if end is None else _failure(end)
    return replace(known, failure=failure, error=error)


def _failure(end: Mapping[str, Any]) -> tuple[Failure, str]:
    if end.get("stop_reason") == "refusal":
        return "refusal", "the model refused"
    error = end.get("error")
    if not isinstance(error, dict):
        return "", ""
    more = text(mapping(error.get("data")).get("details"))
    message = ": ".join(filter(None, (text(error.get("message")), more)))
    if error.get("code") == _AUTH_REQUIRED:
        return "auth", failed(None, message)[1]
    # Some wrap the answer of their server, and some give its status as the code.
    code = count(error.get("code"))
    return api_error(f"[API Error: {message}]", code) or failed(code, message)


def _updates(events: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The parameters of whatever the agent said about its session."""
    for event in events:
        message = mapping(event.get("message"))
        if event.get("event") == "message" and text(message.get("method")).startswith("session/"):
            yield mapping(message.get("params"))


def _steps(events: Iterable[Mapping[str, Any]], skills: Sequence[SkillCopy]) -> tuple[TrajectoryStep, ...]:
    made = Transcript()
    calls: dict[str, _Call] = {}
    for params in _updates(events):
        # A request for leave tells of a call, too, and some agents tell of it nowhere else before it is done.
        update = mapping(params.get("update")) or mapping(params.get("toolCall"))
        kind = update.get("sessionUpdate")
        call_id = text(update.get("toolCallId"))
        if kind == "agent_message_chunk":
            made.say(words_of(update.get("content")))
        elif kind == "agent_thought_chunk":
            made.think(words_of(update.get("content")))
        elif call_id:
            call = calls.setdefault(call_id, _Call())
            call.hear(update)
            made.call(call_id, call.kind or "tool", {})
            if update.get("status") in _DONE:
                made.give(call_id, _result(update), update.get("status") == "failed")
                made.close()
    return tuple(
        replace(step, tools=tuple(_named(tool, calls, skills) for tool in step.tools)) for step in made.steps()
    )


def _named(tool: ToolUse, calls: Mapping[str, _Call], skills: Sequence[SkillCopy]) -> ToolUse:
    name, arguments = calls[tool.call_id].tool(tool.call_id, skills)
    return replace(tool, name=name, arguments=arguments)


def _result(update: Mapping[str, Any]) -> str:
    """What a call gave: its content, else what the tool itself put out."""
    words = words_of(update.get("content"))
    raw = update.get("rawOutput")
    return words or text(raw) or words_of([mapping(raw).get("output")])


__all__ = ["SKILLS", "command", "listed", "probe", "read"]

TITLE = "Any agent that speaks the Agent Client Protocol"
PROGRAM = ""
PROTOCOLS = ("openai", "anthropic", "openai-responses", "gemini")
ORDERED = False
VERIFIED = "0.12.1 of agent-client-protocol, with Gemini CLI 0.61.0, OpenCode 1.18.33 and Qwen Code 0.15.10"
EXTRA = "acp"
IMPORTS = ("acp",)
SIMULATED = False

COMMAND, ENVIRONMENT = "acp-command", "acp-env"
"""The settings of the configuration."""

_NEEDED = ("acp", "pydantic", "pydantic_core")
_CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_acp_client.py")
_PLAN = ".acp/plan.json"
_VARIABLES: Mapping[str, Mapping[str, str]] = {
    "openai": {
        "OPENAI_BASE_URL": "{base_url}/v1", "OPENAI_API_KEY": "{key}", "OPENAI_MODEL": "{model}"
    },
    "anthropic": {
        "ANTHROPIC_BASE_URL": "{base_url}", "ANTHROPIC_API_KEY": "{key}", "ANTHROPIC_MODEL": "{model}"
    },
    "gemini": {
        "GOOGLE_GEMINI_BASE_URL": "{base_url}", "GEMINI_API_KEY": "{key}", "GEMINI_MODEL": "{model}"
    },
}  # fmt: skip


def _folders() -> tuple[str, ...]:
    """The folders in which the packages of the client lie."""
    specs = (find_spec(name) for name in _NEEDED)
    return tuple(dict.fromkeys(os.path.dirname(os.path.dirname(spec.origin)) for spec in specs if spec and spec.origin))


READABLE = _folders()
"""Folders that the sandbox must show beside those of the system and of the interpreter."""


def command(job: Job) -> Command:
    """The client with its plan. Raises UsageError where the configuration names no agent."""
    words = _words(job.settings.get(COMMAND))
    if not words:
        raise UsageError(
            f"acp needs the agent's command line: set {COMMAND} under [effectiveness] in the configuration"
        )
    given = job.settings.get(ENVIRONMENT)
    protocol = "openai" if job.protocol == "openai-responses" else job.protocol
    variables = {**_VARIABLES.get(protocol, {}), **(given if isinstance(given, Mapping) else {})}
    program = job.program or shutil.which(words[0]) or words[0]
    plan = {
        "argv": [program, *(_filled(word, job) for word in words[1:])],
        "cwd": job.workspace,
        "prompt": job.prompt,
        "paths": READABLE,
        "version": __version__,
    }
    return Command(
        (sys.executable, "-I", "-S", _CLIENT, f"{job.home}/{_PLAN}"),
        {str(name): _filled(str(value), job) for name, value in variables.items()},
        (File(_PLAN, json.dumps(plan).encode("ascii")),),
        programs=(program,) if os.path.isabs(program) else (),
    )


def probe(job: Job) -> Command | None:
    """None: the protocol has no list of skills."""
    return None


def listed(output: ProgramOutput) -> tuple[str, ...] | None:
    """None: nothing is listed."""
    return None


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(shlex.split(value))
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else ()


def _filled(text: str, job: Job) -> str:
    """The text with what its names in braces stand for; other braces stay, as JSON has many."""
    for name in ("model", "base_url", "key", "workspace", "home"):
        text = text.replace("{" + name + "}", getattr(job, name))
    return text
