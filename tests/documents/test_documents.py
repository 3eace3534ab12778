"""The types of the documents, the schemas that are made from them, and the reader: all three say the same."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import configurations_made
import page_made
import pytest
import report_made
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from records_made import EFFECT, FOUND, ROUTING, daily_run, daily_skill, effects_of, health_of, routing_of, skill_record

from scripts.schemas import schema_files
from skill_health.daily.drift import compare
from skill_health.daily.drift_report import build_drift_document
from skill_health.daily.earlier import EarlierRuns, ScoreWindow
from skill_health.daily.today import TodayRun
from skill_health.documents._record import (
    OpenRecord,
    Record,
    convert_record,
    decode_record,
    encode_record,
    record_values,
)
from skill_health.documents.daily_run import DailyRun
from skill_health.documents.drift_report import DriftDocument
from skill_health.documents.effect_configurations import EffectConfigurations
from skill_health.documents.effect_history import EffectHistoryLine, Effects
from skill_health.documents.effect_report import EffectReport
from skill_health.documents.lint_report import LintDocument
from skill_health.documents.router_history import RouterHistoryLine, RoutingHistory
from skill_health.documents.router_report import RouterReport
from skill_health.documents.skill_record import SkillRecords
from skill_health.formats.json import build_lint_document
from skill_health.lint.report import LintReport
from skill_health.lint.urls import UrlResult
from skill_health.rules._api import Finding, Severity
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.records import RoutedSkills
from skill_health.status.render import CollectionStatus, build_status_record

JUNK: list[Any] = [
    None, True, False, 0, 1, -1, 0.5, -0.5, 10**13, "", " ", "helps", "2026-11-20T05:00:00Z", [], {}, [None], {"a": 1},
]  # fmt: skip
KINDS: dict[str, type[Record] | type[OpenRecord]] = {
    "drift": DriftDocument, "effectiveness-configurations": EffectConfigurations,
    "effectiveness-history": EffectHistoryLine, "effectiveness-report": EffectReport, "history": DailyRun,
    "report": LintDocument, "router-history": RouterHistoryLine, "router-report": RouterReport,
    "skill-record": SkillRecords,
}  # fmt: skip


@cache
def schemas() -> dict[str, Any]:
    return {path.name.removesuffix(".schema.json"): json.loads(text) for path, text in schema_files()}


@pytest.mark.slow
def test_schemas_are_what_their_types_say() -> None:
    stale = [path.name for path, text in schema_files() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "`make docs` writes them anew"
    for schema in schemas().values():
        Draft202012Validator.check_schema(schema)
    # A record that is known by the name of its field alone tells a reader nothing.
    defined = {(name, key): part for name, schema in schemas().items() for key, part in schema.get("$defs", {}).items()}
    assert [at for at, part in defined.items() if len(part.get("description", "a b").split()) < 2] == []


@cache
def documents() -> dict[str, Any]:
    page = page_made.page()
    report = json.loads(json.dumps(report_made.made(models=1)))
    model = report["models"][0]
    for key in ("skills", "tasks", "contrasts", "arms", "categories"):
        model[key] = model[key][:1]
    report["leaderboard"] = report["leaderboard"][:1]
    router = json.loads(encode_record(page.router[0]))
    router["models"][0]["confusion"] = router["models"][0]["confusion"][:2]
    router = {key: each[:1] if isinstance(each, list) else each for key, each in router.items()}
    lines = {"router-history": page.router_history[0], "effectiveness-history": page.effect_history[0]}
    written = {name: json.loads(encode_record(line)) for name, line in lines.items()}
    configurations = json.loads(
        encode_record(configurations_made.typed_configurations(configurations_made.made(tasks=2)))
    )
    reports = {"effectiveness-report": report, "effectiveness-configurations": configurations, "router-report": router}
    return written | reports | plain_documents()


def plain_documents() -> dict[str, Any]:
    """What lint, daily and status write, made up small and whole."""
    finding = Finding("LI001", "a-rule", "links", Severity.ERROR, "a", 1, 1, 1, 9, "what is wrong", skill="a")
    report = LintReport("0.1", "standard", (), (finding,), urls={"https://a.example": UrlResult("u", "ok", 200)})
    key = "error:LI001:00000000000000aa"
    found = {
        "score": 0.9, "flagged": True, "evidence": {"links": {"total": 3}}, "findings": (key,),
        "counts": {"LI001": 1},
    }  # fmt: skip
    before = daily_run(19, 0.8, skills={"a": daily_skill("a", components={"links": 0.5}), "b": daily_skill("b")})
    after = daily_run(
        20, 0.9, skills={"a": daily_skill("a", components={"links": 0.6}, **found), "c": daily_skill("b")}
    )
    today = TodayRun(after, {"a": {key: [finding]}}, {}, {})
    earlier = EarlierRuns(last=before, window=ScoreWindow(3, 0.8, 1, 1, 1, before.time))
    routed, helped = RoutingHistory((ROUTING,), ("a problem",)), Effects((EFFECT,))
    drift = build_drift_document(compare(before, after), today, earlier, ["a reason"], routed, helped)
    record = skill_record("plums", health_of(), routing_of("failed", models=(FOUND,)), effects_of(models=(EFFECT,)))
    status = CollectionStatus(
        (record,), RoutedSkills((ROUTING,)), helped, CommandBuilder(), "0.1", "standard", ("note",)
    )
    written = {
        "report": build_lint_document(report), "history": after, "drift": drift, "skill-record": build_status_record(status),
    }  # fmt: skip
    return {name: json.loads(json.dumps(record_values(each))) for name, each in written.items()}


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schemas()[name])


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


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_what_was_written_is_read_and_written_again(name: str) -> None:
    data = documents()[name]
    assert validator(name).is_valid(data)
    written = json.loads(encode_record(convert_record(data, KINDS[name])))
    assert written == {key: value for key, value in data.items() if key in validator(name).schema["properties"]}


@pytest.mark.slow
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
