"""What a run has to reach: tasks that must differ, and reasons in the words of trials and tasks."""

from __future__ import annotations

import pytest

from skill_health.core.stats.multiplicity import holm
from skill_health.core.stats.permutation import sign_flip
from skill_health.core.stats.power import fewest_differing, preliminary


@pytest.mark.parametrize(
    ("tests", "tasks"), [(1, 6), (2, 7), (3, 7), (4, 8), (5, 8), (6, 8), (7, 9), (12, 9), (13, 10)]
)
def test_so_many_must_differ(tests: int, tasks: int) -> None:
    assert fewest_differing(tests) == tasks
    for count, significant in ((tasks, True), (tasks - 1, False)):
        p = holm([sign_flip([1.0] * count), *[0.9] * (tests - 1)])[0]
        assert p is not None and (p < 0.05) is significant


def test_no_test_needs_nothing() -> None:
    with pytest.raises(ValueError, match="nothing is tested"):
        fewest_differing(0)


def test_reasons_name_what_is_counted() -> None:
    assert preliminary(20, 0.2, 0.06, 0.1, "tasks", "trials") == [
        "fewer than 30 tasks (20)",
        "half-width 20.0 pp exceeds the declared effect of 10.0 pp",
        "6.0 % of the trials are missing (more than 5 %)",
    ]
