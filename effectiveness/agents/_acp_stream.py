"""What the client of the Agent Client Protocol prints, and how it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from skill_health.bench.http.json_values import count, mapping, objects, optional, text
from skill_health.effectiveness.agents._api import Failure, Job, ProgramOutput, StreamReading, ToolUse, TrajectoryStep
from skill_health.effectiveness.agents._failing import api_error, failed
from skill_health.effectiveness.agents._failures import without_end
from skill_health.effectiveness.agents._invocation import opened
from skill_health.effectiveness.agents._stream import read_stream, words_of
from skill_health.effectiveness.agents._transcript import Transcript
from skill_health.effectiveness.records import SkillCopy
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
