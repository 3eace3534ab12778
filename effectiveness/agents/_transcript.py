"""Events of a stream -> the steps of a trajectory, one for each answer of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skill_health.bench.http.messages import Usage
from skill_health.effectiveness.agents._api import ToolUse, TrajectoryStep


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


def summed(usages: Sequence[Usage]) -> Usage:
    """The tokens of a whole trial from those of its answers; what any answer does not say is not known of the whole."""

    def total(values: Sequence[int | None]) -> int | None:
        known = [value for value in values if value is not None]
        return sum(known) if known and len(known) == len(values) else None

    return Usage(
        total([usage.input_tokens for usage in usages]),
        total([usage.output_tokens for usage in usages]),
        total([usage.cached_tokens for usage in usages]),
        total([usage.cache_write_tokens for usage in usages]),
        total([usage.reasoning_tokens for usage in usages]),
    )
