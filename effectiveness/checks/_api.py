"""What a check is given, what it looks at, and what it says.

A check is a module of this package whose name has no underscore in front. It has

    TITLE                      what it decides, in a few words
    KEYS                       the keys that it may be given; those that end in "!" must be there
    decide(given, evidence)    its verdict over the evidence of one trial

It follows no link, opens nothing special, and raises nothing for what an agent may have left.
"""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Literal, Protocol, cast

from skill_health.core.plugins import plugin_names
from skill_health.core.strict_json import kind_of
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness import checks as package
from skill_health.effectiveness.agents._api import ProgramOutput
from skill_health.effectiveness.checks._json import OPERATORS, bad_place
from skill_health.effectiveness.checks._patterns import bad_pattern
from skill_health.effectiveness.rubric.model import Check
from skill_health.effectiveness.workspace.tree import FolderTree, TreeEntry, contents

MAX_TEXT = 4 << 20
_SHOWN = 80
_YES = "yes"

CheckAnswer = Literal["met", "not_met", "cannot_tell"]


@dataclass(frozen=True, slots=True)
class CheckDecision:
    """What a check says, and why in one line. "cannot_tell" is missing data, never a failure."""

    answer: CheckAnswer
    why: str = ""


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A call of a tool as the trajectory has it; `text` is all that it was given. `failed` is None where unknown."""

    name: str
    text: str
    failed: bool | None = None


@dataclass(frozen=True, slots=True)
class TrialEvidence:
    """What is kept of a trial. `calls` is None where no trajectory could be read; `figures` are those of its result.

    `run` starts a command in the sandbox with the workspace as the current directory, within so many seconds; it gives
    None where it could not be started. `texts` remembers files that were read.
    """

    workspace: str
    tree: FolderTree
    final: str
    calls: tuple[TracedCall, ...] | None
    figures: TrialResult
    run: Callable[[str, float], Awaitable[ProgramOutput | None]]
    texts: dict[str, str | None] = field(default_factory=dict)

    def text(self, entry: TreeEntry) -> str | None:
        """The text of a file of the workspace, with bytes that are none replaced; None where it cannot be read."""
        if entry.path not in self.texts:
            raw = contents(self.workspace, entry, MAX_TEXT)
            self.texts[entry.path] = None if raw is None else raw.decode("utf-8-sig", "replace")
        return self.texts[entry.path]


@dataclass(frozen=True, slots=True)
class Given:
    """What a check is given, by keys of which some may stand several times."""

    pairs: tuple[tuple[str, str], ...]

    def texts(self, key: str) -> tuple[str, ...]:
        """All values of a key, in their order."""
        return tuple(value for name, value in self.pairs if name == key)

    def text(self, key: str, otherwise: str = "") -> str:
        """The first value of a key."""
        return next(iter(self.texts(key)), otherwise)

    def flag(self, key: str) -> bool:
        """Whether a key says yes."""
        return self.text(key) == _YES

    def number(self, key: str) -> float | None:
        """The number of a key; None where it is not given."""
        return float(found) if (found := self.text(key)) else None

    @property
    def negated(self) -> bool:
        """Whether the opposite is asked for."""
        return self.flag("absent")

    def settle(self, found: bool, what: str) -> CheckDecision:
        """The verdict where something was found or not, turned round where its absence is asked for."""
        said = f"{what}: {'found' if found else 'not found'}"
        return CheckDecision("met" if found != self.negated else "not_met", said)


class CheckKind(Protocol):
    """A check's module."""

    TITLE: str
    KEYS: tuple[str, ...]

    async def decide(self, given: Given, evidence: TrialEvidence) -> CheckDecision:
        """Its verdict."""


@cache
def check_kinds() -> Mapping[str, CheckKind]:
    """Every kind of check by the name of its module."""
    names = plugin_names(package.__path__)
    return {name: cast(CheckKind, import_module(f"{package.__name__}.{name}")) for name in names}


_NUMBERS = ("least", "most", "exit", "seconds")
_JSON = ("value", "schema")
"""Keys of a value of JSON: its text, or the value itself where it is no text."""


def make_check(kind: str, **given: Any) -> Check:
    """A check of a kind; a list gives its key several times, None and False leave it out, True is yes.

    Raises ValueError for a kind that there is none of, keys that it does not have, what is missing, values that are
    neither text nor number, patterns that are none and numbers that are none: what somebody wrote is refused when it is
    read, not when a trial was paid for.
    """
    if kind not in check_kinds():
        raise ValueError(f"there is no check {kind[:40]!r}; there are {', '.join(check_kinds())}")
    pairs = tuple(sorted(_pairs(given), key=lambda pair: pair[0]))
    keys = check_kinds()[kind].KEYS
    known = {key.removesuffix("!") for key in keys}
    for key, value in pairs:
        if key not in known:
            raise ValueError(f"a check {kind} has no key {key[:40]!r}; it has {', '.join(sorted(known))}")
        if why := _bad_value(key, value):
            raise ValueError(why)
    missing = [key[:-1] for key in keys if key.endswith("!") and key[:-1] not in dict(pairs)]
    if missing:
        raise ValueError(f"a check {kind} needs {' and '.join(missing)}")
    return Check(kind, pairs)


def _pairs(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in given.items():
        if key in _JSON and value is not None and not isinstance(value, str):
            yield key, json.dumps(value)
            continue
        for each in value if isinstance(value, list | tuple) else (value,):
            if each is not None and each is not False:
                yield key, _YES if each is True else _text_of(key, each)


def _text_of(key: str, value: Any) -> str:
    """A text or a number as text. Raises ValueError for anything else."""
    if not isinstance(value, str | int | float):
        raise ValueError(f"{key} is {kind_of(value)}, not a text or a number")
    return value if isinstance(value, str) else f"{value:g}"


def _bad_value(key: str, value: str) -> str:
    """Why a value cannot be that of its key, "" where it can."""
    if key in ("pattern", "except", "name"):
        why = bad_pattern(value)
        return f"the pattern {value[:_SHOWN]!r} {why}" if why else ""
    if key in _NUMBERS and not _is_number(value):
        return f"{key} is {value[:_SHOWN]!r}, not a number"
    if key == "operator" and value not in OPERATORS:
        return f"there is no operator {value[:_SHOWN]!r}; there are {', '.join(OPERATORS)}"
    if key in _JSON:
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return f"{key} is not JSON"
    return bad_place(value) if key == "at" else ""


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


async def decide_check(check: Check, evidence: TrialEvidence) -> CheckDecision:
    """The verdict of a check over a trial."""
    return await check_kinds()[check.kind].decide(Given(check.given), evidence)


def traced_calls(trajectory: bytes) -> tuple[TracedCall, ...] | None:
    """The calls of tools in a trajectory as it is kept (ATIF); None for what is none."""
    try:
        data = json.loads(trajectory)
        return tuple(_calls(data["steps"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _calls(steps: Iterable[Mapping[str, Any]]) -> Iterator[TracedCall]:
    for step in steps:
        calls, failed = step.get("tool_calls") or (), (step.get("extra") or {}).get("failed_calls") or ()
        known = {each.get("source_call_id") for each in (step.get("observation") or {}).get("results") or ()}
        for call in calls:
            number = call.get("tool_call_id")
            ended = True if number in failed else False if number in known else None
            yield TracedCall(str(call["function_name"]), "\n".join(_leaves(call.get("arguments"))), ended)


def _leaves(value: Any) -> Iterator[str]:
    """The texts in the arguments of a call, so that a command reads as it was written."""
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif value is not None:
        yield value if isinstance(value, str) else json.dumps(value)
