"""Discovery penalties of two deliveries against each other: paired by task, against scipy."""

from __future__ import annotations

import re

import numpy as np
import pytest
from effects_made import manifest, task
from scipy.stats import permutation_test, ttest_1samp

from skill_health.documents._record import convert_record, record_values
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_report import EffectReport, ModelEffectReport
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.effects.build import build_report

PLAIN, TOLD, SERVED, SERVED_TOLD = ARMS = ("target", "target+hint", "target@mcp", "target@mcp+hint")


def model_of(passes: dict[str, list[int]], missing: tuple[str, str] = ("", "")) -> ModelEffectReport:
    """The only model of a report of tasks with so many passes of three in each arm."""
    count = len(next(iter(passes.values())))
    planned = manifest([task(f"{n:03}", "a") for n in range(count)], arms=("control", *passes))
    results = [
        TrialResult(f"{n:03}", "scripted", arm, each, "pass" if each < found[n] else "fail")
        for arm, found in passes.items() for n in range(count) for each in range(3)
        if (f"{n:03}", arm) != missing
    ]  # fmt: skip
    return build_report(convert_record(planned, EffectManifest), results).models[0]


def drawn(tasks: int, levels: tuple[float, ...] = (0.5, 0.7, 0.3, 0.8)) -> dict[str, list[int]]:
    rng = np.random.default_rng(tasks)
    return {arm: rng.binomial(3, level, tasks).tolist() for arm, level in zip(ARMS, levels, strict=True)}


@pytest.mark.slow
def test_the_difference_is_of_the_penalties_of_each_task() -> None:
    passes = drawn(14)
    (found,) = model_of(passes).penalties
    shares = {arm: np.array(each) / 3 for arm, each in passes.items()}
    values = (shares[SERVED_TOLD] - shares[SERVED]) - (shares[TOLD] - shares[PLAIN])
    assert (found.arm, found.against, found.tasks) == (SERVED, PLAIN, 14)
    assert found.delta.value == pytest.approx(values.mean()) and found.differing == np.count_nonzero(values.round(9))
    flipped = permutation_test((values,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert found.delta.p == found.delta.p_adjusted == pytest.approx(flipped.pvalue, rel=1e-5)
    plain = ttest_1samp(values, 0).confidence_interval()
    shares, counts = np.unique(values.round(9), return_counts=True)
    away = [values[np.abs(values - each) > 1e-9] - each for each in shares[counts == counts.max()]]
    squares = ((values - values.mean()) ** 2).sum()
    wider = np.sqrt(1 + counts.max() / 14 * max((each**2).mean() for each in away) / squares)
    ends = [values.mean() + wider * (end - values.mean()) for end in plain]
    assert (found.delta.low, found.delta.high) == pytest.approx(ends, abs=1e-6)


def test_a_difference_of_differences_may_go_beyond_a_whole() -> None:
    tasks = 40
    passes = {PLAIN: [3] * tasks, TOLD: [0, *[1] * (tasks - 1)], SERVED: [0] * tasks, SERVED_TOLD: [3] * tasks}
    (found,) = model_of(passes).penalties
    assert found.delta.value == pytest.approx(1 + 2 / 3 + 1 / 3 / tasks)
    assert found.delta.high is not None and 1.6 < found.delta.high <= 2


def test_only_tasks_with_all_four_arms_count() -> None:
    (found,) = model_of(drawn(14), ("003", SERVED)).penalties
    assert found.tasks == 13 and found.delta.n == 13


def test_few_tasks_that_differ_are_not_testable() -> None:
    passes = {arm: [1] * 9 for arm in ARMS}
    passes[SERVED] = [1] * 4 + [2] * 5
    (found,) = model_of(passes).penalties
    assert not found.testable and re.findall(r"\d+", found.note) == ["5", "9", "6"]
    assert (found.delta.p, found.delta.low) == (None, None)


def test_every_two_deliveries_are_corrected_together() -> None:
    rng = np.random.default_rng(2)
    more = {f"target@prompt{hint}": rng.binomial(3, 0.5, 20).tolist() for hint in ("", "+hint")}
    found = model_of(drawn(20) | more).penalties
    assert {(each.arm, each.against) for each in found} == {
        ("target@prompt", PLAIN), (SERVED, PLAIN), (SERVED, "target@prompt"),
    }  # fmt: skip
    least = min(found, key=lambda each: each.delta.p or 1)
    assert least.delta.p is not None and least.delta.p_adjusted == pytest.approx(min(1.0, 3 * least.delta.p), rel=1e-5)


def test_without_both_hints_there_is_nothing_to_compare() -> None:
    passes = drawn(8)
    del passes[TOLD]
    assert model_of(passes).penalties == ()


def test_a_report_without_them_still_loads() -> None:
    planned = convert_record(manifest([task("000", "a")], ("control", *ARMS)), EffectManifest)
    values = record_values(build_report(planned, []))
    assert values["models"][0].pop("penalties")
    assert convert_record(values, EffectReport).models[0].penalties == ()
