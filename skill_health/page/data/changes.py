"""What has changed since the page that is about to be overwritten: its state is read back, from it or from beside it.

The page holds its state itself. A page that is not kept, as in a scheduled job, leaves it in a small file of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from skill_health.core.strict_json import escape_surrogates
from skill_health.documents.skill_record import SkillRecord
from skill_health.page.data.loading import loads, read_file
from skill_health.page.model import SkillVerdict
from skill_health.page.verdict.ranking import effect_rank, route_rank

STATE = "skill-health/page-state/1"
HEAD = f'{{"schema": "{STATE}",'
MARKER = 'id="skill-health-state"'
FOREIGN = "what stands in the place of the last page is no page of skill-health: what has changed is not known"
_MOST = 64 << 20
_TEXTS = ("name", "verdict", "recall_model", "effect_verdict")
_NUMBERS = ("score", "recall", "effect", "tokens", "stale_claims")
FIELDS = ("verdict", "score", "recall_model", "recall", "effect_verdict", "effect", "tokens", "stale_claims", "name")


def read_page_file(path: str) -> str | None:
    """The text of a page of ours, damaged or not; "" where there is none yet, None where something else is there."""
    if not os.path.lexists(path):
        return ""
    try:
        raw = read_file(path, _MOST)
    except OSError:
        return None
    text = None if raw is None else raw.decode("utf-8", "replace")
    return text if text is not None and (not text.strip() or MARKER in text) else None


def state_file(path: str) -> str:
    """Where the state of a page stands once more: index.state.json for index.html."""
    return f"{os.path.splitext(path)[0]}.state.json"


def state_text(state: Mapping[str, Any]) -> str:
    """The content of that file."""
    return f"{HEAD}{json.dumps({key: state[key] for key in state if key != 'schema'}, sort_keys=True, indent=1)[1:]}\n"


def read_state(path: str) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """The state of a page, None where there is none, and a note where it is damaged. Never raises."""
    text = read_page_file(path)
    if text is None:
        return None, (FOREIGN,)
    if text.strip():
        start = text.find(">", text.index(MARKER)) + 1
        end = text.find("</script", start)
        told = text[start:end] if start and end >= 0 else ""
    else:
        try:
            raw = read_file(state_file(path), _MOST)
        except OSError:
            raw = None
        if raw is None:
            return None, ()
        told = raw.decode("utf-8", "replace")
    try:
        return _checked(loads(told.encode()), True), ()
    except (ValueError, RecursionError):
        return None, ("the state in the last page is damaged: what has changed since is not known",)


def with_basis(now: Mapping[str, Any], old: Mapping[str, Any] | None) -> dict[str, Any]:
    """The state to keep in the page: that of now, and as `previous` the one that it is compared with.

    Where nothing has changed since the last page, what that was compared with stays: the same input makes the same
    page again.
    """
    basis: Mapping[str, Any] | None = old
    if old is not None and old["skills"] == now["skills"]:
        basis = old["previous"]
    previous = None if basis is None else {key: basis[key] for key in ("as_of", "version", "skills")}
    return {**now, "previous": previous}


def changes(state: Mapping[str, Any]) -> dict[str, Any] | None:
    """The part `changes` of the page's document; None where there is nothing to compare with."""
    before = state["previous"]
    if before is None:
        return None
    old, new = before["skills"], state["skills"]
    both = [path for path in sorted(new) if path in old]
    skills = [{"path": path, "name": new[path]["name"], "what": _what(old[path], new[path])} for path in both]
    return {
        "since": {"as_of": before["as_of"], "version": before["version"]},
        "added": [{"path": path, "name": new[path]["name"]} for path in sorted(new.keys() - old.keys())],
        "removed": [{"path": path, "name": old[path]["name"]} for path in sorted(old.keys() - new.keys())],
        "skills": [each for each in skills if each["what"]],
    }


def _what(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"field": key, "before": old[key], "after": new[key]} for key in FIELDS if old[key] != new[key]]


def _checked(value: Any, outer: bool) -> dict[str, Any]:
    """A state as far as it is used. Raises ValueError where it is none."""
    if not isinstance(value, dict) or (outer and value.get("schema") != STATE):
        raise ValueError("not a state")
    skills = value.get("skills")
    if not isinstance(skills, dict) or not all(isinstance(value.get(key), str) for key in ("as_of", "version")):
        raise ValueError("not a state")
    found = {
        "as_of": value["as_of"],
        "version": value["version"],
        "skills": {path: _skill(skill) for path, skill in skills.items()},
    }
    previous = value.get("previous")
    return found | ({"previous": None if previous is None else _checked(previous, False)} if outer else {})


def _skill(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not a skill")
    texts = {key: value.get(key) for key in _TEXTS}
    numbers = {key: value.get(key) for key in _NUMBERS}
    if not all(each is None or isinstance(each, str) for each in texts.values()):
        raise ValueError("not a text")
    if not all(each is None or _is_number(each) for each in numbers.values()):
        raise ValueError("not a number")
    return texts | numbers


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**53


def state(
    records: Mapping[str, SkillRecord],
    verdicts: Mapping[str, SkillVerdict],
    tokens: Mapping[str, int | None],
    claims: Mapping[str, Any] | None,
    as_of: str,
    version: str,
) -> dict[str, Any]:
    """The state of now, without what it is compared with. All mappings are by path. Simulated runs are left out."""
    skills = {}
    for path, record in sorted(records.items()):
        recall, effect = _recall(record), _effect(record)
        skills[path] = {
            "name": escape_surrogates(record.name),
            "verdict": verdicts[path].word,
            "score": record.health.score,
            **recall,
            **effect,
            "tokens": tokens[path],
            "stale_claims": claims["skills"][path]["stale"] if claims else None,
        }
    return {"schema": STATE, "as_of": as_of, "version": version, "skills": skills}


def _recall(record: SkillRecord) -> dict[str, Any]:
    every = [each for each in record.routing.models if not each.simulated and each.recall.value is not None]
    best = min(every, key=lambda one: route_rank(False, True, one.local, one.changed, one.trusted), default=None)
    if best is None:
        return {"recall": None, "recall_model": None}
    return {"recall": best.recall.value, "recall_model": escape_surrogates(best.model)}


def _effect(record: SkillRecord) -> dict[str, Any]:
    every = [each for each in record.effect.models if not each.simulated]
    last = min(every, key=lambda one: effect_rank(False, one.changed, one.verdict, bool(one.preliminary)), default=None)
    if last is None:
        return {"effect": None, "effect_verdict": None}
    return {"effect": last.delta.value, "effect_verdict": last.verdict}
