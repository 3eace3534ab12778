"""The effectiveness history as `daily` and `status` read it: the last line counts, and nothing in it can stop them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Run, Write
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from records_made import effect_line as line
from records_made import number, router_line

from skill_health.core import validation
from skill_health.core.errors import UsageError
from skill_health.daily.drift_report import EFFECT_TITLE
from skill_health.documents.effect_history import HISTORY, Effects, read_effects
from skill_health.documents.router_history import HISTORY as ROUTER_HISTORY

DAY = "--time=2026-11-21T04:00:00Z"
SKILL = "---\nname: {0}\ndescription: Sorts lists of {0}. Use when {0} are out of order.\n---\n# {0}\n\nSort them.\n"


def put(root: Path, *records: Any) -> None:
    path = root / "reports" / HISTORY
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = (each if isinstance(each, str) else json.dumps(each) for each in records)
    path.write_bytes("".join(f"{text}\n" for text in texts).encode("utf-8", "surrogatepass"))


def read(root: Path, digests: Mapping[str, str | None] | None = None) -> Effects:
    found = read_effects(str(root / "reports"), lambda: digests or {})
    assert found is not None
    return found


def test_the_line_that_is_made_up_here_has_the_published_form() -> None:
    assert validation.problems("effectiveness-history", line()) == []
    assert validation.problems("effectiveness-history", line(None, simulated=True)) == []


def test_the_last_line_of_each_model_and_skill_counts(tmp_path: Path) -> None:
    put(
        tmp_path, line(run_id="old", verdict="harmful"), line("pears", "b"), line(None, "b"), line(), line("pears"),
        line(None, "a", simulated=True),
    )  # fmt: skip
    found = read(tmp_path)
    assert [(each.model, each.skill, each.run_id) for each in found.lines] == [
        ("a", None, "run-1"), ("b", None, "run-1"), ("b", "pears", "run-1"), ("loop:maker:m", "pears", "run-1"),
        ("loop:maker:m", "plums", "run-1"),
    ]  # fmt: skip
    assert {each.verdict for each in found.lines} == {"helps"}
    assert [each.model for each in found.of(None)] == ["b", "a"]
    assert found.problems == ()


def test_a_run_that_scored_no_target_does_not_take_the_place_of_one_that_did(tmp_path: Path) -> None:
    none = {"target": number(None, n=0), "delta": number(None, n=0), "verdict": "not testable"}
    whole, other = line(None, run_id="run-2", **none), line(run_id="run-2", **none)
    only = line("pears", run_id="run-2", **none)
    put(tmp_path, line(None), line(), whole, other, only)
    found = read(tmp_path)
    told = {(each.skill, each.run_id, each.verdict) for each in found.lines}
    assert told == {(None, "run-1", "helps"), ("plums", "run-1", "helps"), ("pears", "run-2", "not testable")}
    put(tmp_path, line(None), line(), whole | {"pairs": 2})
    found = read(tmp_path)
    assert {each.run_id for each in found.lines} == {"run-1"} and [each.run_id for each in found.composed] == ["run-2"]


def test_the_latest_comes_first_and_what_is_simulated_last(tmp_path: Path) -> None:
    put(
        tmp_path, line(model="c", created="2026-11-22T05:00:00Z"), line(model="a"), line(model="s", simulated=True),
        line(model="b", created="2026-11-21T05:00:00Z"),
    )  # fmt: skip
    assert [each.model for each in read(tmp_path).of("plums")] == ["c", "b", "a", "s"]


@pytest.mark.parametrize(
    ("now", "changed"), [({"plums": "d"}, False), ({"plums": "other"}, True), ({"plums": None}, None), ({}, None)]
)
def test_a_skill_that_is_another_one_now_is_marked(
    tmp_path: Path, now: dict[str, str | None], changed: bool | None
) -> None:
    put(tmp_path, line(), line(None))
    found = read(tmp_path, now)
    assert [each.changed for each in found.lines] == [None, changed]


def test_what_is_about_another_collection_says_nothing_of_this_one(tmp_path: Path) -> None:
    put(
        tmp_path, line(None, run_id="mine"), line(run_id="mine"), line(None, run_id="other"),
        line("apples", run_id="other"),
    )  # fmt: skip
    found = read_effects(str(tmp_path / "reports"), dict, ("plums", "pears"))
    assert found is not None
    assert [(each.skill, each.run_id) for each in found.lines] == [(None, "mine"), ("plums", "mine")]
    assert len(read(tmp_path).lines) == 3


def test_digests_are_not_computed_where_there_is_nothing_to_mark(tmp_path: Path) -> None:
    def never() -> Mapping[str, str | None]:
        raise AssertionError

    assert read_effects(str(tmp_path / "reports"), never) is None
    put(tmp_path, "{}")
    assert read_effects(str(tmp_path / "reports"), never) == Effects()


@pytest.mark.parametrize(
    "damaged",
    [
        "{", "[]", '{"version": ', "\x00\x01", '"text"', "[" * 100_000, "x" * 100_000,
        line(scored=49), line(scored=-1), line(scored=True), line(trials="many"), line(tasks=None), line(created="yesterday"),
        line(created=None), line(run_id="../../etc"), line(run_id=""), line(model=None), line(model="  "), line(skill=7),
        line(skill=" "), line(verdict="great"), line(verdict=None), line(delta=None), line(delta=[1]), line(delta=number(7.0)),
        line(delta=number(-2.0)), line(delta={"value": "high"}), line(delta={"value": True}), line(biased="yes"), line(biased=[1]),
        line(preliminary={}), line(delta=number(0.2, n=-1)), line(delta=number(0.2, n=10**13)), line(trials=10**400), line(delta=number(10**400)),
        line(delta=number(True)), line(delta=number(float("inf"))),
    ],
    ids=lambda each: str(each)[:40],
)  # fmt: skip
def test_a_damaged_line_costs_one_note(tmp_path: Path, damaged: Any) -> None:
    text = damaged if isinstance(damaged, str) else json.dumps(damaged)
    put(tmp_path, line(model="a"), text, line(model="b"), text[:40])
    found = read(tmp_path)
    assert [each.model for each in found.lines] == ["a", "b"]
    (problem,) = found.problems
    assert problem.startswith(f"2 lines of {HISTORY} ")


@pytest.mark.parametrize(
    "foreign", [{"version": 2, "kind": "effectiveness"}, {"kind": "router"}, {"timestamp": "2026"}]
)
def test_lines_of_other_kinds_are_passed_over(tmp_path: Path, foreign: dict[str, Any]) -> None:
    put(tmp_path, foreign, line(), foreign)
    assert (len(read(tmp_path).lines), read(tmp_path).problems) == (1, ())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(sorted(line())), JSON)
def test_no_value_of_any_field_can_stop_it(tmp_path_factory: pytest.TempPathFactory, key: str, value: Any) -> None:
    root = tmp_path_factory.mktemp("r")
    put(root, line(**({key: value} if key not in ("skill", "model") else {})) | {key: value}, line("pears"))
    found = read(root)
    assert any(each.skill == "pears" for each in found.lines)


def test_a_history_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "reports" / HISTORY).mkdir(parents=True)
    with pytest.raises(UsageError, match=HISTORY):
        read(tmp_path)


@pytest.fixture
def collection(write: Write) -> Path:
    return write({f"skills/{name}/SKILL.md": SKILL.format(name) for name in ("plums", "pears")})


def effect(done: subprocess.CompletedProcess[str]) -> dict[str, Any] | None:
    found: dict[str, Any] = json.loads(done.stdout)
    Draft202012Validator(validation.load_schema("drift")).validate(found)
    part: dict[str, Any] | None = found["effectiveness"]
    return part


def test_daily_shows_it_in_every_format(collection: Path, run: Run) -> None:
    assert effect(run("daily", DAY, "--format", "json", "--no-write")) is None
    simulated = line(
        "pears", "scripted", simulated=True, biased=["the control moved"], delta=number(0.1, None, None),
        preliminary=["a", "b"],
    )  # fmt: skip
    put(collection, line(None, verdict="not testable", delta=number(None, None, None)), line(), simulated, "{")
    done = run("daily", DAY)
    assert done.returncode == 0
    assert f"{EFFECT_TITLE} (3)\n" in done.stdout
    assert re.search(
        r"  plums, loop:maker:m: helps, \+20\.0 \[\+5\.0, \+35\.0\] points, 8 tasks, 47 of 48 trials scored, 2026-11-20, run run-1\n"
        r"      preliminary: .*30 tasks \(8\)\n      .*\bchanged\b.*\n  \S",
        done.stdout,
    )
    assert re.search(r"collection, loop:maker:m: not testable, \D* 8 tasks", done.stdout)
    assert "pears, scripted: helps, +10.0 points" in done.stdout
    assert "simulated: " in done.stdout
    assert "biased: the control moved" in done.stdout
    assert "preliminary: a; b" in done.stdout
    assert f"Note: 1 line of {HISTORY} " in done.stdout
    markdown = (collection / "reports" / "skill-health-drift.md").read_text(encoding="utf-8")
    assert f"## {EFFECT_TITLE} (3)" in markdown
    part = effect(run("daily", DAY, "--format", "json", "--no-write"))
    assert part is not None
    assert [(each["model"], each["skill"], each["changed"]) for each in part["effects"]] == [
        ("loop:maker:m", None, None), ("loop:maker:m", "plums", True), ("scripted", "pears", True),
    ]  # fmt: skip


def test_nothing_of_the_history_is_markup_or_control(collection: Path, run: Run) -> None:
    evil = "evil\x1b[31m`<b>](http://x.example)\n# head"
    put(collection, line("plums", evil, biased=[evil], preliminary=[evil], reason=evil))
    done = run("daily", DAY)
    markdown = (collection / "reports" / "skill-health-drift.md").read_text(encoding="utf-8")
    for page in (done.stdout, markdown):
        assert "\x1b" not in page
        assert "\n# head" not in page
    assert "<b>" not in markdown
    assert "](http" not in markdown


@pytest.mark.slow
def test_the_light_path_stays_light(collection: Path) -> None:
    put(collection, line(), line(None))
    (collection / "reports" / ROUTER_HISTORY).write_text(json.dumps(router_line()) + "\n")
    heavy = ("numpy", "scipy", "jsonschema", "httpx", "asyncio", "urllib.request", "concurrent.futures")
    for command in (["daily", "--no-write"], ["status"]):
        code = (
            f"import sys\nfrom skill_health.cli import main\ncode = main({command})\n"
            f"assert not [name for name in {heavy} if name in sys.modules], sys.modules.keys()\nsys.exit(code)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=collection, env=os.environ, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert b"plums" in done.stdout and b"lexical:bm25" in done.stdout
