"""What a run can show: the table of facts, statsmodels' power, simulation of the tests that decide, and reasons."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower
from thinned import EXHAUSTIVE, SLOW, thinned

from skill_health.stats.hypothesis_tests import sign_flip
from skill_health.stats.multiplicity import FIRST_WEIGHT, SECOND_WEIGHT, holm
from skill_health.stats.power import fewest_differing, mde_from_sd, mde_paired, preliminary_reasons, simulated_mde
from skill_health.stats.resampling import paired_t


@pytest.mark.parametrize(
    ("prompts", "points"),
    [(50, (15.9, 9.1, 5.0)), (100, (11.2, 6.5, 3.5)), (200, (7.9, 4.6, 2.5)), (1000, (3.5, 2.0, 1.1))],
)
def test_the_best_case_is_the_known_table(prompts: int, points: tuple[float, ...]) -> None:
    found = [100 * mde_paired(prompts, replications) for replications in (1, 3, 10)]
    assert found == pytest.approx(points, abs=0.06)


def test_the_effect_is_found_four_times_out_of_five() -> None:
    effect, rng = mde_paired(100, 3), np.random.default_rng(1)
    # Half of the variance 0.16 of a call lies between prompts: chances with a variance of 0.08.
    chance = rng.beta(0.8, 0.2, (3_000, 100))
    assert chance.var() == pytest.approx(0.08, abs=0.002)
    baseline = rng.binomial(3, chance) / 3
    # A gain that leaves the noise as it is.
    differences = rng.binomial(3, chance) / 3 - baseline + effect
    power = np.mean(stats.ttest_1samp(differences, 0, axis=1).pvalue < 0.05)
    assert power == pytest.approx(0.8, abs=0.025)


def test_more_replications_do_not_help_where_prompts_decide() -> None:
    assert mde_paired(50, 3, icc=0.95) < mde_paired(50, 3, icc=0.5) < mde_paired(50, 3, icc=0.0)
    assert mde_paired(50, 3, power=0.9) > mde_paired(50, 3)


@pytest.mark.parametrize("clusters", [5, 8, 20, 100])
def test_from_a_standard_deviation_it_is_that_of_statsmodels(clusters: int) -> None:
    found = mde_from_sd(clusters, 0.25)
    assert found == pytest.approx(0.25 * TTestPower().solve_power(nobs=clusters, alpha=0.05, power=0.8), rel=0.02)


def test_one_cluster_shows_nothing() -> None:
    assert mde_from_sd(1, 0.2) is None
    for wrong in ((0, 3), (5, 0)):
        with pytest.raises(ValueError, match="no effect can be detected"):
            mde_paired(*wrong)


@pytest.mark.parametrize(
    ("clusters", "half_width", "missing", "effect", "reasons"),
    [
        (30, 0.05, 0.05, 0.05, []),
        (30, 0.5, 0.0, None, []),
        (29, 0.01, 0.0, 0.05, [r"\D*30 \D*29\D*$"]),
        (50, 0.061, 0.0, 0.06, [r"\D*6\.1 pp \D*6\.0 pp$"]),
        (50, None, 0.0, None, ["no interval"]),
        (50, 0.01, 0.051, None, [r"5\.1 % of the calls\D*5 %\D*$"]),
        (0, None, 1.0, 0.05, [r"\D*30 \D*0\D*$", "no interval", r"100\.0 % of the calls"]),
    ],
)
def test_a_result_is_preliminary_for_a_reason(
    clusters: int, half_width: float | None, missing: float, effect: float | None, reasons: list[str]
) -> None:
    found = preliminary_reasons(clusters, half_width, missing, effect)
    assert len(found) == len(reasons)
    assert all(re.match(start, one) for one, start in zip(found, reasons, strict=True))


def test_shares_stay_shares() -> None:
    assert 0 < mde_paired(1, 1) < 2
    assert math.isclose(mde_paired(400, 1), mde_paired(100, 1) / 2)


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
    few, wide, missing = preliminary_reasons(20, 0.2, 0.06, 0.1, "tasks", "trials")
    assert re.fullmatch(r"\D*30 tasks\D*20\D*", few)
    assert wide == "half-width 20.0 pp exceeds the declared effect of 10.0 pp"
    assert re.fullmatch(r"6\.0 % of the trials\D*5 %\D*", missing)


HARD = 2.5


def apart(difference: float) -> float:
    """How many logits from the middle either arm must be for this mean difference over all tasks there could be."""
    tasks, low, high = HARD * stats.norm.ppf((np.arange(1000) + 0.5) / 1000), 0.0, 12.0
    for _ in range(40):
        middle = (low + high) / 2
        found = (stats.logistic.cdf(tasks + middle) - stats.logistic.cdf(tasks - middle)).mean()
        low, high = (middle, high) if found < difference else (low, middle)
    return low


def found(tasks: int, replications: int, tests: int, against: int, difference: float, runs: int) -> float:
    """The share of simulated runs in which each gain is significant and Student's interval above zero."""
    rng, off, hits = np.random.default_rng([tasks, replications]), apart(difference), 0
    for _ in range(runs):
        hard = HARD * rng.standard_normal(tasks)
        sides = (off, *[-off] * against)
        one, *others = (rng.binomial(replications, stats.logistic.cdf(hard + side)) for side in sides)
        hits += all(is_gain(((one - other) / replications).tolist(), tests) for other in others)
    return hits / runs


