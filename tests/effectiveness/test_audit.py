"""The audit: the figures that a run of ours would get, checked by scipy and statsmodels, and what stands of a claim."""

from __future__ import annotations

import json
import operator
import random
from itertools import product
from operator import mul
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from effects_made import manifest, task, trial
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from published_made import CONTROL, TARGET, evaluator, harbor, put, row, rows, waza
from scipy import stats
from statsmodels.stats.multitest import multipletests

from skill_health.commands.effectiveness import command
from skill_health.core.errors import UsageError
from skill_health.core.validation import load_schema
from skill_health.documents._record import convert_record, encode_record, record_values
from skill_health.documents.effect_audit import AuditedComparison, EffectAudit
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.effectiveness.audit.audit import audit
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.published._load import load_published

NEEDED = "6 that differ are needed"
SCHEMA = Draft202012Validator(dict(load_schema("effectiveness-audit")))
COUNTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=10)


def audited(path: Path, **more: Any) -> EffectAudit:
    found = audit(load_published([str(path)]), **more)
    values = json.loads(encode_record(found))
    SCHEMA.validate(values)
    assert convert_record(values, EffectAudit) == found
    return found


def only(found: EffectAudit) -> AuditedComparison:
    ((comparison,),) = [group.comparisons for group in found.groups]
    return comparison


def kinds(comparison: AuditedComparison) -> set[str]:
    return {remark.kind for remark in comparison.remarks}


# The figures


def test_the_figures_are_those_of_a_run_of_ours(tmp_path: Path) -> None:
    models = ("Loop (a)", "Loop (b)")
    passes = {models[0]: (CONTROL, TARGET), models[1]: (TARGET, CONTROL[::-1])}
    file = put(tmp_path, "r.json", [each for model in models for each in rows(*passes[model], model=model)])
    results = [
        trial(f"{at:03}", arm, replication, replication < count, model)
        for model in models
        for arm, counts in zip(("control", "target"), passes[model], strict=True)
        for at, count in enumerate(counts)
        for replication in range(3)
    ]
    frozen = manifest([task(f"{n:03}", None) for n in range(10)], ("control", "target"), models)
    staged = {f"{n:03}": {"control": (), "target": ()} for n in range(10)}
    report = build_report(convert_record(frozen | {"staged": staged}, EffectManifest), results)
    found = audited(file)
    for ours, theirs in zip(report.models, found.groups[0].comparisons, strict=True):
        assert theirs.contrast == ours.contrasts[0]
        assert theirs.verdict == ours.verdict
    rates = [(rate.model, rate.arm, rate.success) for rate in found.groups[0].rates]
    assert rates == [(model.model, arm.arm, arm.success) for model in report.models for arm in model.arms]


@pytest.mark.slow
@settings(max_examples=20)
@given(st.lists(COUNTS, min_size=1, max_size=4))
def test_the_figures_are_those_of_other_programs(tmp_path_factory: pytest.TempPathFactory, runs: list[Any]) -> None:
    written = [
        each
        for at, counts in enumerate(runs)
        for each in rows([one for one, _ in counts], [other for _, other in counts], f"Loop ({at})")
    ]
    random.Random(1).shuffle(written)
    (group,) = audited(put(tmp_path_factory.mktemp("r"), "r.json", written)).groups
    ps = []
    for counts, comparison in zip(runs, group.comparisons, strict=True):
        found = comparison.contrast
        assert found is not None
        thirds = [other - one for one, other in counts]
        apart = [each for each in thirds if each]
        assert found.delta.value == pytest.approx(sum(thirds) / 3 / len(thirds), rel=1e-5)
        assert (found.tasks, found.differing) == (len(counts), len(apart))
        assert comparison.smallest_p == pytest.approx(2.0 ** (1 - len(counts)), rel=1e-5)
        if len(apart) < 6:
            assert (found.sign_flip_p, found.wilcoxon_p, comparison.standing) == (None, None, "not testable")
            continue
        flips = [abs(sum(map(mul, signs, apart))) for signs in product((1, -1), repeat=len(apart))]
        ps.append((sum(each >= abs(sum(apart)) for each in flips) / len(flips), found.p_adjusted))
        assert found.sign_flip_p == pytest.approx(ps[-1][0], rel=1e-5)
        exact = stats.PermutationMethod(n_resamples=2**12)
        wilcoxon = stats.wilcoxon([each / 3 for each in thirds], zero_method="wilcox", method=exact)
        assert found.wilcoxon_p == pytest.approx(wilcoxon.pvalue, rel=1e-5)
    if ps:
        adjusted = multipletests([p for p, _ in ps], method="holm")[1]
        assert [each for _, each in ps] == pytest.approx(list(adjusted), rel=1e-5)


@settings(max_examples=15, deadline=None)
@given(COUNTS, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, counts: list[Any], shuffle: random.Random
) -> None:
    written = rows([one for one, _ in counts], [other for _, other in counts])
    place = tmp_path_factory.mktemp("r")
    before = encode_record(audited(put(place, "r.json", written)))
    shuffle.shuffle(written)
    assert encode_record(audited(put(place, "r.json", written))) == before


