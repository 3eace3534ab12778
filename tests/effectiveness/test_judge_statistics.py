"""Judges that err, simulated: no verdict where nothing is, a planted gain found, noise that shows in the interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from judge_made import criterion, rubric

from skill_health.documents.judge_manifest import FrozenEvidence
from skill_health.documents.judge_result import JudgedCriterion, JudgeResult
from skill_health.effectiveness.judge.scores.report import compare_scores, score_verdict
from skill_health.effectiveness.judge.scores.votes import read_votes, score_trial
from skill_health.stats.estimates import Estimate

CRITERIA, REPS = 4, 3


def differences(
    rng: np.random.Generator, tasks: int, gain: float, flips: float, judges: int = 1, spread: float = 1.0
) -> list[float]:
    """The differences by task of the mean scores of two arms, as judges see them who flip so many verdicts.

    In the control half of all criteria are met on average, unequally by task (`spread` in logits); in the target so
    many more. Each of an odd number of judges flips on its own, and the majority counts.
    """
    shares = 1 / (1 + np.exp(-rng.normal(0, spread, tasks)))
    means = []
    for more in (0.0, gain):
        met = rng.random((tasks, REPS, CRITERIA)) < np.clip(shares + more, 0, 1)[:, None, None]
        seen = met[..., None] ^ (rng.random((tasks, REPS, CRITERIA, judges)) < flips)
        means.append((2 * seen.sum(axis=-1) > judges).mean(axis=(1, 2)))
    return [round(float(each), 9) for each in means[1] - means[0]]


def simulate(runs: int, tasks: int, gain: float, flips: float, seed: int = 1, **more: float) -> Iterator[Estimate]:
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        yield compare_scores(differences(rng, tasks, gain, flips, **more), 1)  # type: ignore[arg-type]


def found(runs: int, *given: float, **more: float) -> float:
    """The share of runs with a verdict."""
    words = [score_verdict(each) for each in simulate(runs, *given, **more)]  # type: ignore[arg-type]
    return sum(word in ("higher", "lower") for word in words) / runs


def sizes(many: int, few: int) -> list[Any]:
    """How many studies every night, and how many before each commit."""
    return [pytest.param(many, marks=pytest.mark.exhaustive), pytest.param(few, marks=pytest.mark.slow)]


@pytest.mark.parametrize("runs", sizes(1000, 100))
@pytest.mark.parametrize("tasks", [10, 20, 30])
@pytest.mark.parametrize("spread", [1.0, 2.5])
def test_two_equal_arms_have_no_more_verdicts_than_declared(tasks: int, spread: float, runs: int) -> None:
    assert found(runs, tasks, 0.0, 0.1, spread=spread) <= (0.05 if runs > 100 else 0.1)


@pytest.mark.parametrize("runs", sizes(400, 20))
def test_a_gain_of_fifteen_points_over_thirty_tasks_is_found(runs: int) -> None:
    words = [score_verdict(each) for each in simulate(runs, 30, 0.15, 0.1)]
    assert words.count("higher") / runs >= 0.8 and "lower" not in words


@pytest.mark.parametrize("runs", sizes(600, 100))
def test_the_interval_covers_the_difference_that_a_judge_sees(runs: int) -> None:
    """A judge that flips a share f of all verdicts sees a difference of 1 - 2 f times the true one."""
    rng = np.random.default_rng(3)
    spread = 1 / (1 + np.exp(-rng.normal(0, 1.0, 200_000)))
    gain = float((np.clip(spread + 0.15, 0, 1) - spread).mean())
    for tasks in (20, 30):
        made = list(simulate(runs, tasks, 0.15, 0.1, seed=4))
        inside = sum(each.low is not None and each.low <= 0.8 * gain <= (each.high or 0) for each in made)
        assert 0.92 <= inside / runs <= (0.99 if runs > 100 else 1)


def widths(flips: float, judges: int = 1, runs: int = 15) -> float:
    """The mean width of the interval over tasks that are nearly all or nothing, so that what varies is the judge."""
    made = simulate(runs, 30, 0.0, flips, judges=judges, spread=6.0)
    known = [each.high - each.low for each in made if each.high is not None and each.low is not None]
    assert len(known) > runs / 2
    return float(np.mean(known))


@pytest.mark.slow
def test_the_noise_of_a_judge_widens_the_interval_and_more_judges_narrow_it() -> None:
    none, tenth, quarter = widths(0.0), widths(0.1), widths(0.25)
    assert none < tenth < quarter
    assert widths(0.1, judges=3) < tenth


def test_votes_on_disk_come_to_what_the_simulation_computes() -> None:
    """The short cut of this module against votes, majorities and scores as a judging has them."""
    rng = np.random.default_rng(7)
    seen = rng.random((REPS, CRITERIA, 3)) < 0.6
    asked = rubric(*(criterion(f"c{at}", "x") for at in range(CRITERIA)))
    results, trials = [], []
    for replication in range(REPS):
        trial = FrozenEvidence(
            task_id="t", model="m", arm="control", replication=replication, folder="", digest="", size=0, length=0,
            left_out=0, twice=False, flags=(),
        )  # fmt: skip
        trials.append(trial)
        for judge in range(3):
            said = tuple(
                JudgedCriterion(
                    criterion=f"c{at}", verdict="met" if seen[replication, at, judge] else "not_met",
                    points=25.0 * seen[replication, at, judge], evidence=(),
                )
                for at in range(CRITERIA)
            )  # fmt: skip
            results.append(
                JudgeResult(
                    task_id="t", model="m", arm="control", replication=replication, judge=f"j{judge}", vote=0,
                    status="finished", verdicts=said,
                )
            )  # fmt: skip
    sheet = read_votes({"t": asked}, ["j0", "j1", "j2"], 1, results)
    scores = [score_trial(sheet, trial).weighted for trial in trials]
    assert scores == pytest.approx((100 * (2 * seen.sum(axis=-1) > 3).mean(axis=1)).tolist())
