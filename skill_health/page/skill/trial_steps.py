"""The steps of a trajectory, from any JSON value: what is not as it should be is left out, and nothing raises."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from skill_health.page.skill.trial_text import TextExcerpt, cut, price

Kind = Literal["message", "reasoning", "call", "result"]
MOST_STEPS = 40
_LENGTHS = (600, 300, 150, 80)
"""How many characters of each piece are shown, the longest first for which all steps fit."""
_MOST_PIECES = 12
_STEP, _PIECE = 120, 130
"""Bytes of HTML around a step and around a piece of it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Something that was said, thought, called or given back. `label` names the tool."""

    kind: Kind
    label: str
    text: TextExcerpt


@dataclass(frozen=True, slots=True)
class StepView:
    """A step: its number from 1, who speaks, and what there is of it; `more` counts the pieces left out."""

    number: int
    source: str
    pieces: tuple[Piece, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Steps:
    """The first steps and the last ones; `left` counts those left out between them."""

    first: tuple[StepView, ...] = ()
    last: tuple[StepView, ...] = ()
    left: int = 0

    @property
    def price(self) -> int:
        """Bytes of HTML that the steps take, about."""
        return sum(map(_price, self.first + self.last))


def steps(trajectory: Any, room: int) -> Steps:
    """As many steps as fit into `room` bytes of HTML: the longest pieces first, then the fewest steps left out."""
    told = _list(_get(trajectory, "steps"))
    # The end of a long story says how it failed, and its beginning what was asked.
    head, tail = told[: MOST_STEPS * 3 // 4], told[MOST_STEPS * 3 // 4 :][-(MOST_STEPS // 4) :]
    made: list[StepView] = []
    for most in _LENGTHS:
        made = [_step(number, step, most) for number, step in _numbered(head, tail, len(told))]
        if sum(map(_price, made)) <= room:
            return _split(made, len(told))
    chosen: list[StepView] = []
    for step in _from_both_ends(made):
        room -= _price(step)
        if room < 0:
            break
        chosen.append(step)
    return _split(sorted(chosen, key=lambda step: step.number), len(told))


def _numbered(head: list[Any], tail: list[Any], total: int) -> Iterator[tuple[int, Any]]:
    yield from enumerate(head, 1)
    yield from enumerate(tail, total - len(tail) + 1)


def _from_both_ends(made: list[StepView]) -> Iterator[StepView]:
    """Two of the beginning, then the last, and so on."""
    low, high = 0, len(made)
    while low < high:
        yield from made[low : min(low + 2, high)]
        low = min(low + 2, high)
        if low < high:
            high -= 1
            yield made[high]


def _split(made: list[StepView], total: int) -> Steps:
    at = next((at for at, step in enumerate(made) if step.number != at + 1), len(made))
    return Steps(tuple(made[:at]), tuple(made[at:]), total - len(made))


def _price(step: StepView) -> int:
    return _STEP + sum(_PIECE + price(piece.label) + price(piece.text.text) for piece in step.pieces)


def _step(number: int, told: Any, most: int) -> StepView:
    pieces = list(_pieces(told, most))
    source = _get(told, "source")
    name = source if isinstance(source, str) else "unknown"
    return StepView(number, name[:40], tuple(pieces[:_MOST_PIECES]), max(0, len(pieces) - _MOST_PIECES))


def _pieces(told: Any, most: int) -> Iterator[Piece]:
    for kind, key in _SAID:
        text = _text(_get(told, key))
        if text.strip():
            yield Piece(kind, "", cut(text, most))
    for call in _list(_get(told, "tool_calls")):
        yield Piece("call", _text(_get(call, "function_name"))[:80], cut(_arguments(_get(call, "arguments")), most))
    for result in _list(_get(_get(told, "observation"), "results")):
        yield Piece("result", "", cut(_text(_get(result, "content")), most))


_SAID: tuple[tuple[Kind, str], ...] = (("reasoning", "reasoning_content"), ("message", "message"))


def _arguments(value: Any) -> str:
    """The arguments of a call: a single text as it is (a command), everything else as JSON."""
    if isinstance(value, dict) and len(value) == 1:
        ((key, only),) = value.items()
        if isinstance(only, str):
            return f"{key}: {only}"
    return "" if value is None or value == {} else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "(nested too deep to be shown)"


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
