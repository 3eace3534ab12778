"""One line of the history: what a daily run found, in the form that later runs compare with.

`core/schemas/history.schema.json` says the same to other programs. A line of this version may hold keys that are
not known here; they are passed over. A line that lacks one, or has it in another form, is no line of the history.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from skill_health.text.patterns import lazy

SCHEMA = "skill-health/history/1"
_MOST = 10**12  # of anything that is counted: more is damage
_TIME = lazy(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_DAY = lazy(r"\d{4}-\d\d-\d\d")
_COMMIT = lazy(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_KEY = lazy(r"(?:error|warning|info):[A-Z]{2}[0-9]{3}:[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class SkillLine:
    """One skill on one day.

    `score` and `flagged` are None where the skill was not scored, a component where it did not apply; `tokens` and
    `lines` where the file could not be read. `evidence` are the counts behind each component. `description` is a hash
    of what the host lists beside the name (None: there is none), `listed` whether the host lists the skill at all.
    `findings` are the content keys, sorted; one stands there as often as it was found.
    """

    name: str
    score: float | None = None
    flagged: bool | None = None
    components: Mapping[str, float | None] = field(default_factory=dict)
    evidence: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    description: str | None = None
    listed: bool = True
    tokens: int | None = None
    lines: int | None = None
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectionSummary:
    """The collection on one day. `errors`, `warnings` and `infos` count findings, in a baseline or not."""

    skills: int = 0
    mean: float | None = None
    min: float | None = None
    max: float | None = None
    flagged: int | None = None
    errors: int = 0
    warnings: int = 0
    infos: int = 0


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """One run. `paths` are what was asked for, relative to the root; `skills` is keyed by the path of SKILL.md.

    `other` are the findings of no skill, such as those of registries. `stale` and `due` are claim ids; both are None
    where the collection has no registry of claims. `configuration` and `rules` are hashes of what has to agree
    before two lines can be compared.
    """

    time: str
    as_of: str
    version: str
    profile: str
    configuration: str
    rules: str
    paths: tuple[str, ...] = (".",)
    commit: str | None = None
    dirty: bool | None = None
    summary: CollectionSummary = field(default_factory=CollectionSummary)
    skills: Mapping[str, SkillLine] = field(default_factory=dict)
    other: tuple[str, ...] = ()
    stale: tuple[str, ...] | None = None
    due: tuple[str, ...] | None = None


def to_record(line: HistoryLine) -> dict[str, Any]:
    """The JSON object of a line, as the schema has it."""
    record = asdict(line)
    stale, due = record.pop("stale"), record.pop("due")
    return {"schema": SCHEMA, **record, "claims": None if stale is None else {"stale": stale, "due": due or ()}}


def from_record(record: Mapping[str, Any], skills: bool = True) -> HistoryLine:
    """The line that a JSON object is. Raises ValueError where it is none of this version.

    Not `skills`: the line without its skills, which are not looked at either; a long history is read much faster so.
    """
    if record.get("schema") != SCHEMA:
        raise ValueError("not a line of this version")
    values = _checked(record, _LINE)
    claims = values.pop("claims")
    own = sorted(values["skills"].items()) if skills else ()
    known = {} if claims is None else _checked(claims, {"stale": _texts, "due": _texts})
    return HistoryLine(
        **values
        | {"summary": CollectionSummary(**_checked(values["summary"], _SUMMARY))}
        | {"skills": {path: SkillLine(**_checked(skill, _SKILL)) for path, skill in own}}
        | known
    )


Check = Callable[[Any], bool]


def _checked(data: Any, kinds: Mapping[str, Check]) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ValueError("not an object")
    for key, fits in kinds.items():
        if key not in data or not fits(data[key]):
            raise ValueError(f"{key} is missing, or of the wrong kind")
    return {key: tuple(data[key]) if isinstance(data[key], list) else data[key] for key in kinds}


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _object(value: Any) -> bool:
    return isinstance(value, dict)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST


def _number(value: Any) -> bool:
    # The plan's own profile does not clamp its ratio of claims, so a score may lie above 1.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _MOST


def _matches(pattern: re.Pattern[str]) -> Check:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _or_null(fits: Check) -> Check:
    return lambda value: value is None or fits(value)


def _list_of(fits: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _map_of(fits: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


_texts = _list_of(_text)
_keys = _list_of(_matches(_KEY))
_LINE: dict[str, Check] = {
    "time": _matches(_TIME), "as_of": _matches(_DAY), "version": _text, "profile": _text, "configuration": _text,
    "rules": _text, "paths": _texts, "commit": _or_null(_matches(_COMMIT)), "dirty": _or_null(_flag),
    "summary": _object, "skills": _object, "other": _keys,
    "claims": _or_null(_map_of(_texts)),
}  # fmt: skip
_SUMMARY: dict[str, Check] = {
    "skills": _whole, "mean": _or_null(_number), "min": _or_null(_number), "max": _or_null(_number),
    "flagged": _or_null(_whole), "errors": _whole, "warnings": _whole, "infos": _whole,
}  # fmt: skip
_SKILL: dict[str, Check] = {
    "name": _text, "score": _or_null(_number), "flagged": _or_null(_flag), "components": _map_of(_or_null(_number)),
    "evidence": _map_of(_map_of(_number)), "counts": _map_of(_whole), "description": _or_null(_text), "listed": _flag,
    "tokens": _or_null(_whole), "lines": _or_null(_whole), "findings": _keys,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlanLine:
    """What such a line says of the collection, scored as the profile plan-v2.3.0 scores it. It is undated."""

    skills: int
    mean: float
    min: float
    max: float
    flagged: int


def plan_line(record: Mapping[str, Any]) -> PlanLine | None:
    """The line that a JSON object is; None where it is none.

    The checker writes 0.0 for a collection without skills; such a line measures nothing, and is none.
    """
    summary = record.get("summary")
    if "schema" in record or not isinstance(record.get("ok"), bool) or not isinstance(summary, dict):
        return None
    counts = [summary.get(key) for key in ("skill_count", "flagged")]
    scores = [summary.get(key) for key in ("corpus_score", "min_score", "max_score")]
    if not all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= _MOST for n in counts) or not counts[0]:
        return None
    # Its ratio of claims is not clamped, so a score may lie above 1.
    if not all(isinstance(n, (int, float)) and not isinstance(n, bool) and 0 <= n <= _MOST for n in scores):
        return None
    mean, low, high = (float(n) for n in scores if n is not None)
    return PlanLine(int(counts[0]), mean, low, high, int(counts[1] or 0))