def is_gain(by: list[float], tests: int) -> bool:
    p, student = sign_flip(by), paired_t(by)
    low = student.value if student.low is None else student.low
    return sum(each != 0 for each in by) >= 6 and (p or 1) * tests < 0.05 and (low or 0) > 0


@pytest.mark.parametrize(
    ("tasks", "replications", "tests", "against"),
    thinned(
        [(8, 3, 1, 1), (15, 3, 1, 1), (15, 1, 1, 1), (20, 3, 3, 1), (29, 2, 1, 1), (15, 3, 1, 3), (20, 2, 2, 2)],
        3, SLOW, EXHAUSTIVE,
    ),
)  # fmt: skip
def test_it_is_found_about_as_often_as_it_says(tasks: int, replications: int, tests: int, against: int) -> None:
    least = simulated_mde(tasks, replications, tests, against)
    assert least is not None
    # At best: the sign flip, which decides, finds a little less than what stands in for it.
    assert 0.66 <= found(tasks, replications, tests, against, least, 250) <= 0.86


@pytest.mark.slow
def test_more_tasks_replications_and_fewer_tests_find_less() -> None:
    def points(tasks: int, replications: int = 3, tests: int = 1) -> float:
        least = simulated_mde(tasks, replications, tests)
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
    assert simulated_mde(tasks, 3, tests) is None


@pytest.mark.parametrize("wrong", [(0, 3, 1), (5, 0, 1), (5, 3, 0), (5, 3, 1, 0)])
def test_nothing_at_all_is_refused(wrong: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\D*".join(str(wrong[at]) for at in (2, 0, 1))):
        simulated_mde(*wrong)


ONE_MODEL = 1 + SECOND_WEIGHT / FIRST_WEIGHT
"""The tests that one model counts as, success and efficiency together."""


@pytest.mark.slow
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
        least = simulated_mde(tasks, 3, ONE_MODEL)
        assert least is not None and round(100 * least) == points
    assert simulated_mde(none, 3, ONE_MODEL) is None
    own = re.search(
        r"at best (\d+) points with (\d+) tasks, (\d+) with (\d+), (\d+) with (\d+), (\d+) with (\d+)\.", text
    )
    assert own is not None
    numbers = list(map(int, own.groups()))
    for points, tasks in zip(numbers[::2], numbers[1::2], strict=True):
        least = simulated_mde(tasks, 3, ONE_MODEL, against=3)
        assert least is not None and round(100 * least) == points


def test_other_pages_say_of_power_what_its_table_says(checkout: Path) -> None:
    table = (checkout / "docs/statistics.md").read_text("utf-8").split("### Power")[1].splitlines()
    rows = [[cell.strip(" %+") for cell in line.split("|")[1:-1]] for line in table if line.startswith("|")]
    effects = [int(cell.split()[0]) for cell in rows[0][1:]]
    power = dict(zip(effects, map(int, next(row for row in rows if row[0] == "20")[1:]), strict=True))
    words = {"nine times in ten": 90, "seven times in ten": 70, "once in nine": 11.1}
    for page in ("README.md", "docs/effectiveness.md"):
        text = " ".join((checkout / page).read_text("utf-8").split())
        (said,) = re.findall(r"[Tt]wenty tasks(?: with three replications)? detect an? .*?[.;]", text)
        claims = re.findall(rf"(\d+) points ({'|'.join(words)})", said)
        assert len(claims) >= 2
        assert all(abs(power[int(points)] - words[often]) <= 2 for points, often in claims), (page, claims)
