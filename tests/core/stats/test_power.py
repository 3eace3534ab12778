"""What a run can show: the table of facts, statsmodels' power, simulation, and the reasons for "preliminary"."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from skill_health.core.stats.power import mde_from_sd, mde_paired, preliminary


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
        (29, 0.01, 0.0, 0.05, ["fewer than 30 independent prompts or families (29)"]),
        (50, 0.061, 0.0, 0.06, ["half-width 6.1 pp exceeds the declared effect of 6.0 pp"]),
        (50, None, 0.0, None, ["no interval"]),
        (50, 0.01, 0.051, None, ["5.1 % of the calls are missing (more than 5 %)"]),
        (0, None, 1.0, 0.05, ["fewer than 30", "no interval", "100.0 % of the calls"]),
    ],
)
def test_a_result_is_preliminary_for_a_reason(
    clusters: int, half_width: float | None, missing: float, effect: float | None, reasons: list[str]
) -> None:
    found = preliminary(clusters, half_width, missing, effect)
    assert len(found) == len(reasons)
    assert all(one.startswith(start) for one, start in zip(found, reasons, strict=True))


def test_shares_stay_shares() -> None:
    assert 0 < mde_paired(1, 1) < 2
    assert math.isclose(mde_paired(400, 1), mde_paired(100, 1) / 2)
