"""The tokens of an answer, read while it passes: from one JSON value or from a stream of events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from skill_health.bench.http.failures import Failure
from skill_health.bench.http.fetch import parsed
from skill_health.bench.http.json_values import mapping, objects, optional
from skill_health.bench.http.messages import Completion, ProviderProtocol, Usage

_LINE = 4 << 20
_WHOLE = 16 << 20
# The least that each protocol's reader takes for an answer: usage and model are put into it.
_SHELL: Mapping[str, Mapping[str, Any]] = {
    "anthropic": {"content": []},
    "openai": {"choices": [{}]},
    "openai-responses": {"status": "incomplete", "output": []},
    "gemini": {"candidates": [{}]},
}
_MARKS = (b'"usage', b'"error"')


class AnswerMeter:
    """Reads one answer. `feed` gives back what goes on to the agent.

    `raw` is the usage in the provider's words: the last that each number had, as all providers count up in a stream;
    `model` what it says that it is, `error` an error in the middle of a success. With `hide`, the event that has
    nothing but the usage is kept back: the agent did not ask for it, and may not expect it.
    """

    def __init__(self, wire: ProviderProtocol, streamed: bool, hide: bool = False) -> None:
        self.raw: dict[str, Any] = {}
        self.model: str | None = None
        self.error: Mapping[str, Any] = {}
        self.size = 0
        self._wire, self._streamed, self._hide = wire, streamed, hide and streamed
        self._parts: list[bytes] = []
        self._held = 0
        google = wire.protocol == "gemini"
        self._usage, self._name = ("usageMetadata", "modelVersion") if google else ("usage", "model")

    @property
    def usage(self) -> Usage | None:
        """The tokens, None where the answer has not told them."""
        if not self.raw:
            return None
        shell = _SHELL[self._wire.protocol]
        found = self._wire.completion({**shell, self._usage: self.raw})
        usage = replace(found.usage, raw=None) if isinstance(found, Completion) else Usage()
        return None if usage.input_tokens is None and usage.output_tokens is None else usage

    def feed(self, data: bytes) -> bytes:
        """Take in a piece of the answer, of any size."""
        self.size += len(data)
        if not self._streamed:
            self._keep(data, _WHOLE)
            return data
        head, newline, tail = data.rpartition(b"\n")
        if not newline:
            self._keep(data, _LINE)
            return b"" if self._hide else data
        lines = (b"".join(self._parts) + head).split(b"\n")
        self._parts, self._held = [tail], len(tail)
        shown = [line for line in lines if not self._line(line)]
        if not self._hide:
            return data
        return b"".join(line + b"\n" for line in shown)

    def finish(self) -> bytes:
        """The answer is at its end: the rest of it that has not gone on."""
        rest, whole = b"".join(self._parts), self._held <= _WHOLE
        self._parts, self._held = [], 0
        if self._streamed:
            hidden = self._line(rest)
            return rest if self._hide and not hidden else b""
        data = parsed(rest) if whole else None
        # Google sends a list of events where nobody asks for a stream of them.
        for item in objects(data) if isinstance(data, list) else [mapping(data)]:
            self._note(item)
        return b""

    def _keep(self, data: bytes, limit: int) -> None:
        """Keep a part, but of what is too long to be read no more than its length; what is hidden must go on later."""
        self._held += len(data)
        if self._held <= limit or self._hide:
            self._parts.append(data)

    def _line(self, line: bytes) -> bool:
        """Read one line of a stream; whether it is one to hide."""
        if not line.startswith(b"data:") or len(line) > _LINE:
            return False
        if self.model is not None and not any(mark in line for mark in _MARKS):
            return False
        data = parsed(line[5:].strip())
        if isinstance(data, Failure) or not isinstance(data, dict):
            return False
        self._note(data)
        return self._hide and data.get("choices") == [] and bool(data.get(self._usage))

    def _note(self, data: Mapping[str, Any]) -> None:
        """One JSON object of the answer: the whole of it, or an event that may carry a message or a response."""
        inner = mapping(data.get("message")) or mapping(data.get("response")) or data
        usage = mapping(inner.get(self._usage)) or mapping(data.get(self._usage))
        for key, value in usage.items():
            self.raw[key] = _later(self.raw.get(key), value)
        self.model = optional(inner.get(self._name)) or self.model
        error = data.get("error") or inner.get("error") or (data if data.get("type") == "error" else None)
        if error and isinstance(error, dict | str):
            self.error = {"error": error}


def _later(old: Any, new: Any) -> Any:
    """The later of two reports: numbers only grow, and nothing is no report."""
    if isinstance(old, int) and isinstance(new, int):
        return max(old, new)
    return new or old
