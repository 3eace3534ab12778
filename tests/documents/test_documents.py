"""The types of the documents, the schemas that are made from them, and the reader: all three say the same."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import page_made
import pytest
import report_made
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from scripts.schemas import schema_files
from skill_health.documents._record import OpenRecord, Record, convert_record, decode_record, encode_record
from skill_health.documents.effect_history import EffectHistoryLine
from skill_health.documents.effect_report import EffectReport
from skill_health.documents.router_history import RouterHistoryLine
from skill_health.documents.router_report import RouterReport

FILES = dict(schema_files())
JUNK: list[Any] = [
    None, True, False, 0, 1, -1, 0.5, -0.5, 10**13, "", " ", "helps", "2026-11-20T05:00:00Z", [], {}, [None], {"a": 1},
]  # fmt: skip
KINDS: dict[str, type[Record] | type[OpenRecord]] = {
    "effectiveness-history": EffectHistoryLine,
    "effectiveness-report": EffectReport,
    "router-history": RouterHistoryLine,
    "router-report": RouterReport,
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_schema_is_what_its_type_says(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path], "`make docs` writes it anew"
    schema = json.loads(FILES[path])
    Draft202012Validator.check_schema(schema)


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


@cache
def validator(name: str) -> Draft202012Validator:
    text = next(text for path, text in FILES.items() if path.name == f"{name}.schema.json")
    return Draft202012Validator(json.loads(text))


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([at] if at else []), *(place for key, each in inner for place in places(each, (*at, key)))]


def is_read(name: str, data: Any) -> bool:
    try:
        read = convert_record(data, KINDS[name])
    except ValueError as error:
        assert str(error).strip()
        return False
    assert decode_record(json.dumps(data).encode(), KINDS[name]) == read
    return True


@pytest.mark.parametrize("name", KINDS)
def test_what_was_written_is_read_and_written_again(name: str) -> None:
    data = documents()[name]
    assert validator(name).is_valid(data)
    written = json.loads(encode_record(convert_record(data, KINDS[name])))
    assert written == {key: value for key, value in data.items() if key in validator(name).schema["properties"]}


@given(st.data(), st.sampled_from(sorted(KINDS)))
def test_what_is_changed_is_judged_as_its_schema_does(data: st.DataObject, name: str) -> None:
    changed = copy.deepcopy(documents()[name])
    *way, last = data.draw(st.sampled_from(places(changed)))
    inner = changed
    for key in way:
        inner = inner[key]
    if data.draw(st.booleans()):
        inner[last] = data.draw(st.sampled_from(JUNK))
    elif isinstance(inner, dict):
        inner.pop(last)
        inner[data.draw(st.sampled_from(["x", "schema", last]))] = data.draw(st.sampled_from(JUNK))
    assert is_read(name, changed) == validator(name).is_valid(changed)