# What stands


@pytest.mark.parametrize(
    ("without", "with_", "standing", "direction", "reason"),
    [
        ([0] * 10, [3] * 9 + [2], "stands", "helps", "unexplained gain"),
        ([3] * 4 + [2] * 6, [0] * 10, "stands", "harmful", "harmful"),
        (
            [0, 1, 2, 1, 0, 2, 1, 1],
            [1, 0, 3, 2, 1, 1, 2, 0],
            "does not stand",
            "helps",
            "no evidence: +8.3 pp over 8 tasks",
        ),
        ([0] * 5, [3] * 5, "not testable", "helps", "5 of 5 tasks"),
        ([3] * 9 + [2], [3] * 10, "not testable", "helps", "96.7 %"),
        ([0] * 9, [0] * 9, "not testable", "none", "floor, at most 0.0 %"),
        ([1], [1], "not testable", "none", "0 of 1 tasks"),
    ],
)
def test_what_is_shown_stands(
    tmp_path: Path, without: Any, with_: Any, standing: str, direction: str, reason: str
) -> None:
    found = only(audited(put(tmp_path, "r.json", rows(without, with_))))
    assert (found.standing, found.claim.by, found.claim.direction) == (standing, "rates", direction)
    assert found.verdict and reason in f"{found.verdict.word}: {found.reason}"


def test_one_side_alone_is_not_compared(tmp_path: Path) -> None:
    for name, word in (("With Skills", "without"), ("No Skills", "with")):
        found = only(audited(put(tmp_path, "r.json", [row(f"{n}", name, 3) for n in range(9)])))
        assert (found.standing, found.reason) == ("not testable", f"no trial {word} the skill is published")
        assert (found.tasks, found.claim.by) == (0, "nobody")


def test_the_publishers_difference_is_what_must_stand(tmp_path: Path) -> None:
    runs = {f"{n}": ["passed"] for n in range(8)}
    lost = waza(runs, {name: ["failed"] for name in runs})
    lost["baseline_outcome"]["summary"]["success_rate"] = 1.0
    lost["summary"]["success_rate"] = 0.4
    found = only(audited(put(tmp_path, "w.json", lost)))
    assert (found.claim.by, found.claim.direction, found.standing) == ("publisher", "harmful", "does not stand")
    assert found.reason.startswith("unexplained gain: +100.0 pp")
    assert "claim-differs" in kinds(found) and "no-replications" in kinds(found) and found.skill == "plums"


def test_a_contaminated_control_makes_nothing_testable(tmp_path: Path) -> None:
    runs = {f"{n}": ["passed"] for n in range(8)}
    bad = waza(runs, {name: ["failed"] for name in runs}, session_digest={"tools_used": ["bash", "skill"]})
    found = only(audited(put(tmp_path, "w.json", bad)))
    assert found.standing == "not testable"
    assert found.reason == "contaminated control: 8 of 8 trials without the skill opened one"


def test_a_trial_on_both_sides_contaminates(tmp_path: Path) -> None:
    for n in range(8):
        put(tmp_path, f"runs/no_skills/t{n}__x/result.json", harbor(f"t{n}__x", 0.0))
        put(tmp_path, f"runs/skills/t{n}__x/result.json", harbor(f"t{n}__x", 1.0))
    found = only(audited(tmp_path / "runs"))
    assert found.standing == "not testable" and "8 trials stand on both sides, such as t0__x" in found.reason


def test_partial_credit_is_told_apart(tmp_path: Path) -> None:
    partial = [row(f"{n}", "With Skills", 3, perfectCount=0) for n in range(9)]
    file = put(tmp_path, "r.json", partial + [row(f"{n}", "No Skills", 0) for n in range(9)])
    found = only(audited(file))
    assert found.standing == "stands"
    messages = [remark.message for remark in found.remarks if remark.kind == "partial-credit"]
    assert messages[0] == "27 of 27 passes have less than the full reward"
    assert messages[1].startswith("with full rewards alone: not testable")
    strict = only(audited(file, full_only=True))
    assert strict.standing == "not testable" and "floor" in strict.reason


def test_what_is_missing_is_no_failure(tmp_path: Path) -> None:
    for n in range(8):
        put(tmp_path, f"runs/no_skills/t{n}__x/result.json", harbor(f"t{n}__x", 0.0))
        put(tmp_path, f"runs/skills/t{n}__y/result.json", harbor(f"t{n}__y", 1.0 if n else None))
    put(tmp_path, "runs/skills/more__y/result.json", harbor("more__y", 1.0))
    found = audited(tmp_path / "runs")
    control, target = found.groups[0].rates
    assert (control.trials, control.missing, target.trials, target.missing) == (8, 0, 8, 1)
    comparison = only(found)
    assert comparison.tasks == 7 and comparison.contrast and comparison.contrast.delta.value == 1.0
    assert {"missing-trials", "unpaired-tasks", "no-replications"} <= kinds(comparison)


