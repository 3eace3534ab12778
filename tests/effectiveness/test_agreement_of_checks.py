"""Our checks say what the formats' own tools say: cases of ours with the recorded verdict of the real tool."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verdict_cases import compare_inspect, compare_promptfoo, read_cases

from skill_health.effectiveness.checks.output_similar import _distance
from skill_health.effectiveness.tasks._dialects import with_dialect


@pytest.mark.parametrize("tool", ["promptfoo", "promptfoo_fresh", "inspect"])
def test_every_case_has_a_verdict(tool: str) -> None:
    found = read_cases(tool)
    cases = found.get("assertions") or found["samples"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", found["version"])
    assert {len(case["verdicts"]) for case in cases} == {len(found["outputs"])}
    assert {*"".join(case["verdicts"] for case in cases)} <= {*"PFE"}


@pytest.mark.slow
def test_a_part_of_what_promptfoo_says(tmp_path: Path) -> None:
    compared = compare_promptfoo(tmp_path / "skill", every=16, plain=True)
    assert compared.cases > 2_000 and compared.unexplained == []


@pytest.mark.slow
def test_all_that_promptfoo_says(tmp_path: Path) -> None:
    compared = compare_promptfoo(tmp_path / "plain", plain=True)
    assert compared.unexplained == []
    # What is known to be different stays as rare as it is.
    assert compared.cases > 30_000 and len(compared.differing) == 33
    assert compare_promptfoo(tmp_path / "all", every=16).unexplained == []


@pytest.mark.slow
def test_what_promptfoo_says_of_cases_drawn_at_random(tmp_path: Path) -> None:
    compared = compare_promptfoo(tmp_path / "skill", name="promptfoo_fresh")
    assert compared.cases > 15_000 and compared.differing == ()


def test_all_that_inspect_says(tmp_path: Path) -> None:
    compared = compare_inspect(tmp_path / "skill")
    assert compared.cases > 2_000 and compared.unexplained == []


DIALECTS: dict[Any, list[tuple[str, str, bool]]] = {
    "go": [
        (r"end$", "end\n", False), (r"end\z", "end", True), (r"(?m)end$", "end\nmore", True),
        (r"(?s)a.b", "a\nb", True), (r"a.b", "a\u2028b", True), (r"^\w+$", "café", False), (r"[^\d]", "٤", True),
        (r"\s", "\v", False), (r"[\s]", "\u00a0", False), (r"[]a]", "]", True), (r"(?P<x>a)b", "ab", True),
        (r"a{,2}", "a{,2}", True),
    ],
    "vally": [
        (r"(?i)done", "DONE", True), (r"(?is)a.b", "A\nB", True), (r"a.b", "a\rb", False),
        (r"(?m)end$", "end\nmore", True),
    ],
    "javascript": [
        (r"[&&]", "&", True), (r"[\u0041]", "A", True), (r"\cJ", "cJ", True), (r"\é", "é", True),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("dialect", "case"), [(dialect, case) for dialect in DIALECTS for case in DIALECTS[dialect]])
def test_patterns_of_other_languages(dialect: Any, case: tuple[str, str, bool]) -> None:
    pattern, text, found = case
    assert (re.search(with_dialect(pattern, dialect), text) is not None) == found


REFUSED = [
    (r"a(?i)b", "go", "where Python cannot have it"),
    (r"\pL", "go", r"has \p"),
    (r"[[:alpha:]]", "go", "has a class such as"),
    (r"[\pL]", "go", r"has \p in a class"),
    ("[a", "go", "has a class without its end"),
    ("a\\", "javascript", "ends with a backslash"),
    ("(?i)a", "javascript", "JavaScript has no"),
    ("(a", "vally", "unterminated"),
    (None, "go", "is no text"),
    ("a**", "go", "multiple repeat"),
]


@pytest.mark.parametrize(("pattern", "dialect", "message"), REFUSED)
def test_patterns_that_python_cannot_say(pattern: Any, dialect: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        with_dialect(pattern, dialect)


@given(st.text(max_size=40), st.sampled_from(["javascript", "vally", "go"]))
def test_any_text_is_a_pattern_or_refused(pattern: str, dialect: Any) -> None:
    try:
        re.compile(with_dialect(pattern, dialect))
    except ValueError as error:
        assert str(error)


@given(st.text("abc", max_size=8), st.text("abc", max_size=8), st.integers(0, 9))
def test_the_distance_is_that_of_the_definition(one: str, other: str, most: int) -> None:
    table = [[max(row, at) if 0 in (row, at) else 0 for at in range(len(one) + 1)] for row in range(len(other) + 1)]
    for row in range(1, len(other) + 1):
        for at in range(1, len(one) + 1):
            changed = table[row - 1][at - 1] + (one[at - 1] != other[row - 1])
            table[row][at] = min(changed, table[row - 1][at] + 1, table[row][at - 1] + 1)
    assert (_distance(one, other, most) <= most) == (table[-1][-1] <= most)
