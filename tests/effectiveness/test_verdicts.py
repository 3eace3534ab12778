"""The rules of verdicts, one by one, and what marks a run as biased."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from effects_made import MODEL, fixture_like, manifest, reported, task, trial
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.effects import contrasts

Counts = list[int]


def results(model: str = MODEL, **arms: Counts) -> list[TrialResult]:
    """So many passes of three in each arm, task by task."""
    return [
        trial(f"{at:03}", arm, replication, replication < count, model)
        for arm, counts in arms.items()
        for at, count in enumerate(counts)
        for replication in range(3)
    ]


def only(count: int, *arms: str, **more: Any) -> dict[str, Any]:
    return manifest([task(f"{n:03}", "one") for n in range(count)], ("control", "target", *arms), **more)


def verdict_of(control: Counts, target: Counts, **arms: Counts) -> dict[str, Any]:
    """The verdict where a placebo did as well as the control, unless it is given."""
    arms = {"placebo": control} | arms
    report = reported(only(len(control), *arms), results(control=control, target=target, **arms))
    (model,) = report["models"]
    (skill,) = model["skills"]
    assert skill["verdict"] == model["verdict"]
    found: dict[str, Any] = model["verdict"]
    return found


ANY_TEXT_HELPS = "any text helps"
PLACEBO = "against a placebo of the same length: "
CEILING = "not testable: *, 96.7 %"
RULES: dict[str, tuple[Counts, Counts, str, str]] = {
    "all gain": ([0] * 10, [3] * 9 + [2], "helps", "+96.7 pp over 10 tasks (95 % interval +86"),
    "all gain all": (
        [0] * 6, [3] * 6, "helps", "+100.0 pp over 6 tasks (no interval: *, p = 0.",
    ),
    "all lose all": ([3] * 6, [2] * 6, "harmful", "-33.3 pp over 6 tasks (no interval: "),
    "all lose": ([3] * 9 + [2], [0] * 10, "harmful", "-96.7 pp over 10 tasks"),
    "a harm from the ceiling": ([3] * 10, [0, 1] * 5, "harmful", "-83.3 pp over 10 tasks"),
    "up and down": ([0, 3] * 6, [3, 0] * 6, "no evidence", "+0.0 pp over 12 tasks"),
    "six differ both ways": ([1] * 12, [2] * 3 + [0] * 3 + [1] * 6, "no evidence", "+0.0 pp over 12 tasks"),
    "five differ": ([0] * 12, [3] * 5 + [0] * 7, "not testable", "not testable: 5 of 12 tasks *, 6 "),
    "six differ": ([0] * 12, [3] * 5 + [2] + [0] * 6, "helps", "+47.2 pp"),
    "none differs": ([1] * 12, [1] * 12, "not testable", "not testable: 0 of 12 tasks *, 6 "),
    "control at the ceiling": ([3] * 9 + [2], [3] * 10, "not testable", CEILING),
    "some losses from the ceiling": ([3] * 19 + [2], [2, 3] * 6 + [3] * 7 + [2], "harmful", "-10.0 pp over 20 tasks"),
    "both at the floor": ([0] * 19 + [1], [1] + [0] * 19, "not testable", "not testable: *, at most 1.7 %"),
    "up from the floor": ([0] * 20, [1] * 8 + [0] * 12, "helps", "+13.3 pp over 20 tasks"),
    "two tasks": ([0, 0], [3, 3], "not testable", "not testable: 2 of 2 tasks *, 6 "),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_the_rules(name: str) -> None:
    control, target, word, reason = RULES[name]
    found = verdict_of(control, target)
    assert found["word"] == word and fnmatchcase(found["reason"], f"{reason}*"), found


def test_with_several_models_more_tasks_must_differ() -> None:
    gains, others = [3] * 6 + [0] * 6, [1, 0] * 6
    models = ["one", "two", "three"]
    planned = only(12, "placebo", models=models)
    found = [each for name in models[1:] for each in results(name, control=[0, 1] * 6, target=others)]
    sure = results("one", control=[0] * 12, placebo=[0] * 12, target=gains)
    found += sure
    report = reported(planned, found)
    verdicts = [model["verdict"] for model in report["models"]]
    assert [verdict["word"] for verdict in verdicts] == ["not testable", "no evidence", "no evidence"]
    assert re.findall(r"\d+", verdicts[0]["reason"]) == ["6", "12", "7", "3"]
    alone = reported(only(12, "placebo", models=["one"]), sure)
    assert alone["models"][0]["verdict"]["word"] == "helps"


@pytest.mark.parametrize(("texts", "word", "notes"), [
    (
        {"placebo": [0] * 12},
        "helps",
        [
            PLACEBO + "+100.0 pp over 12 tasks (no interval: all tasks differ by the same)",
            "better than whatever was staged that is of no use (p = 0.00049 after correction)",
        ],
    ),
    (
        {"placebo": [3] * 11 + [2]},
        ANY_TEXT_HELPS,
        [
            PLACEBO + "+2.8 pp over 12 tasks (no interval: only 1 of 12 tasks differ)",
            "what is of no use gains, too, or the run favours whatever is staged: the gain need not be the skill's",
        ],
    ),
    # One text that is of no use for the task beats it all, the other does nothing.
    ({"placebo": [0] * 12, "negative": [3] * 12}, ANY_TEXT_HELPS, None),
    ({"placebo": [3] * 12, "negative": [0] * 12}, ANY_TEXT_HELPS, None),
    ({"placebo": [0] * 12, "negative": [0] * 12}, "helps", None),
])  # fmt: skip
def test_a_gain_is_the_skills_only_where_no_text_of_no_use_has_it(
    texts: dict[str, Counts], word: str, notes: list[str] | None
) -> None:
    found = verdict_of([0] * 12, [3] * 12, **texts)
    assert found["word"] == word
    assert notes is None or found["notes"][:2] == notes
    assert any(each.startswith("the target is at the ceiling") for each in found["notes"])


def test_a_placebo_that_is_neither_better_nor_worse_leaves_a_gain_unexplained() -> None:
    found = verdict_of([0] * 12, [3] * 7 + [0] * 5, placebo=[3] * 3 + [0] * 7 + [3] * 2)
    assert found["word"] == "unexplained gain"
    assert found["notes"][1].startswith("not shown") and "(p = 0.69 " in found["notes"][1]


def test_without_any_such_text_nobody_knows_whose_gain_it_is() -> None:
    (model,) = reported(only(12), results(control=[0] * 12, target=[3] * 12))["models"]
    assert model["verdict"]["word"] == "unexplained gain"
    assert model["verdict"]["notes"][0].startswith("neither a placebo nor an irrelevant skill was staged")


@pytest.mark.slow
@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=6, max_size=14),
    st.sampled_from([("placebo",), ("negative",), ("placebo", "negative")]),
)
def test_the_union_of_nulls_is_tested_by_the_largest_p(counts: list[tuple[int, ...]], arms: tuple[str, ...]) -> None:
    """By scipy's exact permutation test of each contrast; one unit, so that no correction changes it."""
    named = dict(zip(("control", "target", "placebo", "negative"), map(list, zip(*counts, strict=True)), strict=True))
    used = {name: named[name] for name in ("control", "target", *arms)}
    with patch.object(contrasts, "RESAMPLES", 20):
        (model,) = reported(only(len(counts), *arms), results(**used))["models"]
    word = model["verdict"]["word"]
    gains = [np.array(named["target"]) - np.array(named[arm]) for arm in ("control", *arms)]
    shown = all(
        stats.permutation_test((each,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue < 0.05
        and each.mean() > 0
        for each in gains
    )
    if word == "helps":
        assert shown
    if word in ("unexplained gain", ANY_TEXT_HELPS):
        assert not shown or model["biased"]


def test_a_hinted_target_is_held_against_hinted_texts() -> None:
    found = {"control": [0] * 12, "target+hint": [3] * 12, "placebo": [0] * 12, "placebo+hint": [3] * 11 + [2]}
    planned = manifest([task(f"{n:03}", "one") for n in range(12)], tuple(found))
    (model,) = reported(planned, results(**found))["models"]
    assert model["verdict"]["word"] == ANY_TEXT_HELPS


def test_no_evidence_is_not_evidence_of_none() -> None:
    found = verdict_of([0, 3] * 6, [3, 0] * 6)
    (note,) = found["notes"]
    assert note.startswith("no evidence of an effect is not evidence of none")


def test_why_a_verdict_is_preliminary() -> None:
    few, many = verdict_of([0, 1] * 6, [1, 2] * 6), verdict_of([0] * 40, [1] * 40)
    assert ["(12)" in each for each in few["preliminary"]] == [True, False]
    assert many["preliminary"] == ["no interval"]
    assert verdict_of([0, 1] * 20, [1, 1] * 20)["preliminary"] == []


def test_without_the_arms_there_is_no_verdict() -> None:
    planned = manifest(fixture_like(8, 2), ("control", "full"))
    (model,) = reported(planned, [])["models"]
    assert model["verdict"]["word"] == "not testable"
    assert re.match("not testable: .* target .* control", model["verdict"]["reason"])


def negative(
    control: Counts, irrelevant: Counts, full: Counts, controls: int, models: tuple[str, ...] = (MODEL,)
) -> Any:
    """A report on these tasks, of which the last ones are negative controls."""
    count = len(control)
    planned = manifest(fixture_like(count - controls, controls, 1), ("control", "target", "negative", "full"), models)
    found = [
        each for model in models for each in results(model, control=control, negative=irrelevant, full=full, target=control)
    ]  # fmt: skip
    return reported(planned, found)


def test_a_negative_control_that_gains_marks_the_run_as_biased() -> None:
    report = negative([0, 1] * 10, [3, 2] * 10, [0, 1] * 10, 5)
    (model,) = report["models"]
    assert model["controls"]["passed"] is False and model["verdict"]["word"] == "biased"
    assert all(skill["verdict"]["word"] == "biased" for skill in model["skills"])
    assert report["biased"] == [f"{MODEL}: {reason}" for reason in model["biased"]]
    assert "negative-control is +66.7 pp over 20 tasks, where there should be no " in report["biased"][1]
    assert model["controls"]["note"] == "; ".join(model["biased"])
    assert [each["rank"] for each in report["leaderboard"]] == [None, None]
    over = {(each["name"], each["over"]): each for each in model["controls"]["contrasts"]}
    assert {key: each["failed"] for key, each in over.items()} == {
        ("negative-control", "controls"): True, ("negative-control", "all"): True, ("full-control", "controls"): False,
    }  # fmt: skip
    assert over["negative-control", "all"]["equivalent"] is False


def test_one_biased_model_leaves_the_others_their_verdicts() -> None:
    planned = manifest(fixture_like(15, 5, 1), ("control", "target", "negative"), ("bad", "good"))
    found = results("bad", control=[0] * 20, negative=[3] * 20, target=[3] * 15)
    found += results("good", control=[0] * 20, negative=[0] * 20, target=[3] * 15)
    report = reported(planned, found)
    assert [model["verdict"]["word"] for model in report["models"]] == [ANY_TEXT_HELPS, "helps"]
    assert len(report["biased"]) == 2 and all(reason.startswith("bad: ") for reason in report["biased"])


@pytest.mark.slow
def test_a_significant_difference_within_the_margin_is_no_bias() -> None:
    # 8 points over 120 tasks: certainly there, and declared not to matter.
    control = [1] * 120
    report = negative(control, [2] * 30 + [1] * 90, control, 0)
    (model,) = report["models"]
    (contrast,) = model["controls"]["contrasts"]
    assert contrast["bias_p_adjusted"] < 0.05 and contrast["delta"]["value"] < 0.1
    assert (contrast["failed"], contrast["equivalent"], model["controls"]["passed"]) == (False, None, None)
    assert contrast["note"].startswith("not shown: +8.3 +- ")
    assert report["biased"] == []


def test_equivalence_is_shown_with_enough_tasks_and_not_with_few() -> None:
    many = negative([1] * 80, [1] * 80, [1] * 80, 40)["models"][0]["controls"]
    assert many["passed"] is True and re.findall(r"\d+", many["note"]) == ["3"]
    few = negative([1] * 20, [1] * 20, [1] * 20, 5)["models"][0]["controls"]
    assert few["passed"] is None
    assert " 0 of 3 " in few["note"]
    notes = {(each["name"], each["over"]): each["note"] for each in few["contrasts"]}
    assert re.findall(r"[0-9.]+ pp", notes["negative-control", "all"]) == ["13.9 pp", "10.0 pp"]
    assert re.findall(r"[0-9.]+ pp", notes["full-control", "controls"]) == ["45.1 pp", "10.0 pp"]


@pytest.mark.slow
def test_bias_is_corrected_over_the_whole_run() -> None:
    control, irrelevant = [1, 0, 1, 0, 1] * 4, [2, 1, 1, 0, 2] * 4
    ps = []
    for models in (("a",), ("a", "b", "c")):
        report = negative(control, irrelevant, control, 5, models)
        ps.append([each["bias_p_adjusted"] for each in report["models"][0]["controls"]["contrasts"]][1])
    assert ps[0] < ps[1]


def test_without_negative_controls_nothing_is_claimed() -> None:
    (model,) = reported(only(8), [])["models"]
    note = model["controls"].pop("note")
    assert model["controls"] == {"tasks": [], "arms": [], "contrasts": [], "passed": None}
    assert re.match("not testable: .* negative$", note)


def test_an_agent_that_repeats_itself_is_not_biased_by_what_eight_tasks_did() -> None:
    control, irrelevant = [0] * 7 + [3] + [0, 3] * 6, [3] * 7 + [0] + [0, 3] * 6
    (model,) = negative(control, irrelevant, control, 0)["models"]
    (contrast,) = model["controls"]["contrasts"]
    assert contrast["delta"]["value"] == 0.3 and contrast["differing"] == 8
    # By trials it is 21 against 3; by tasks 7 against 1, which chance does 7 times in 100.
    assert 0.02 < contrast["bias_p"] < 0.05 and contrast["failed"] is True
    few = negative([*control[:8], *control[8:14]], [*irrelevant[:5], *control[5:7], 0, *control[8:14]], [0] * 14, 0)
    (contrast,) = few["models"][0]["controls"]["contrasts"]
    assert contrast["bias_p"] > 0.05 and contrast["failed"] is False


def test_two_negative_controls_alone_never_mark_a_run() -> None:
    planned = manifest(fixture_like(0, 2, 1), ("control", "negative"), replications=3)
    report = reported(planned, results(control=[0, 0], negative=[3, 3]))
    (contrast,) = report["models"][0]["controls"]["contrasts"]
    assert (contrast["bias_p"], contrast["failed"], report["biased"]) == (None, False, [])


def without(found: list[TrialResult], arm: str, tasks: range, replications: range) -> list[TrialResult]:
    """The same where these trials failed for the infrastructure's sake."""
    return [
        trial(each.task_id, arm, each.replication, "infrastructure")
        if each.arm == arm and int(each.task_id) in tasks and each.replication in replications
        else each
        for each in found
    ]


def test_what_one_arm_alone_misses_is_not_taken_for_chance() -> None:
    found = results(control=[1, 0] * 10, placebo=[1, 0] * 10, target=[3, 2] * 10)
    report = reported(only(20, "placebo"), without(found, "target", range(12), range(2, 3)))
    verdict = report["models"][0]["verdict"]
    assert verdict["word"] == "helps"
    assert verdict["preliminary"][-1] == (
        "not missing by chance, it seems: 12 of 60 trials of target, 0 of 60 of control (p = 0.00024)"
    )
    # Half as many of either arm: as many missing, and nothing to say.
    even = without(without(found, "target", range(6), range(2, 3)), "control", range(6, 12), range(2, 3))
    verdict = reported(only(20), even)["models"][0]["verdict"]
    assert not any("by chance" in each for each in verdict["preliminary"])
    assert any(re.match(r"[0-9.]+ % ", each) for each in verdict["preliminary"])


@pytest.mark.parametrize("harm", [False, True])
def test_a_verdict_that_missing_trials_could_undo_says_so(harm: bool) -> None:
    low, high = [0] * 12, [3] * 12
    first = high if harm else low
    found = results(control=first, placebo=first, target=low if harm else high)
    for gone, unsure in ((1, False), (2, True)):
        lost = without(without(found, "target", range(12), range(gone)), "control", range(12), range(gone))
        verdict = reported(only(12, "placebo"), lost)["models"][0]["verdict"]
        assert verdict["word"] == ("harmful" if harm else "helps")
        notes = [each for each in verdict["notes"] if each.startswith("rests on")]
        sign = "+" if harm else "-"
        assert notes == ([
            f"rests on 48 missing trials being missing by chance: had all gone against it, the difference would be {sign}33.3 pp"
        ] if unsure else [])  # fmt: skip


def test_the_ceiling_is_that_of_the_tasks_that_are_compared() -> None:
    """Tasks that name no target have a control, too, and no say in whether the others leave room."""
    tasks = [task(f"{n:03}", "one" if n < 12 else None) for n in range(112)]
    planned = manifest(tasks, ("control", "target", "full"))
    found = results(control=[0, 2] * 6 + [3] * 100, target=[2, 0] * 6)
    (model,) = reported(planned, found)["models"]
    assert model["arms"][0]["success"]["value"] > 0.9
    assert model["verdict"]["word"] == "no evidence"
