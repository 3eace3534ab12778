"""The judged scores of skills: each with and without, against an independent computation; missing is not zero."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_made import SKILLS, a_model, a_plan, manifest_of, task
from scipy.stats import permutation_test

from skill_health.documents._record import convert_record
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.judge_manifest import LeftOutTrial
from skill_health.documents.judge_report import RubricScore
from skill_health.effectiveness.judge.scores.report import skill_scores

ARMS = ("control", "target")
TASKS = (*(task(n, SKILLS[n % 2]) for n in range(16)), task(16, "none"))
Scores = Mapping[tuple[str, str], Sequence[float | None]]


def manifest(arms: Sequence[str] = ARMS) -> EffectManifest:
    return convert_record(manifest_of(a_plan(a_model("made:m"), tasks=TASKS, arms=arms)), EffectManifest)


def trial(task_id: str, arm: str, replication: int, weighted: float | None, coverage: float = 1.0) -> RubricScore:
    return RubricScore(
        task_id=task_id, model="made:m", arm=arm, replication=replication, folder="trials/x", goal=weighted, instruction=None,
        weighted=weighted, coverage=coverage, criteria=(), flags=(),
    )  # fmt: skip


def trials(scores: Scores) -> list[RubricScore]:
    return [trial(name, arm, at, value) for (name, arm), own in scores.items() for at, value in enumerate(own)]


def drawn(seed: int, gain: float) -> dict[tuple[str, str], list[float | None]]:
    """Scores of two replications; the second skill gains nothing."""
    rng = random.Random(seed)
    found: dict[tuple[str, str], list[float | None]] = {}
    for each in TASKS:
        for arm in ARMS:
            more = gain * (arm == "target" and each.target_name == SKILLS[0])
            found[each.id, arm] = [round(min(100, rng.uniform(20, 60) + more), 6) for _ in range(2)]
    return found


def differences(scores: Scores, skill: str) -> list[float]:
    return [
        (fmean(v for v in scores[each.id, "target"] if v is not None) - fmean(v for v in scores[each.id, "control"] if v is not None)) / 100
        for each in TASKS
        if each.target_name == skill
    ]  # fmt: skip


def test_every_skill_is_compared_over_its_own_tasks_and_corrected_together() -> None:
    scores = drawn(3, 30)
    found = skill_scores(manifest(), trials(scores), ())
    assert [(each.skill, each.model, each.arm, each.against) for each in found] == [
        (name, "made:m", "target", "control") for name in sorted(SKILLS[:2])
    ]
    ps = {}
    for each in found:
        own = differences(scores, each.skill)
        assert each.weighted.delta.value == pytest.approx(fmean(own), abs=1e-9)
        assert (each.weighted.delta.n, each.weighted.delta.clusters, each.trials, each.left_out) == (8, 8, 32, 0)
        oracle = permutation_test((own,), fmean, permutation_type="samples", n_resamples=10**6)
        ps[each.skill] = oracle.pvalue
        assert each.weighted.delta.p == pytest.approx(oracle.pvalue, abs=1e-9)
        sides = {"target": each.weighted.with_skill, "control": each.weighted.without}
        for arm, side in sides.items():
            every = [
                v for task in TASKS if task.target_name == each.skill for v in scores[task.id, arm] if v is not None
            ]
            assert side.value == pytest.approx(fmean(every) / 100, abs=1e-9) and (side.n, side.clusters) == (16, 8)
            assert side.low is not None and side.high is not None and side.low < fmean(every) / 100 < side.high
        assert each.goal.delta.value == each.weighted.delta.value and each.goal.delta.p is None
        assert each.instruction.with_skill.value is None and each.instruction.delta.value is None
    low, high = sorted(ps.values())
    corrected = sorted(each.weighted.delta.p_adjusted or 0 for each in found)
    assert corrected == pytest.approx([2 * low, max(2 * low, high)], abs=1e-9)
    assert {each.skill: each.verdict for each in found} == {SKILLS[0]: "higher", SKILLS[1]: "no_evidence"}


def test_what_is_missing_is_said_and_is_no_zero() -> None:
    scores = {key: list(own) for key, own in drawn(5, 0).items()}
    first = next(each.id for each in TASKS if each.target_name == SKILLS[0])
    scores[first, "target"] = [None, None]
    told = trials(scores)
    told[0] = trial(told[0].task_id, told[0].arm, 0, told[0].weighted, 0.5)
    gone = [LeftOutTrial(task_id=first, model="made:m", arm="control", replication=9, reason="gone")] * 2
    gone += [LeftOutTrial(task_id=TASKS[-1].id, model="made:m", arm="control", replication=0, reason="no target")]
    gone += [LeftOutTrial(task_id=first, model="made:m", arm="negative", replication=0, reason="another arm")]
    found = {each.skill: each for each in skill_scores(manifest(), told, gone)}
    own = found[SKILLS[0]]
    assert (own.weighted.delta.n, own.trials, own.left_out) == (7, 32, 2)
    assert own.missing == pytest.approx(1 - 31.5 / 34)
    assert found[SKILLS[1]].left_out == 0 and found[SKILLS[1]].missing == 0


def test_few_tasks_that_differ_are_not_testable_and_no_pair_of_arms_is_nothing() -> None:
    scores: Scores = {(each.id, arm): [50.0, 50.0] for each in TASKS for arm in ARMS}
    for each in skill_scores(manifest(), trials(scores), ()):
        delta = each.weighted.delta
        assert (each.verdict, delta.value, delta.low, delta.p, delta.p_adjusted) == (
            "not_testable", 0.0, None, None, None,
        )  # fmt: skip
        assert ", 6 " in delta.note
    assert skill_scores(manifest(("control", "negative")), trials(scores), ()) == ()
    assert skill_scores(manifest(), (), ()) == ()


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(st.one_of(st.none(), st.floats(0, 100)), min_size=34, max_size=34), st.randoms(use_true_random=False))
def test_order_changes_nothing_and_shares_stay_shares(values: list[float | None], rng: random.Random) -> None:
    given_ = {(each.id, arm): [values[2 * n + at]] for n, each in enumerate(TASKS) for at, arm in enumerate(ARMS)}
    told = trials(given_)
    found = skill_scores(manifest(), told, ())
    rng.shuffle(told)
    assert skill_scores(manifest(), told, ()) == found
    for each in found:
        assert 0 <= each.missing <= 1
        for side in (each.goal, each.instruction, each.weighted):
            known = [value for value in (side.with_skill.value, side.without.value) if value is not None]
            assert all(0 <= value <= 1 for value in known)
            assert side.delta.value is None or -1 <= side.delta.value <= 1
