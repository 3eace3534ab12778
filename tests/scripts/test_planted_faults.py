"""Small wrong edits, and whether tests notice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.imports import ROOT
from scripts.planted_faults import Coverage, FaultFinder, PlantedFault, Scratch, draw_faults, plant, try_fault

SOURCE = '''"""A module."""
TABLE = ["left", "alone", 1 < 2]


def f(a: int = 1, *, b: list[int]) -> object:
    """Say nothing of True and 1 < 2."""
    if a < 3 and b:
        note(a)
    c = a + 1 if b else True
    zip(b, b, strict=True)
    return {"a": a, "b": [a, c]}
'''
EDITS = {
    "negation": ["if not (a < 3 and b):"],
    "and/or": ["if a < 3 or b:"],
    "comparison": ["if a <= 3 and b:"],
    "number": ["if a < 4 and b:", "c = a + 2 if b else True"],
    "call": ["pass", "pass"],
    "branches": ["c = True if b else a + 1"],
    "plus/minus": ["c = a - 1 if b else True"],
    "truth": ["c = a + 1 if b else False"],
    "item": ['return {"b": [a, c]}', 'return {"a": a}', 'return {"a": a, "b": [c]}', 'return {"a": a, "b": [a]}'],
}


def edited_line(fault: PlantedFault, source: bytes) -> str:
    return plant(source, fault).decode().splitlines()[fault.line - 1].strip()


def test_each_kind_of_edit_is_found_in_functions_alone() -> None:
    source = SOURCE.encode()
    found: dict[str, list[str]] = {}
    for fault in FaultFinder("module.py", source).found:
        found.setdefault(fault.kind, []).append(edited_line(fault, source))
    assert {kind: sorted(lines) for kind, lines in found.items()} == {
        kind: sorted(lines) for kind, lines in EDITS.items()
    }


def test_places_count_bytes() -> None:
    source = 'def f(a):\n    return "é–" if a > 1 else "ü"\n'.encode()
    lines = {edited_line(fault, source) for fault in FaultFinder("module.py", source).found}
    assert lines == {'return "ü" if a > 1 else "é–"', 'return "é–" if a >= 1 else "ü"', 'return "é–" if a > 2 else "ü"'}


@pytest.mark.slow
def test_a_seed_draws_the_same_edits_each_time_and_each_can_be_read() -> None:
    drawn = draw_faults(ROOT, 30, 5)
    assert drawn == draw_faults(ROOT, 30, 5) != draw_faults(ROOT, 30, 6)
    assert len(set(drawn)) == 30
    for fault in drawn:
        compile(plant((ROOT / fault.path).read_bytes(), fault), fault.path, "exec")


@pytest.mark.slow
def test_an_edit_is_caught_by_a_test_of_it_and_by_no_other(tmp_path: Path) -> None:
    source = b"def f(a):\n    return a < 3\n"
    (tmp_path / "thing.py").write_bytes(source)
    (tmp_path / "test_it.py").write_text(
        "from thing import f\n"
        "def test_far(): assert f(0)\n"
        "def test_at(): assert not f(3)\n"
        "def test_beyond(): assert not f(9)\n"
    )
    fault = next(each for each in FaultFinder("thing.py", source).found if each.kind == "comparison")
    scratch = Scratch(tmp_path, Path(sys.executable), tmp_path)
    ids = [f"test_it.py::test_{name}" for name in ("far", "beyond", "at")]
    coverage = Coverage(dict.fromkeys(ids, 0.01))
    assert try_fault(scratch, fault, ids, coverage).caught_by == "test_it.py::test_at"
    outcome = try_fault(scratch, fault, ids[:2], coverage)
    assert (outcome.caught_by, outcome.tests, outcome.all_run) == ("", 2, True)
    assert (tmp_path / "thing.py").read_bytes() == source
    coverage.seconds[ids[2]] = 1e9
    outcome = try_fault(scratch, fault, ids, coverage)
    assert (outcome.caught_by, outcome.tests, outcome.all_run) == ("", 2, False)
