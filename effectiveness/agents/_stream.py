"""What an agent printed, as JSON objects: whatever else stands between them is counted and never an error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from skill_health.bench.http.messages import Usage
from skill_health.core.strict_json import is_too_deep
from skill_health.effectiveness.agents._api import ToolUse, TrajectoryStep
from skill_health.text.terminal import one_line

MOST_EVENTS = 200_000
LONGEST_LINE = 16 << 20
_DEEPEST = 64
_PLAIN, _PLAIN_WIDTH = 20, 300


@dataclass(frozen=True, slots=True)
class JsonStream:
    """The objects of a stream of JSON lines, in order.

    `junk` counts the lines that are not blank and no JSON object (a line that was cut off is one of them), or beyond
    the limits. `plain` are the first of them that are text, cut and safe to print: where agents say why they failed.
    """

    events: tuple[Mapping[str, Any], ...] = ()
    junk: int = 0
    plain: tuple[str, ...] = ()


def read_stream(raw: bytes, most: int = MOST_EVENTS) -> JsonStream:
    """Read JSON lines. Never raises; numbers that JSON does not have become None, halves of surrogate pairs U+FFFD."""
    events: list[Mapping[str, Any]] = []
    plain: list[str] = []
    junk = 0
    for line in raw.split(b"\n"):
        if not line.strip():
            continue
        event = _object(line) if len(line) <= LONGEST_LINE and len(events) < most else None
        if event is not None:
            events.append(event)
            continue
        junk += 1
        if len(plain) < _PLAIN and not line.lstrip().startswith((b"{", b"[")):
            plain.append(one_line(line[: 4 * _PLAIN_WIDTH].decode("utf-8", "replace"), _PLAIN_WIDTH))
    return JsonStream(tuple(events), junk, tuple(plain))


def words_of(value: Any) -> str:
    """The text in a content that is text, or blocks with `text` in them, or a list of both; "" for anything else."""
    return "\n".join(_words(value, 0))


def _words(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < 4:
        for item in value:
            yield from _words(item, depth + 1)
    elif isinstance(value, dict) and depth < 4:
        for key in ("text", "content"):
            if key in value:
                yield from _words(value[key], depth + 1)


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        data = json.loads(line.decode("utf-8", "replace"), parse_constant=lambda _: None)
        if b"\\u" in line:
            data = json.loads(_paired(json.dumps(data, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and not is_too_deep(data, _DEEPEST) else None


def _paired(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@dataclass(slots=True)
class _Use:
    name: str
    arguments: Mapping[str, Any]
    result: str | None = None
    failed: bool | None = None


@dataclass(slots=True)
class _Draft:
    at: str | None
    said: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    tools: dict[str, _Use] = field(default_factory=dict)
    model: str | None = None
    usage: Usage | None = None

    def step(self) -> TrajectoryStep:
        uses = tuple(ToolUse(key, use.name, use.arguments, use.result, use.failed) for key, use in self.tools.items())
        return TrajectoryStep("agent", "".join(self.said), uses, "".join(self.thought), self.model, self.usage, self.at)


class Transcript:
    """Steps in the making. An answer ends where `close` is called.

    Calls of tools are told apart by their ids; a call that is told of twice is one, and one without an id gets one.
    """

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._uses: dict[str, _Use] = {}
        self._open = False

    def say(self, words: str, at: str | None = None) -> None:
        """Words of the answer."""
        if words:
            self._last(at).said.append(words)

    def think(self, words: str, at: str | None = None) -> None:
        """Words that the model has for itself."""
        if words:
            self._last(at).thought.append(words)

    def call(self, call_id: str, name: str, arguments: Mapping[str, Any], at: str | None = None) -> None:
        """A call of a tool. Told of again, the later name and arguments hold where there are any."""
        key = call_id or f"call-{len(self._uses) + 1}"
        known = self._uses.get(key)
        if known is None:
            known = self._uses[key] = self._last(at).tools[key] = _Use(name, arguments)
        known.name, known.arguments = name or known.name, arguments or known.arguments

    def give(self, call_id: str, result: str | None, failed: bool | None = None) -> None:
        """What a call gave; the first word on it holds, and one on no call is none."""
        use = self._uses.get(call_id)
        if use is not None and use.result is None and use.failed is None:
            use.result, use.failed = result, failed

    def note(self, model: str | None = None, usage: Usage | None = None) -> None:
        """What is known of the last answer besides; nothing where there is none."""
        if self._drafts:
            last = self._drafts[-1]
            last.model, last.usage = model or last.model, usage or last.usage

    def close(self) -> None:
        """The answer is complete: what comes next begins another."""
        self._open = False

    def steps(self) -> tuple[TrajectoryStep, ...]:
        """The steps so far."""
        return tuple(draft.step() for draft in self._drafts)

    def _last(self, at: str | None) -> _Draft:
        if not self._open:
            self._drafts.append(_Draft(at))
            self._open = True
        return self._drafts[-1]
