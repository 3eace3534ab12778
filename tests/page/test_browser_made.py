"""What is made up for the benchmark of the page and its tests in a browser fits the schemas of what real runs write."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_hostile import write_hostile

from benchmarks._made_page import Size, write_page
from skill_health.core.validation import problems

_RECORDS = {
    "skill-health-history.jsonl": "history", "router-history.jsonl": "router-history",
    "effectiveness-history.jsonl": "effectiveness-history", "router/*/manifest.json": "router-manifest",
    "router/*/report.json": "router-report", "router/*/results.jsonl": "router-result",
    "effectiveness/*/manifest.json": "effectiveness-manifest",
    "effectiveness/*/report.json": "effectiveness-report", "effectiveness/*/results.jsonl": "effectiveness-result",
    "effectiveness/*/trials/*/trajectory.json": "trajectory",
}  # fmt: skip
_MOST = 12
"""Of each kind are checked: those that follow were made alike."""


def _records(path: Path) -> Iterator[Any]:
    text = path.read_text(encoding="utf-8")
    yield from map(json.loads, text.splitlines()[:_MOST]) if path.suffix == ".jsonl" else [json.loads(text)]


def _wrong(reports: Path) -> tuple[list[str], Counter[str]]:
    wrong, seen = [], Counter[str]()
    for pattern, schema in _RECORDS.items():
        for path in sorted(reports.glob(pattern))[:_MOST]:
            for record in _records(path):
                seen[schema] += 1
                wrong += [f"{path.name} {schema}: {each.message}" for each in problems(schema, record)]
    return wrong, seen


@pytest.mark.slow
def test_all_that_is_made_fits_its_schema(tmp_path: Path) -> None:
    write_page(tmp_path, Size(3, 4, 60, 2, 2), seed=4)
    wrong, seen = _wrong(tmp_path / "reports")
    assert not wrong, wrong[:5]
    assert set(seen) == set(_RECORDS.values())
    assert seen["history"] == 4
    assert seen["trajectory"] == _MOST


@pytest.mark.slow
def test_hostile_texts_are_in_valid_files_but_for_the_lines_that_are_meant_to_be_damaged(tmp_path: Path) -> None:
    write_hostile(tmp_path)
    history = tmp_path / "reports" / "skill-health-history.jsonl"
    *kept, damaged = history.read_text(encoding="utf-8").splitlines()
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(damaged)
    history.write_text("\n".join(kept), encoding="utf-8")
    effects = tmp_path / "reports" / "effectiveness-history.jsonl"
    *kept, escaping = effects.read_text(encoding="utf-8").splitlines()
    assert problems("effectiveness-history", json.loads(escaping))
    effects.write_text("\n".join(kept), encoding="utf-8")
    wrong, _ = _wrong(tmp_path / "reports")
    assert not wrong, wrong[:5]
