"""Pairs of skills in the records of both: read from the last runs that tried them, and told in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pairs_made import FIRST, SECOND
from pairs_page import CONFLICT, SYNERGY, pair_report, records_of, with_words

from skill_health.documents.effect_history import Effects, PairRun
from skill_health.status.composed import MANIFEST, REPORT, all_pairs, pairs_cell, read_composed
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.render import (
    CollectionStatus,
    render_records_json,
    render_records_markdown,
    render_records_text,
)
from skill_health.text.terminal import columns

RUN = "20261121T050000Z-ab12cd34"
REAL: dict[str, Any] = {"simulated": False, "model": "loop:m"}
LINE = "csv + sql, loop:m: synergistic, interaction +66.7 [–] points, 16 tasks, 2026-11-21, run " + RUN


def status_of(folder: Path, *reports: dict[str, Any], **more: Any) -> CollectionStatus:
    records = records_of(folder, *reports, **more)
    return CollectionStatus(records, None, None, CommandBuilder((".",)), "0.1.0", "standard")


def test_every_format_has_the_same_figures(tmp_path: Path) -> None:
    status = status_of(tmp_path, pair_report(SYNERGY, **REAL))
    text, markdown = render_records_text(status, 200), render_records_markdown(status)
    assert "with others" in text.splitlines()[2] and "synergistic +67 [–] n 16" in text
    assert LINE in text and "| with others |" in markdown and f"- {LINE}" in markdown.replace("\\", "")
    told = json.loads(render_records_json(status))
    (one,), (other,) = (each["pairs"] for each in told["skills"])
    assert one == other and (one["first"], one["second"], one["verdict"]) == (FIRST, SECOND, "synergistic")
    assert one["interaction"]["value"] == pytest.approx(2 / 3) and one["tasks"] == 16 and one["changed"] is None
    assert [each for each in text.splitlines() if each.startswith("- with others: the verdicts")]
    assert all(
        columns(line) <= 60 for line in render_records_text(status, 60).splitlines() if "skill-health" not in line
    )


def test_without_pairs_there_is_no_column(tmp_path: Path) -> None:
    made = pair_report(SYNERGY, composition=[])
    status = status_of(tmp_path, made)
    assert "with others" not in render_records_text(status, 200) + render_records_markdown(status)


@pytest.mark.parametrize(
    ("now", "changed", "sign"),
    [
        ({FIRST: "a", SECOND: "b"}, False, ""), ({FIRST: "a", SECOND: "new"}, True, "*"),
        ({FIRST: "new", SECOND: "b"}, True, "*"), ({FIRST: "a"}, None, ""),
    ],
)  # fmt: skip
def test_a_pair_is_out_of_date_where_either_skill_has_changed(
    now: dict[str, str], changed: bool | None, sign: str, tmp_path: Path
) -> None:
    made = pair_report(SYNERGY, **REAL)
    status = status_of(tmp_path, made, digests=now, staged={FIRST: "a", SECOND: "b"})
    (pair,) = all_pairs(status.records)
    assert pair.changed is changed
    assert pairs_cell((pair,)) == f"synergistic +67 [–] n 16{sign}"
    assert (", out of date" in render_records_text(status, 200)) == bool(changed)


def test_the_cell_counts_verdicts_by_the_model_that_is_told_first(tmp_path: Path) -> None:
    script = pair_report(CONFLICT, 22)
    real = with_words(pair_report(SYNERGY, **REAL), {}, {"second": "xml", "word": "redundant"}, {"second": "yaml"})
    (csv, *_) = status_of(tmp_path, script, real).records
    assert [pair.model for pair in csv.pairs] == ["loop:m"] * 3 + ["scripted"]
    assert pairs_cell(csv.pairs) == "2 synergistic, 1 redundant"
    assert pairs_cell(csv.pairs[3:]).endswith("~") and pairs_cell(()) == "not tried"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (None, "is not there"),
        ("{", "is damaged or of another version"),
        (json.dumps({"kind": "effectiveness", "run_id": "other", "models": []}), "is that of another run"),
        ("[]", "is damaged"),
    ],
)
def test_a_report_that_cannot_be_read_costs_a_note(text: str | None, wrong: str, tmp_path: Path) -> None:
    place = tmp_path / "effectiveness" / RUN
    place.mkdir(parents=True)
    if text is not None:
        (place / REPORT).write_text(text, encoding="utf-8")
    effects = Effects(composed=(PairRun("2026-11-21T05:00:00Z", RUN, "loop:m"),))
    found = read_composed(str(tmp_path), effects, {})
    assert found.pairs == () and len(found.problems) == 1 and wrong in found.problems[0]


def test_numbers_beyond_all_measure_are_left_out_and_a_lost_manifest_is_not_known(tmp_path: Path) -> None:
    made = pair_report(SYNERGY, **REAL)
    (pair,) = made["models"][0]["composition"]
    made["models"][0]["composition"] = [
        pair,
        pair | {"second": "xml", "interaction": pair["interaction"] | {"value": 1e9}},
    ]
    records_of(tmp_path, made)
    (tmp_path / "effectiveness" / RUN / MANIFEST).unlink()
    effects = Effects(composed=(PairRun("2026-11-21T05:00:00Z", RUN, "loop:m"),))
    found = read_composed(str(tmp_path), effects, {FIRST: "a", SECOND: "b"})
    assert [(each.second, each.changed) for each in found.pairs] == [(SECOND, None)]
