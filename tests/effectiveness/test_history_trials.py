"""The history of effectiveness runs: one line for each model and skill, as the schema says, and never a second one."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from effects_made import manifest, replace, scripted, task, typed
from jsonschema import Draft202012Validator
from msgspec import structs

from skill_health.bench.manifest import digest
from skill_health.core.errors import UsageError
from skill_health.core.validation import load_schema
from skill_health.documents._record import record_values
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_report import EffectReport
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.run.history import HISTORY, history_lines, record_again, record_run

MODELS = ("scripted:seed=1", "scripted:seed=2")


@cache
def made() -> tuple[EffectManifest, EffectReport, list[TrialResult]]:
    """A manifest of two models, its report and its results."""
    given = manifest(models=MODELS) | {
        "commit": None, "dirty": None, "hashes": {"skills": "all", "tasks": "t"},
        "skills": [{"name": f"skill-{n}", "digest": f"d{n}", "description": ""} for n in range(12)],
    }  # fmt: skip
    drawn = (scripted(given, "base=0.2,target=0.5", seed, spec) for seed, spec in enumerate(MODELS, 1))
    results = [result for each in drawn for result in each]
    return typed(given), build_report(typed(given), results), results


def valid(line: Any) -> None:
    Draft202012Validator(load_schema("effectiveness-history")).validate(json.loads(json.dumps(line, allow_nan=False)))


@pytest.mark.slow
def test_a_line_says_what_the_run_was_and_what_came_out() -> None:
    given, report, results = made()
    lines = list(map(record_values, history_lines(given, report, results)))
    assert [(line["model"], line["skill"]) for line in lines[:2]] == [(MODELS[0], None), (MODELS[0], "skill-0")]
    assert len(lines) == 2 * (1 + 12)
    for line in lines:
        valid(line)
        assert line["manifest"] == digest(record_values(given))
    whole, first = lines[0], lines[1]
    model: Any = record_values(report.models[0])
    contrast = next(each for each in model["contrasts"] if each["name"] == "target-control")
    assert (whole["delta"]["value"], whole["p"]) == (contrast["delta"]["value"], contrast["delta"]["p"])
    rates = {arm["arm"]: arm["success"]["value"] for arm in model["arms"]}
    assert (whole["control"]["value"], whole["target"]["value"]) == (rates["control"], rates["target"])
    assert (whole["tasks"], whole["trials"], whole["scored"]) == (15, 15 * 6 * 3, 15 * 6 * 3)
    assert (first["tasks"], first["trials"], first["scored"]) == (2, 2 * 6 * 3, 2 * 6 * 3)
    assert (whole["skill_digest"], first["skill_digest"]) == ("all", "d0")
    assert sum(whole["outcomes"].values()) == 15 * 6 * 3 + 5 * 3 * 3
    assert whole["verdict"] == model["verdict"]["word"] == "helps"
    assert first["verdict"] == "not testable"
    assert whole["simulated"] is True


@pytest.mark.slow
def test_missing_data_is_not_scored_and_nothing_scored_is_null() -> None:
    given, _, results = made()
    kept = [each for each in results if each.task_id != "000"]
    lines = list(map(record_values, history_lines(given, build_report(given, kept), kept)))
    assert (lines[0]["trials"], lines[0]["scored"]) == (270, 252)
    lines = list(map(record_values, history_lines(given, build_report(given, []), [])))
    for line in lines:
        valid(line)
    whole = lines[0]
    assert (whole["scored"], whole["control"]["value"], whole["p"], whole["cost_usd"]) == (0, None, None, None)


@pytest.mark.slow
def test_a_run_is_recorded_once_whatever_else_is_there(tmp_path: Path) -> None:
    given, report, results = made()
    path = tmp_path / HISTORY
    other = {"kind": "else", "run_id": given.run_id, "model": MODELS[0], "version": 1, "skill": None}
    path.write_text(json.dumps(other) + "\n" + '{"run_id": "' + given.run_id + '", torn\n', "utf-8")
    assert record_run(str(tmp_path), given, report, results) == 26
    before = path.read_bytes()
    assert record_run(str(tmp_path), given, report, results) == 0
    assert path.read_bytes() == before
    lines = before.splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:10]))
    assert record_run(str(tmp_path), given, report, results) == 18, "what a killed process had no time to write"
    assert path.read_bytes() == before
    again = structs.replace(given, run_id="20261122T050000Z-ab12cd34")
    assert record_run(str(tmp_path), again, report, results) == 26


@pytest.mark.slow
def test_a_history_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / HISTORY).mkdir()
    with pytest.raises(UsageError, match="cannot read"):
        record_run(str(tmp_path), *made())


@pytest.mark.slow
def test_its_other_readers_take_the_lines(tmp_path: Path) -> None:
    from skill_health.documents._record import decode_record
    from skill_health.documents.effect_history import EffectHistoryLine
    from skill_health.effectiveness.plan.forecast import read_controls

    given, report, results = made()
    record_run(str(tmp_path), given, report, results)
    rates = read_controls(str(tmp_path / HISTORY), [MODELS[1]])
    assert len(rates) == 13
    assert rates[MODELS[1], None] == report.models[1].arms[0].success.value
    for line in (tmp_path / HISTORY).read_bytes().splitlines():
        found = decode_record(line, EffectHistoryLine)
        assert found.trials >= found.scored


@pytest.mark.slow
def test_results_that_were_replaced_are_the_last_word_again(tmp_path: Path) -> None:
    given, report, results = made()
    assert record_again(str(tmp_path), given, report, results) == 0 and not (tmp_path / HISTORY).exists()
    record_run(str(tmp_path), given, report, results)
    assert record_again(str(tmp_path), given, report, results) == 0
    worse = [replace(result, outcome="fail", reward=0.0) for result in results]
    lost = build_report(given, worse)
    there = len((tmp_path / HISTORY).read_bytes().splitlines())
    assert 0 < (new := record_again(str(tmp_path), given, lost, worse)) <= there
    assert record_again(str(tmp_path), given, lost, worse) == 0
    lines = [json.loads(line) for line in (tmp_path / HISTORY).read_bytes().splitlines()]
    assert len(lines) == there + new and lines[there]["target"]["value"] == 0.0
    # A later run knows better.
    record_run(str(tmp_path), structs.replace(given, run_id="later"), report, results)
    assert record_again(str(tmp_path), given, report, results) == 0


def test_a_bundle_has_one_line_and_its_skills_none() -> None:
    tasks = [task(f"{n:03}", ["skill-1", "skill-0"]) for n in range(8)] + [task("100", "skill-2")]
    skills = [{"name": f"skill-{n}", "digest": f"d{n}", "description": ""} for n in range(3)]
    given = manifest(tasks, ("control", "target"), skills=skills, hashes={"skills": "all"})
    results = scripted(given, "base=0.2,target=0.6", 1)
    report = build_report(typed(given), results)
    lines = history_lines(typed(given), report, results)
    assert [(line.skill, line.skills, line.skill_digest, line.tasks) for line in lines] == [
        (None, (), "all", 9), ("skill-0 + skill-1", ("skill-0", "skill-1"), "d0+d1", 8), ("skill-2", (), "d2", 1),
    ]  # fmt: skip
    list(map(valid, map(record_values, lines)))
