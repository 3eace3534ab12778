"""The router's history: one line for each model and run, as the schema says, and never a second one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from made_runs import checked, frozen, manifest, prompt, report_record, result, values

from skill_health.bench.manifest import digest
from skill_health.core.errors import UsageError
from skill_health.core.validation import load_schema
from skill_health.documents.router_history import read_routing
from skill_health.documents.router_manifest import RouterManifest
from skill_health.documents.router_report import RouterReport
from skill_health.router.history import HISTORY, history_lines, record_run
from skill_health.router.report import build_report

VERDICTS = [
    {"model": model, "trusted": good, "failed": not good} for model, good in (("maker:one", True), ("scripted", False))
]
CHECK = checked({"planted": VERDICTS, "finished": []})


def made(**more: Any) -> tuple[RouterManifest, RouterReport]:
    """A manifest of three models and its report; one prompt of the first has no answer."""
    asked = [prompt(f"p{n}", ["alpha", "beta", None][n % 3]) for n in range(12)]
    models = ["maker:one", {"spec": "scripted", "kind": "simulated"}, {"spec": "lexical:bm25", "kind": "local"}]
    given = manifest(asked, models) | more
    results = [
        result(each.prompt_id, ["alpha"], spec, resolved_model="one-1", cost_usd=0.5, duration_ms=10.0)
        for spec in ("maker:one", "scripted", "lexical:bm25")
        for each in asked
    ]
    results[0] = result("p0", model="maker:one", status="provider_error")
    results[1] = result("p1", model="maker:one", kinds=("prose",))
    return frozen(given), build_report(frozen(given), results, CHECK)


def valid(line: Any) -> None:
    Draft202012Validator(load_schema("router-history")).validate(json.loads(json.dumps(line, allow_nan=False)))


def test_a_line_says_what_the_run_was_and_what_came_out() -> None:
    given, report = made()
    lines = list(map(values, history_lines(given, report, CHECK)))
    assert [line["model"] for line in lines] == ["maker:one", "scripted", "lexical:bm25"]
    for line in lines:
        valid(line)
    one, simulated, local = lines
    assert one["manifest"] == digest(values(given))
    assert (one["time"], one["run_id"], one["commit"], one["dirty"]) == (
        given.created, given.run_id, given.commit, False,
    )  # fmt: skip
    assert (one["prompts"], one["catalogue"], one["template"]["digest"]) == ("p", "c", "d")
    assert (one["planned"], one["n"], one["missing"]) == (12, 11, {"provider_error": 1})
    assert one["coverage"] == pytest.approx(11 / 12, abs=1e-6)
    # Of eleven scored prompts three expect alpha and were answered so (the fourth had no answer).
    assert (one["metrics"]["top1"]["n"], one["metrics"]["top1"]["clusters"]) == (11, 11)
    assert one["metrics"]["top1"]["value"] == pytest.approx(3 / 11, abs=1e-6)
    assert one["metrics"]["top1"]["low"] < one["metrics"]["top1"]["value"] < one["metrics"]["top1"]["high"]
    assert one["metrics"]["false_fire"]["value"] == 1
    assert one["failures"]["after_retry"]["kinds"] == {"prose": 1}
    assert (one["resolved"], one["cost_usd"], one["latency_ms"]["median"]) == (["one-1"], 5.0, 10.0)
    assert [line["simulated"] for line in lines] == [False, True, False]
    assert [line["trusted"] for line in lines] == [True, False, None]
    assert [line.trusted for line in history_lines(given, report, None)] == [None, None, None]
    assert (simulated["kind"], local["kind"]) == ("simulated", "local")


def test_nothing_scored_is_null_and_not_zero() -> None:
    given = manifest([prompt("a", "alpha")])
    line = values(history_lines(frozen(given), report_record(given, []), None)[0])
    valid(line)
    assert (line["n"], line["coverage"], line["cost_usd"], line["latency_ms"]["median"]) == (0, 0, None, None)
    assert line["metrics"]["top1"]["value"] is None
    assert line["missing"] == {"not_run": 1}


def test_a_run_is_recorded_once(tmp_path: Path) -> None:
    given, report = made()
    assert record_run(str(tmp_path), given, report, CHECK) == 3
    before = (tmp_path / HISTORY).read_bytes()
    assert record_run(str(tmp_path), given, report, CHECK) == 0
    assert (tmp_path / HISTORY).read_bytes() == before
    again = made(run_id="20260516T120000Z-def")
    assert record_run(str(tmp_path), *again, None) == 3
    lines = [json.loads(line) for line in (tmp_path / HISTORY).read_text(encoding="utf-8").splitlines()]
    assert [line["run_id"] for line in lines] == [given.run_id] * 3 + ["20260516T120000Z-def"] * 3


def test_what_a_killed_writer_left_is_made_up_for(tmp_path: Path) -> None:
    """One of three lines was there: the other two are added, and what is not ours stays as it is."""
    given, report = made()
    first = json.dumps(values(history_lines(given, report, CHECK)[0]), separators=(",", ":"))
    foreign = '{"timestamp":"2026-05-15T14:08:51Z","note":"20260515T120000Z-abc"}'
    torn = '{"run_id":"20260515T120000Z-abc","model":"scri'
    (tmp_path / HISTORY).write_text(f"{foreign}\n{first}\n{torn}", encoding="utf-8")
    assert record_run(str(tmp_path), given, report, CHECK) == 2
    lines = (tmp_path / HISTORY).read_text(encoding="utf-8").splitlines()
    assert lines[:3] == [foreign, first, torn]
    assert [json.loads(line)["model"] for line in lines[3:]] == ["scripted", "lexical:bm25"]
    assert record_run(str(tmp_path), given, report, CHECK) == 0


def test_the_daily_report_reads_these_lines(tmp_path: Path) -> None:
    given, report = made(selection={"kind": "filter"})
    record_run(str(tmp_path), given, report, CHECK)
    found = read_routing(str(tmp_path), {})
    assert found is not None
    assert found.problems == ()
    by_name = {each.model: each for each in found.models}
    assert list(by_name) == ["lexical:bm25", "maker:one", "scripted"]
    one = by_name["maker:one"]
    assert (one.run_id, one.n, one.planned, one.selection, one.simulated, one.trusted) == (
        given.run_id, 11, 12, "filter", False, True,
    )  # fmt: skip
    assert one.top1 == pytest.approx(3 / 11, abs=1e-6)


def test_a_history_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / HISTORY).mkdir()
    with pytest.raises(UsageError, match="Is a directory"):
        record_run(str(tmp_path), *made(), CHECK)
