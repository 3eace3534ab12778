"""Skills ranked by what is lost without them; crowding and order as contrasts; arms for each skill."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from effects_made import manifest, task
from run_made import SKILLS, TASKS, a_model, a_plan
from run_made import task as a_task
from scipy.stats import permutation_test

from skill_health.bench.report_formats import PLAIN, RenderOptions
from skill_health.core.errors import UsageError
from skill_health.documents._record import convert_record
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_report import EffectReport, ModelEffectReport
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.plan.forecast import study_notes
from skill_health.effectiveness.reports import csv_, markdown, text
from skill_health.effectiveness.workspace.staging import expand_arms, parse_arm, parse_arms, staged
from skill_health.stats.multiplicity import holm

ARMS = ("control", "target", "full", "leave_one_out:a", "leave_one_out:b", "leave_one_out:c")


def report_of(passes: dict[str, Sequence[int]], reps: int = 3) -> EffectReport:
    """A report of tasks with so many passes in each arm."""
    count = len(next(iter(passes.values())))
    values = manifest([task(f"{n:03}", "a") for n in range(count)], arms=list(passes), replications=reps)
    results = [
        TrialResult(f"{n:03}", "scripted", arm, each, "pass" if each < found[n] else "fail")
        for arm, found in passes.items() for n in range(count) for each in range(reps)
    ]  # fmt: skip
    return build_report(convert_record(values, EffectManifest), results)


# Without a much is lost, without b a little, without c nothing.
PASSES = {
    "control": [0] * 12, "target": [3] * 12, "full": [3] * 12, "leave_one_out:a": [0, 1] * 6,
    "leave_one_out:b": [3, 2] * 6, "leave_one_out:c": [3] * 12,
}  # fmt: skip


def only(report: EffectReport) -> ModelEffectReport:
    (model,) = report.models
    return model


def test_a_contribution_is_the_contrast_with_its_sign_turned() -> None:
    model = only(report_of(PASSES))
    found = {each.skill: each for each in model.contributions}
    assert [(each.rank, each.skill, each.against) for each in model.contributions] == [
        (1, "a", "full"), (2, "b", "full"), (3, "c", "full"),
    ]  # fmt: skip
    contrasts = {each.arm: each for each in model.contrasts if each.against == "full"}
    for skill in "abc":
        delta, turned = contrasts[f"leave_one_out:{skill}"].delta, found[skill].delta
        assert turned.value == pytest.approx(-(delta.value or 0))
        assert (turned.low, turned.high) == tuple(None if end is None else -end for end in (delta.high, delta.low))
        assert (turned.p, turned.p_adjusted) == (delta.p, delta.p_adjusted)
    assert found["a"].delta.value == pytest.approx(2.5 / 3, abs=1e-5)


def test_who_is_above_whom_is_every_pair_by_sign_flip_and_holm_as_scipy_has_it() -> None:
    arms = {skill: PASSES[f"leave_one_out:{skill}"] for skill in "abc"}
    every = list(combinations("abc", 2))
    ps = []
    for one, other in every:
        differences = [x - y for x, y in zip(arms[one], arms[other], strict=True)]
        found = permutation_test(
            (differences,), lambda d, axis: d.mean(axis=axis), permutation_type="samples", vectorized=True
        )
        ps.append(float(found.pvalue))
    # In this order of names, whoever comes first loses more without.
    told = {pair for pair, p in zip(every, holm(ps), strict=True) if p is not None and p < 0.05}
    expected = {
        skill: tuple(other for first, other in every if (first, other) in told and first == skill) for skill in "abc"
    }
    assert {each.skill: each.above for each in only(report_of(PASSES)).contributions} == expected
    assert expected["a"] == ("b", "c")


def test_what_cannot_be_told_apart_is_said() -> None:
    some = {**PASSES, "leave_one_out:a": [3, 3, 2, 3] * 3, "leave_one_out:b": [3, 2, 3, 3] * 3}
    report = report_of(some)
    assert [each.above for each in only(report).contributions] == [(), (), ()]
    assert [each.rank for each in only(report).contributions] == [1, 1, 3]
    for render in (text.render, markdown.render):
        assert "No two of these skills can be told apart" in " ".join(render(report, PLAIN).split())
    shown = " ".join(markdown.render(report_of(PASSES), PLAIN).split())
    assert "a above b, c" in shown and "What is lost without each skill" in shown
    assert "full - target is crowding" in shown


def test_a_run_without_such_arms_ranks_nothing() -> None:
    report = report_of({name: PASSES[name] for name in ("control", "target")})
    assert only(report).contributions == ()
    assert "What is lost" not in text.render(report, PLAIN) and "crowding" not in text.render(report, PLAIN)
    lone = only(report_of({name: PASSES[name] for name in ("control", "target", "leave_one_out:a")}))
    assert lone.contributions == (), "what a skill adds is seen by the collection without it"


def test_all_stands_for_each_skill() -> None:
    arms = parse_arms(("full", "leave_one_out:all+hint", "target_without:all"))
    found = expand_arms(arms, ("b", "a"), ("d", "c"))
    assert [arm.name for arm in found] == [
        "control", "full", "leave_one_out:a+hint", "leave_one_out:b+hint", "target_without:c", "target_without:d",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="no task has several targets"):
        expand_arms(arms, ("a",), ())


def test_a_bundle_without_one_of_its_skills() -> None:
    copies: Any = {skill.name: skill for skill in a_plan().skills}
    bundle = replace(a_task(1, SKILLS[0]), target_skills=SKILLS[:3])
    names = staged(bundle, parse_arm(f"target_without:{SKILLS[1]}"), copies)
    assert [skill.name for skill in names if not isinstance(skill, str)] == [SKILLS[0], SKILLS[2]]
    for one in (bundle, a_task(2, SKILLS[3])):
        assert "is not one of several targets" in str(staged(one, parse_arm(f"target_without:{SKILLS[3]}"), copies))


def test_the_forecast_says_what_it_takes_and_what_is_lacking() -> None:
    arms = tuple(f"leave_one_out:{name}" for name in SKILLS)
    notes = study_notes(a_plan(a_model(), tasks=TASKS, arms=("target", "full", *arms)), {})
    assert "leave_one_out: 4 arms, 32 of the trials, to rank skills by what is lost without them" in notes
    assert not any("arm full" in note for note in notes)
    notes = study_notes(a_plan(a_model(), tasks=TASKS, arms=("target", *arms)), {})
    assert any(note.startswith("warning: ") and "arm full" in note for note in notes)


def test_csv_has_a_row_for_each_skill() -> None:
    report = report_of({"control": [0] * 8, "full": [3] * 8, "leave_one_out:a": [0] * 8, "leave_one_out:b": [3] * 8})
    rows = list(csv.DictReader(io.StringIO(csv_.render(report, RenderOptions(table="contributions")))))
    told = [(each["rank"], each["skill"], each["against"], float(each["value"]), each["above"]) for each in rows]
    assert told == [("1", "a", "full", 1.0, "b"), ("2", "b", "full", 0.0, "")]
