"""The steps of a trajectory (ATIF), whoever wrote it: who said, thought, called and got what, and where a skill opens.

A trajectory is a stranger's JSON: whatever it holds, reading it never raises, and everything in it becomes text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from skill_health.documents.effect_result import TrialResult
from skill_health.text.terminal import one_line

PieceKind = Literal["message", "reasoning", "call", "result"]
_SAID: tuple[tuple[PieceKind, str], ...] = (("reasoning", "reasoning_content"), ("message", "message"))
_SHELL = ("shell: ", "shell, which printed it: ")
_WIDTH = 160
_LONGEST_SCRIPT, _MOST_GIVEN = 1 << 16, 64


@dataclass(frozen=True, slots=True)
class ToldPiece:
    """Something that was said, thought, called or given back. `label` names the tool, `opened` the skills it opens."""

    kind: PieceKind
    label: str
    text: str
    opened: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToldStep:
    """A step: its number from 1, who speaks, and what there is of it."""

    number: int
    source: str
    pieces: tuple[ToldPiece, ...]

    @property
    def opened(self) -> tuple[str, ...]:
        """The skills that are opened in it."""
        return tuple(name for piece in self.pieces for name in piece.opened)

    @property
    def text(self) -> str:
        """All of it as lines: what two steps are compared by."""
        return "\n".join(f"{piece.kind} {piece.label}".rstrip() + f"\n{piece.text}" for piece in self.pieces)


def raw_steps(trajectory: Any) -> list[Any]:
    """The steps of a trajectory as they stand there; none where it is no trajectory."""
    return list_of(value_of(trajectory, "steps"))


@dataclass(frozen=True, slots=True)
class SkillOpenings:
    """By what calls a trial opened its skills, as its result says: pairs of a line of evidence and a skill."""

    known: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, line: TrialResult) -> SkillOpenings:
        """Those of a result. Where its lists are of different length, it is not known which call opened which."""
        paired = len(line.evidence) == len(line.invocations)
        names = line.invocations if paired else ("a skill",) * len(line.evidence)
        return cls(tuple(zip(line.evidence, names, strict=True)))

    def by(self, name: str, arguments: Any, failed: bool) -> tuple[str, ...]:
        """The skills that a call opens."""
        if not self.known:
            return ()
        given = list(_given(arguments, 0))[:_MOST_GIVEN]
        found = (skill for evidence, skill in self.known if _is_evidence(evidence, name, given, failed))
        return tuple(dict.fromkeys(found))


UNMARKED = SkillOpenings()


def _is_evidence(evidence: str, name: str, given: list[str], failed: bool) -> bool:
    """Whether a line of evidence is about a call: it is made of the tool and one argument, or of a part of a script."""
    for lead in _SHELL:
        if evidence.startswith(lead):
            part = evidence.removeprefix(lead).removesuffix("…")
            return bool(part) and any(part in one_line(script, _LONGEST_SCRIPT) for script in given)
    if failed:
        return False
    said = (way for value in given for way in (value, value.strip().lstrip("/").rpartition(":")[2]))
    return any(one_line(f"{name} {value}", _WIDTH) == evidence for value in said)


def _given(value: Any, depth: int) -> Iterator[str]:
    """The texts in the arguments of a call, and a list of words as the command that they are."""
    if isinstance(value, str):
        yield value[:_LONGEST_SCRIPT]
    elif isinstance(value, Mapping) and depth < 3:
        for each in value.values():
            yield from _given(each, depth + 1)
    elif isinstance(value, list) and depth < 3:
        words = [each for each in value if isinstance(each, str)]
        if words and len(words) == len(value):
            yield " ".join(words)[:_LONGEST_SCRIPT]
        for each in value:
            yield from _given(each, depth + 1)


def told_step(number: int, told: Any, openings: SkillOpenings = UNMARKED) -> ToldStep:
    """A step as text."""
    source = value_of(told, "source")
    return ToldStep(number, source if isinstance(source, str) else "unknown", tuple(_pieces(told, openings)))


def _pieces(told: Any, openings: SkillOpenings) -> Iterator[ToldPiece]:
    for kind, key in _SAID:
        text = as_text(value_of(told, key))
        if text.strip():
            yield ToldPiece(kind, "", text)
    failed = list_of(value_of(value_of(told, "extra"), "failed_calls"))
    for call in list_of(value_of(told, "tool_calls")):
        name, arguments = as_text(value_of(call, "function_name")), value_of(call, "arguments")
        opened = openings.by(name, arguments, value_of(call, "tool_call_id") in failed)
        yield ToldPiece("call", name, _arguments(arguments), opened)
    for result in list_of(value_of(value_of(told, "observation"), "results")):
        yield ToldPiece("result", "", as_text(value_of(result, "content")))


def _arguments(value: Any) -> str:
    """The arguments of a call: a single text as it is (a command), everything else as JSON."""
    if isinstance(value, dict) and len(value) == 1:
        ((key, only),) = value.items()
        if isinstance(only, str):
            return f"{key}: {only}"
    return "" if value is None or value == {} else as_text(value)


def as_text(value: Any) -> str:
    """A JSON value as text: a text as it is, null as nothing, all else as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "(nested too deep to be shown)"


def value_of(value: Any, key: str) -> Any:
    """The value of a key; None where there is none, or where this is no object."""
    return value.get(key) if isinstance(value, Mapping) else None


def list_of(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []
