"""Raw text -> a ranking, or by name what is wrong with it. Nothing is guessed and nothing is repaired.

A code fence around the whole answer is tolerated and noted, since it loses nothing. Everything else is a failure of the
format: in text mode that is a property of the model which a host would feel, so it is counted and not hidden.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from skill_health.router.records import NONE, RankedReply
from skill_health.text.patterns import lazy

MAX_CHARS = 1 << 16
MAX_RATIONALE = 2_000
KINDS = (
    "confidence_range", "duplicate", "empty_answer", "empty_ranking", "missing_key", "not_an_object", "not_json",
    "prose", "too_long", "unknown_skill", "wrong_type",
)  # fmt: skip
_FENCE = lazy(r"```[A-Za-z]{0,10}[ \t]*\n(.*)\n[ \t]*```", 16)


def read_answer(text: str, names: Sequence[str], none_allowed: bool = True) -> RankedReply:
    """Read one answer against the names that were shown. Never raises."""
    stripped = text.strip()
    if not stripped:
        return RankedReply(kinds=("empty_answer",))
    if len(stripped) > MAX_CHARS:
        return RankedReply(kinds=("too_long",))
    notes: tuple[str, ...] = ()
    if fenced := _FENCE.fullmatch(stripped):
        stripped, notes = fenced[1].strip(), ("fenced",)
    try:
        data = json.loads(stripped, parse_constant=_refuse, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return RankedReply(kinds=(_unreadable(stripped),), notes=notes)
    if not isinstance(data, dict):
        return RankedReply(kinds=("not_an_object",), notes=notes)
    return _checked(data, set(names) | ({NONE} if none_allowed else set()), notes)


def _checked(data: dict[str, Any], known: set[str], notes: tuple[str, ...]) -> RankedReply:
    kinds = {"missing_key" for key in ("ranking", "confidence", "rationale") if key not in data}
    ranking = data.get("ranking", [])
    ranking = [ranking] if ranking == NONE else ranking
    if not isinstance(ranking, list) or not all(isinstance(name, str) for name in ranking):
        kinds.add("wrong_type")
        ranking = []
    elif not ranking and "ranking" in data:
        kinds.add("empty_ranking")
    if len(set(ranking)) < len(ranking):
        kinds.add("duplicate")
    if not known.issuperset(ranking):
        kinds.add("unknown_skill")
    confidence, rationale = data.get("confidence"), data.get("rationale")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float | None):
        kinds.add("wrong_type")
        confidence = None
    if confidence is not None and not 0 <= confidence <= 1:
        kinds.add("confidence_range")
        confidence = None
    if not isinstance(rationale, str | None):
        kinds.add("wrong_type")
        rationale = None
    if "confidence" in data and data["confidence"] is None:
        kinds.add("wrong_type")
    return RankedReply(
        ranking=() if kinds else tuple(ranking),
        confidence=None if confidence is None else float(confidence),
        rationale=(rationale or "")[:MAX_RATIONALE].encode("utf-8", "replace").decode(),
        kinds=tuple(sorted(kinds)),
        notes=notes,
    )


def _unreadable(text: str) -> str:
    """An answer with text around it is prose; anything else that begins as an object or a list is broken JSON."""
    if text[0] not in "{[":
        return "prose"
    try:
        json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unique).raw_decode(text)
    except (ValueError, RecursionError):
        return "not_json"
    return "prose"


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is repeated")
    return found