def test_sides_that_were_run_one_after_the_other(tmp_path: Path) -> None:
    for n in range(2):
        for side, day in (("no_skills", 1), ("skills", 2)):
            started = {"started_at": f"2026-01-0{day}T05:00:0{n}.5Z"}
            put(tmp_path, f"{side}/t{n}__{day}/result.json", harbor(f"t{n}__{day}", 1.0, **started))
    assert "sides-apart" in kinds(only(audited(tmp_path)))
    started = {"started_at": "2026-01-03T00:00:00Z"}
    put(tmp_path, "no_skills/t0__9/result.json", harbor("t0__9", 1.0, **started))
    assert "sides-apart" not in kinds(only(audited(tmp_path)))


def test_a_pass_after_the_time_is_up_is_told(tmp_path: Path) -> None:
    late = {"exception_info": {"exception_type": "AgentTimeoutError"}}
    put(tmp_path, "skills/a__1/result.json", harbor("a__1", 1.0, **late))
    put(tmp_path, "no_skills/a__2/result.json", harbor("a__2", 0.0, **late))
    found = audited(tmp_path)
    assert [rate.passes for rate in found.groups[0].rates] == [0, 0]
    (message,) = [remark.message for remark in only(found).remarks if remark.kind == "late-passes"]
    assert message.startswith("1 trial out of time")


def test_skills_are_families_of_their_own(tmp_path: Path) -> None:
    for skill in ("plums", "figs"):
        runs = {f"{n}": ["passed"] for n in range(8)}
        found = waza(runs, {name: ["failed"] for name in runs}) | {"skill": skill}
        found["baseline_outcome"]["skill"] = skill
        put(tmp_path, f"{skill}.json", found)
    (group,) = audited(tmp_path).groups
    assert [(each.skill, each.tasks) for each in group.comparisons] == [(None, 16), ("figs", 8), ("plums", 8)]
    assert {each.standing for each in group.comparisons} == {"stands"}


# Claims without trials


def test_claims_without_trials(tmp_path: Path) -> None:
    skills = {
        "one": ("PASS", 1), "few": ("PASS", 5), "full": ("PASS", 9), "flat": ("FAIL", 9), "some": ("PASS", 9),
        "not": ("FAIL", None),
    }  # fmt: skip
    figures = {"one": (100, 100), "few": (90, -2), "full": (100, 1), "flat": (4, 1), "some": (80, 20)}
    results = [{"catalog_dir": name, "num": None, "score_pct": s, "uplift_pct": u} for name, (s, u) in figures.items()]
    (group,) = audited(put(tmp_path, "benchmarks.json", evaluator(skills, results))).groups
    assert {each.standing for each in group.comparisons} == {"not testable"}
    assert {each.skill: each.reason for each in group.comparisons} == {
        "one": f"1 task, {NEEDED}",
        "few": f"5 tasks, {NEEDED}",
        "full": "ceiling, 99.0 % without the skill",
        "flat": "floor, at most 4.0 % with or without the skill",
        "some": "only means are published: which tasks differ, and by how much, is not known",
        "not": "neither trials nor a difference are published",
    }
    smallest = {each.skill: each.smallest_p for each in group.comparisons}
    least = pytest.approx(2**-8, rel=1e-5)
    assert smallest == {"one": 1.0, "few": 0.0625, "full": least, "flat": least, "some": least, "not": None}
    counts = operator.attrgetter("label", "skills", "one_task", "few_tasks", "unknown_tasks", "no_gain")
    assert [*map(counts, group.labels)] == [("FAIL", 2, 0, 0, 1, 0), ("PASS", 4, 1, 2, 0, 1)]


# The command


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["audit", *arguments], standalone_mode=False)


def test_the_command_in_each_form(tmp_path: Path) -> None:
    file = str(put(tmp_path, "r.json", [*rows(), row("bad", "No Skills", 9)]))
    text, markdown, data = (run(file, "--format", form) for form in ("text", "md", "json"))
    assert [each.return_value for each in (text, markdown, data)] == [0, 0, 0]
    assert "Of 1 claim 0 stand, 1 do not, and 0 are not testable." in text.output
    assert "row 21: 9 of 3 trials pass" in text.output and "| with | 10 | 30 | 0 | 19 |" in markdown.output
    assert json.loads(data.output) == json.loads(json.dumps(record_values(audit(load_published([file])))))
    assert isinstance(run(str(tmp_path / "gone")).exception, UsageError)
    assert "Only full rewards count as passes." in run(file, "--full-only").output


def test_what_strangers_wrote_forges_nothing(tmp_path: Path) -> None:
    name = "x\x1b[31m\u202e | <script>alert(1)</script> [a](http://b)\n# T"
    sides = {"No Skills": 0, "With Skills": 3, name: 1}
    written = [row(f"{n}", side, passes, f"Loop {name}") for n in range(8) for side, passes in sides.items()]
    file = str(put(tmp_path, "r.json", written))
    for form in ("text", "md", "json"):
        output = run(file, "--format", form).output
        assert "\x1b" not in output and "\u202e" not in output and "\n# T" not in output
        assert form != "md" or "<script>" not in output
