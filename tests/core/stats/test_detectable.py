"""The least detectable difference: what it says is found so often is, by the tests that decide verdicts."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from skill_health.core.stats.bootstrap import paired_t
from skill_health.core.stats.detectable import least_detectable
from skill_health.core.stats.permutation import sign_flip

HARD = 2.5


def apart(difference: float) -> float:
    """How many logits from the middle either arm must be for this mean difference over all tasks there could be."""
    tasks, low, high = HARD * stats.norm.ppf((np.arange(1000) + 0.5) / 1000), 0.0, 12.0
    for _ in range(40):
        middle = (low + high) / 2
        found = (stats.logistic.cdf(tasks + middle) - stats.logistic.cdf(tasks - middle)).mean()
        low, high = (middle, high) if found < difference else (low, middle)
    return low


def found(tasks: int, replications: int, tests: int, difference: float, runs: int) -> float:
    """The share of simulated runs in which a gain is significant and Student's interval above zero."""
    rng, off, hits = np.random.default_rng([tasks, replications]), apart(difference), 0
    for _ in range(runs):
        hard = HARD * rng.standard_normal(tasks)
        one, other = (rng.binomial(replications, stats.logistic.cdf(hard + side)) for side in (off, -off))
        by = ((one - other) / replications).tolist()
        p, student = sign_flip(by), paired_t(by)
        low = student.value if student.low is None else student.low
        hits += sum(each != 0 for each in by) >= 6 and (p or 1) * tests < 0.05 and (low or 0) > 0
    return hits / runs


@pytest.mark.parametrize(
    ("tasks", "replications", "tests"), [(8, 3, 1), (15, 3, 1), (15, 1, 1), (20, 3, 3), (29, 2, 1)]
)
def test_it_is_found_about_as_often_as_it_says(tasks: int, replications: int, tests: int) -> None:
    least = least_detectable(tasks, replications, tests)
    assert least is not None
    # At best: the sign flip, which decides, finds a little less than what stands in for it.
    assert 0.66 <= found(tasks, replications, tests, least, 250) <= 0.86


@pytest.mark.slow
def test_more_tasks_replications_and_fewer_tests_find_less() -> None:
    def points(tasks: int, replications: int = 3, tests: int = 1) -> float:
        least = least_detectable(tasks, replications, tests)
        assert least is not None and 0 < least < 1
        return least

    by_tasks = [points(tasks) for tasks in (7, 10, 15, 20, 40, 100)]
    assert by_tasks == sorted(by_tasks, reverse=True)
    assert points(20, 10) < points(20, 3) < points(20, 1)
    assert points(20, 3, 1) < points(20, 3, 4)
    # Far more trials than can be simulated: the formula, which is near where both hold.
    assert points(2_000, 100) < points(500, 10) < points(100, 10)


@pytest.mark.parametrize(("tasks", "tests"), [(1, 1), (5, 1), (6, 2), (7, 4)])
def test_too_few_tasks_find_nothing(tasks: int, tests: int) -> None:
    assert least_detectable(tasks, 3, tests) is None


@pytest.mark.parametrize("wrong", [(0, 3, 1), (5, 0, 1), (5, 3, 0)])
def test_nothing_at_all_is_refused(wrong: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="nothing is tested"):
        least_detectable(*wrong)


def test_the_figures_that_are_published_are_these(checkout: Path) -> None:
    text = " ".join((checkout / "docs/statistics.md").read_text("utf-8").split())
    found = re.search(
        r"(\d+) points with (\d+) tasks and three replications, (\d+) with (\d+), (\d+) with (\d+), (\d+) with (\d+);"
        r" (\d+) with (\d+), and no difference at all with (\d+)",
        text,
    )
    assert found is not None
    *numbers, none = map(int, found.groups())
    for points, tasks in zip(numbers[::2], numbers[1::2], strict=True):
        least = least_detectable(tasks, 3)
        assert least is not None and round(100 * least) == points
    assert least_detectable(none, 3) is None


def test_other_pages_say_of_power_what_its_table_says(checkout: Path) -> None:
    table = (checkout / "docs/statistics.md").read_text("utf-8").split("### Power")[1].splitlines()
    rows = [[cell.strip(" %+") for cell in line.split("|")[1:-1]] for line in table if line.startswith("|")]
    effects = [int(cell.split()[0]) for cell in rows[0][1:]]
    power = dict(zip(effects, map(int, next(row for row in rows if row[0] == "20")[1:]), strict=True))
    words = {"nine times in ten": 90, "three times in four": 75, "once in eight": 12.5}
    for page in ("README.md", "docs/effectiveness.md"):
        text = " ".join((checkout / page).read_text("utf-8").split())
        (said,) = re.findall(r"[Tt]wenty tasks(?: with three replications)? find an? .*?[.;]", text)
        claims = re.findall(rf"(\d+) points ({'|'.join(words)})", said)
        assert len(claims) >= 2
        assert all(abs(power[int(points)] - words[often]) <= 2 for points, often in claims), (page, claims)
