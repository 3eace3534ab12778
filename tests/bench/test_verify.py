"""Where two JSON values differ."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench.reproduce.verify import VerifiedFile, different_values, is_sound, verified_lines

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES)
def test_a_value_is_the_same_as_itself(value: Any) -> None:
    assert not list(different_values(value, json.loads(json.dumps(value))))


@given(VALUES, VALUES)
def test_two_values_are_the_same_where_no_place_differs(one: Any, other: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert bool(list(different_values(one, other))) != same
    assert len(list(different_values(one, other))) == len(list(different_values(other, one)))


def test_places_are_pointers_and_names_cannot_forge_a_terminal() -> None:
    old, new = {"a/b~": [1, 2], "\x1b[2J": 1}, {"a/b~": [1, 3], "\x1b[2J": 2}
    found = list(different_values(old, new))
    assert any(each.startswith("/a~1b~0/1: 2, computed 3") for each in found)
    assert not any("\x1b" in each for each in found)


def test_many_differences_are_counted() -> None:
    files = [VerifiedFile("a", 3), VerifiedFile("b", 50, tuple(f"/{n}" for n in range(40)))]
    lines = list(verified_lines("run", "1", files))
    assert lines[0] == "a: 3 values, as computed" and "  … 30 more" in lines
    assert lines[-1] == "run, made by version 1: 1 file of it says something else than its raw files"
    assert not is_sound(files) and is_sound(files[:1])
