"""Deterministic checks: every kind over evidence that is made here, and over what an agent may leave to mislead it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from skill_health.documents._record import TokenUsage
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.agents._api import ProgramOutput
from skill_health.effectiveness.checks import _patterns
from skill_health.effectiveness.checks._api import (
    CheckDecision,
    TracedCall,
    TrialEvidence,
    check_kinds,
    decide_check,
    make_check,
    traced_calls,
)
from skill_health.effectiveness.checks._json import bad_place, look_up
from skill_health.effectiveness.checks._patterns import search, with_flags
from skill_health.effectiveness.workspace.tree import read_tree

FINAL = 'All done: 3 rows.\n```json\n{"rows": 3, "names": ["a", "b"]}\n```\n'
CALLS = (
    TracedCall("Bash", "tool list --all", False),
    TracedCall("Read", "notes.md"),
    TracedCall("Bash", "tool drop x", True),
)
RESULT = TrialResult(
    task_id="t", model="m", arm="target", replication=0, outcome="infrastructure", turns=4, tool_calls=3,
    usage=TokenUsage(input_tokens=70, output_tokens=30), duration_ms=2_500.0, invoked="yes", invocations=("alpha",),
    skills=(("alpha", "0" * 32), ("beta", "0" * 32)),
)  # fmt: skip
FILES = {
    "out/report.txt": "Total: 3\nmean 1.5\n",
    "data.json": '{"projects": [{"name": "one", "size": 2}, {"name": "two"}], "ok": true, "n": 1}',
    "bad.json": "{",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("work")
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "outside").symlink_to("/etc/passwd")
    (tmp_path / "around").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def evidence(place: Path, **more: Any) -> TrialEvidence:
    async def run(command: str, seconds: float) -> ProgramOutput | None:
        known = {
            "good": ProgramOutput(0, b"printed\n"), "bad": ProgramOutput(2, stderr=b"no\n"), "slow": ProgramOutput(None),
            "absent": ProgramOutput(127, stderr=b"absent: command not found\n"),
        }  # fmt: skip
        return known.get(command)

    values: dict[str, Any] = {"final": FINAL, "calls": CALLS, "figures": RESULT, "run": run, **more}
    return TrialEvidence(str(place), read_tree(str(place)), **values)


def decide(place: TrialEvidence, kind: str, **keys: Any) -> CheckDecision:
    return asyncio.run(decide_check(make_check(kind, **keys), place))


CASES: list[tuple[Any, ...]] = [
    ("output_contains", "met", {"text": ["done", "rows"]}, {"text": ["done", "cats"], "any": True},
        {"text": "ALL DONE", "ignore_case": True}, {"text": ["cats", "done"], "absent": True}),
    ("output_contains", "not_met", {"text": ["done", "cats"]}, {"text": "ALL DONE"},
        {"text": ["cats", "done"], "any": True, "absent": True}),
    ("output_length", "met", {"least": 10, "words": True}, {"most": 3, "words": True, "absent": True}),
    ("output_length", "not_met", {"most": 3, "words": True}, {"least": 10, "most": 12}),
    ("output_similar", "met", {"text": FINAL[1:], "most": 1}, {"text": "x", "most": 2, "absent": True}),
    ("output_similar", "not_met", {"text": FINAL[2:], "most": 1}, {"text": "x" * 40_000, "most": 50}),
    ("output_choice", "not_met", {"answer": ["A"], "of": 4}),
    ("output_matches", "met", {"pattern": r"\d+ rows"}, {"pattern": r"\d+ cats", "absent": True}),
    ("output_matches", "not_met", {"pattern": r"\d+ cats"}),
    ("file_exists", "met", {"path": "out/report.txt"}, {"path": "./out/*.txt"}, {"path": "**/report.txt"},
        {"path": "out"}, {"path": "nothing", "absent": True}),
    ("file_exists", "not_met", {"path": "*.txt"}, {"path": "outside"}, {"path": "around/passwd"},
        {"path": "../" + "x"}, {"path": "pipe"}),
    ("file_contains", "met", {"path": "out/report.txt", "text": ["Total", "mean"]},
        {"path": "out/report.txt", "text": "median", "absent": True}),
    ("file_contains", "not_met", {"path": "out/report.txt", "text": ["Total", "median"]},
        {"path": "none.txt", "text": "median", "absent": True}, {"path": "outside", "text": "root"},
        {"path": "pipe", "text": "x"}),
    ("file_matches", "met", {"path": "out/*", "pattern": r"(?m)^mean \d"}),
    ("file_matches", "not_met", {"path": "out/*", "pattern": r"\Amean"}),
    ("json_value", "not_met", {}, {"within": True, "schema": '{"required": ["cats"]}'},
        {"path": "data.json", "at": "projects[1].size"},
        {"path": "data.json", "at": "n", "operator": "equals", "value": "true"},
        {"path": "data.json", "at": "ok", "operator": "gt", "value": "0"}, {"path": "bad.json"},
        {"path": "none.json"}),
    ("json_value", "met", {"within": True, "at": "rows", "operator": "equals", "value": "3"},
        {"within": True, "schema": '{"required": ["rows"]}'},
        {"path": "data.json", "at": "length(projects)", "operator": "gte", "value": "2"},
        {"path": "data.json", "at": "projects[0].name", "operator": "equals", "value": '"one"'},
        {"path": "data.json", "at": "$.projects[*].name", "operator": "contains", "value": '"two"'},
        {"path": "data.json", "at": "projects[0].name", "operator": "regex", "value": '"^o"'}),
    ("command", "met", {"command": "good", "text": "printed"}, {"command": "bad", "exit": 2}),
    ("command", "not_met", {"command": "good", "text": "other"}, {"command": "bad"}, {"command": "slow"}),
    ("command", "cannot_tell", {"command": "absent"}, {"command": "cannot start"}),
    ("tool_called", "met", {"tool": "bash"}, {"tool": "bash", "pattern": r"tool\s+drop"}, {"text": "notes.md"}),
    ("tool_called", "not_met", {"tool": "edit"}, {"tool": "bash", "pattern": r"tool\s+drop", "succeeded": True},
        {"tool": "bash", "pattern": "tool", "except": "--all", "least": 2}, {"tool": "bash", "most": 0}),
    ("tool_order", "met", {"tool": ["bash", "read", "bash"], "order": "exact"}, {"tool": ["read", "bash"]},
        {"tool": ["read", "bash"], "order": "any"}),
    ("tool_order", "not_met", {"tool": ["read", "read"]}, {"tool": ["read", "bash"], "order": "exact"}),
    ("skill_used", "met", {"skill": "alpha"}, {"skill": "beta", "absent": True},
        {"skill": ["alpha", "gone"], "any": True}),
    ("skill_used", "not_met", {"skill": "beta"}, {"skill": ["alpha", "beta"]}),
    ("skill_used", "cannot_tell", {"skill": "gone"}, {"skill": "gone", "absent": True}),
    ("figure", "met", {"of": "turns", "most": 4}, {"of": "seconds", "most": 3}),
    ("figure", "not_met", {"of": "tokens", "most": 99}),
    ("figure", "cannot_tell", {"of": "usd", "most": 3}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "answer", "keys"),
    [(kind, answer, keys) for kind, answer, *rows in CASES for keys in rows],
)
def test_each_kind(folder: Path, kind: str, answer: str, keys: dict[str, Any]) -> None:
    found = decide(evidence(folder), kind, **keys)
    assert found.answer == answer and (found.why or answer == "met"), found


def test_no_kind_is_without_a_case() -> None:
    assert {kind for kind, *_ in CASES} == set(check_kinds())


def test_a_socket_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    assert decide(evidence(tmp_path), "file_contains", path="socket", text="x").answer == "not_met"


def test_without_a_trajectory_nobody_can_tell(tmp_path: Path) -> None:
    blind = evidence(tmp_path, calls=None, figures=structs.replace(RESULT, invoked="not_observable", turns=None))
    keys = {"tool_called": {"tool": "bash"}, "tool_order": {"tool": "x"}, "skill_used": {"skill": "alpha"}}
    keys["figure"] = {"of": "turns", "most": 1}
    assert {decide(blind, kind, **given).answer for kind, given in keys.items()} == {"cannot_tell"}


@pytest.mark.parametrize(
    ("kind", "keys", "said"),
    [
        ("unheard_of", {}, "there is no check"),
        ("file_exists", {}, "needs path"),
        ("file_exists", {"path": "x", "cats": "y"}, "has no key 'cats'"),
        ("output_matches", {"pattern": "("}, "regular expression"),
        ("output_matches", {"pattern": "a" * 5_000}, "longer than"),
        ("file_exists", {"path": {"x": 1}}, "path is an object"),
        ("output_length", {"least": "many"}, "not a number"),
        ("output_length", {"least": "nan"}, "not a number"),
        ("json_value", {"at": "a | b"}, "not understood"),
        ("json_value", {"operator": "like"}, "no operator"),
        ("json_value", {"schema": "{"}, "not JSON"),
    ],
)
def test_what_is_wrong_is_refused_when_it_is_read(kind: str, keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make_check(kind, **keys)


@pytest.mark.slow
def test_a_pattern_that_takes_for_ever_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_patterns, "SECONDS", 0.1)
    assert search(r"(a+)+$", "a" * 64 + "b") is None
    found = decide(evidence(tmp_path, final="a" * 64 + "b"), "output_matches", pattern=r"(a+)+$", absent=True)
    assert found.answer == "cannot_tell"


def test_in_a_process_of_its_own_a_search_says_the_same() -> None:
    long = "x" * 6_000 + "needle"
    assert search("n(ee|e)+dle", long) is True and search("cat", long) is False


@given(st.text("abx.*+?()|[]\\", max_size=12), st.text("abx\n", max_size=20))
@settings(max_examples=60, deadline=None)
def test_flags_change_nothing_else(pattern: str, text: str) -> None:
    import re

    if _patterns.bad_pattern(pattern) == "" and _patterns.find_danger(pattern) == "":
        assert search(with_flags(pattern, "i"), text) == bool(re.search(pattern, text, re.IGNORECASE))


KEYS = st.text("ab", min_size=1, max_size=1)
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_places_in_any_value(data: Any) -> None:
    for place in ("a", "$.a.b", "a[0]", "b[*].a", "length(a)", "keys(b)", "a[?b=='x'].a", "[0]"):
        assert bad_place(place) == ""
        look_up(place, data)
    rows = data if isinstance(data, list) else [data]
    assert look_up("a", data)[1] == any(isinstance(each, dict) and "a" in each for each in rows)


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b'{"steps": 3}', b'{"steps": [{"tool_calls": [{}]}]}', b"\xff", b"[" * 9_999]
)
def test_a_trajectory_that_is_none(raw: bytes) -> None:
    assert traced_calls(raw) is None


def test_calls_are_read_from_a_trajectory() -> None:
    calls = [{"tool_call_id": "c", "function_name": "Bash", "arguments": {"command": "ls", "more": [1, {"x": "y"}]}}]
    step = {"tool_calls": calls, "observation": {"results": [{"source_call_id": "c"}]}}
    assert traced_calls(json.dumps({"steps": [{}, step]}).encode()) == (TracedCall("Bash", "ls\n1\ny", False),)
    failed = {**step, "extra": {"failed_calls": ["c"]}}
    assert (traced_calls(json.dumps({"steps": [failed]}).encode()) or ())[0].failed is True
