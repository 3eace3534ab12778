"""A sound answer, broken in each way that `answers` tells apart."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from skill_health.router.run.outcome import MAX_CHARS


def broken(answer: Mapping[str, Any], kind: str, names: Collection[str]) -> str:
    """The text of `answer` with exactly the failure of this kind; `names` are those that were shown."""
    changed = dict(answer)
    if kind == "missing_key":
        del changed["rationale"]
    elif kind == "wrong_type":
        changed["confidence"] = "high"
    elif kind == "confidence_range":
        changed["confidence"] = 1.5
    elif kind == "empty_ranking":
        changed["ranking"] = []
    elif kind == "duplicate":
        changed["ranking"] = [*answer["ranking"], answer["ranking"][0]]
    elif kind == "unknown_skill":
        changed["ranking"] = [*answer["ranking"], max(names, key=len, default="skill") + "-unheard-of"]
    elif kind == "too_long":
        changed["rationale"] = "and so on " * (MAX_CHARS // 10 + 1)
    text = json.dumps(changed, ensure_ascii=True)
    if kind == "empty_answer":
        return ""
    if kind == "prose":
        return f"I would load {answer['ranking'][0]} for this."
    if kind == "not_json":
        return text[:-1]
    return json.dumps(answer["ranking"]) if kind == "not_an_object" else text
