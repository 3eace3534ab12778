"""The points of a rubric sum to 100 a group, whatever was written."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.effectiveness.rubric.model import Criterion, make_rubric


def criterion(at: int, points: float, group: str = "goal") -> Criterion:
    return Criterion(f"c{at}", f"Criterion {at}", points, group)  # type: ignore[arg-type]


@given(st.lists(st.floats(0.001, 1e6), max_size=9), st.lists(st.just(0.0), max_size=9))
def test_the_points_of_each_group_sum_to_a_hundred(goal: list[float], instruction: list[float]) -> None:
    written = [criterion(at, points) for at, points in enumerate(goal)]
    written += [criterion(len(goal) + at, points, "instruction") for at, points in enumerate(instruction)]
    rubric = make_rubric(written)
    assert [each.id for each in rubric.criteria] == [each.id for each in written]
    for group, points in (("goal", goal), ("instruction", instruction)):
        found = [each.points for each in rubric.of_group(group)]  # type: ignore[arg-type]
        assert math.fsum(found) == pytest.approx(100 if points else 0)
        if sum(points):
            assert found == pytest.approx([100 * each / math.fsum(points) for each in points])
        else:
            assert len(set(found)) <= 1


@pytest.mark.parametrize(("criteria", "weight", "said"), [
    ([criterion(1, 1), criterion(1, 2)], 0.5, "one id"),
    ([criterion(1, 1), criterion(2, 0)], 0.5, "'goal'"),
    ([criterion(1, -1)], 0.5, "negative"),
    ([criterion(1, math.nan)], 0.5, "no numbers"),
    ([criterion(1, 1)], 1.5, "1.5"),
])  # fmt: skip
def test_what_is_no_rubric_says_why(criteria: list[Criterion], weight: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make_rubric(criteria, weight)
