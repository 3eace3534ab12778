"""The fast check of schemas says what the full validator says."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import page_made
import pytest
import report_made
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core import validation
from skill_health.page.data import fits
from skill_health.page.data.fits import broken

NAMES = ("effectiveness-history", "effectiveness-report", "router-history", "router-report")
JUNK: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    0.5,
    1.0,
    -0.5,
    10**13,
    "",
    " ",
    "helps",
    "2026-11-20T05:00:00Z",
    [],
    {},
    [None],
    {"a": 1},
]


@cache
def documents() -> dict[str, Any]:
    page = page_made.page()
    report = json.loads(json.dumps(report_made.made(models=1)))
    model = report["models"][0]
    for key in ("skills", "tasks", "contrasts", "arms", "categories"):
        model[key] = model[key][:1]
    report["leaderboard"] = report["leaderboard"][:1]
    router = json.loads(json.dumps(page.router[0].value))
    router["models"][0]["confusion"] = router["models"][0]["confusion"][:2]
    router = {key: each[:1] if isinstance(each, list) else each for key, each in router.items()}
    lines = (("router-history", page.router_history), ("effectiveness-history", page.effect_history))
    return {name: doc.value[0] for name, doc in lines} | {"effectiveness-report": report, "router-report": router}


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([at] if at else []), *(place for key, each in inner for place in places(each, (*at, key)))]


def agree(name: str, data: Any) -> bool:
    full = validation.problems(name, data)
    assert broken(name, data) == (full[0].message if full else "")
    return not full


@pytest.mark.parametrize("name", NAMES)
def test_what_is_valid_needs_no_full_validator(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert agree(name, documents()[name])
    monkeypatch.setattr(fits, "problems", lambda *_: pytest.fail("asked"))
    assert broken(name, documents()[name]) == ""


@given(st.data(), st.sampled_from(NAMES))
def test_what_is_changed_is_judged_alike(data: st.DataObject, name: str) -> None:
    changed = copy.deepcopy(documents()[name])
    place = data.draw(st.sampled_from(places(changed)))
    *way, last = place
    parent = changed
    for key in way:
        parent = parent[key]
    how = data.draw(st.sampled_from(["replace", "remove", "add"]))
    if how == "replace":
        parent[last] = data.draw(st.sampled_from(JUNK))
    elif how == "remove":
        del parent[last]
    elif isinstance(parent, dict):
        parent["another key"] = data.draw(st.sampled_from(JUNK))
    else:
        parent.append(data.draw(st.sampled_from(JUNK)))
    agree(name, changed)


SCHEMAS: dict[str, tuple[Any, list[tuple[Any, bool]]]] = {
    "types": ({"type": ["integer", "null"]}, [(1, True), (None, True), (True, False), (1.5, False), ("1", False)]),
    "a whole float": ({"type": "integer"}, [(1.0, True)]),
    "one of": (
        {"oneOf": [{"type": "null"}, {"type": "object", "required": ["a"]}]}, [(None, True), ({"a": 1}, True), ({}, False), (1, False)]
    ),
    "both of one": ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, [(1, False), (1.5, True)]),
    "itself": (
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}, [([[]], True), ([1], False)]
    ),
    "a keyword that it does not know": ({"uniqueItems": True}, [([1, 2], True), ([1, 1], False)]),
    "never": ({"type": "object", "properties": {}, "additionalProperties": False}, [({}, True), ({"a": 1}, False)]),
    "more": ({"additionalProperties": {"minimum": 2}}, [({"a": 2}, True), ({"a": 1}, False)]),
    "a constant": ({"const": 1}, [(1, True), (1.0, True), (True, False), ("1", False)]),
    "ends": ({"minItems": 1, "minLength": 2, "pattern": "^a"}, [([], False), ("ab", True), ("a", False), ("ba", False), (5, True)]),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "cases"), SCHEMAS.values(), ids=SCHEMAS)
def test_each_keyword(schema: Any, cases: list[tuple[Any, bool]], monkeypatch: pytest.MonkeyPatch) -> None:
    from jsonschema import Draft202012Validator

    whole = {"type": "object", "properties": {"x": schema}} | ({"$defs": schema["$defs"]} if "$defs" in schema else {})
    full = Draft202012Validator(whole)
    monkeypatch.setattr(fits, "load_schema", lambda _: whole)
    monkeypatch.setattr(
        fits, "problems", lambda _, data: [validation.Problem("x", "wrong")] if not full.is_valid(data) else []
    )
    fits._compiled.cache_clear()
    try:
        assert [(value, not broken("made up", {"x": value})) for value, _ in cases] == cases
    finally:
        fits._compiled.cache_clear()
