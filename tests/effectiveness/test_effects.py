"""From results to a report: figures worked out by hand, by scipy and by statsmodels, in whatever order they come."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from effects_made import MODEL, fixture_like, manifest, replace, reported, scripted, task, trial
from growth import is_linear, lines_run
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from scipy import stats
from statsmodels.stats.multitest import multipletests

from skill_health.core.validation import load_schema
from skill_health.documents._record import TokenUsage
from skill_health.documents.effect_result import SCORED, TrialResult, TrialTests
from skill_health.effectiveness.effects.contrasts import calibration, pairs
from skill_health.effectiveness.records import CONDITIONS
from skill_health.effectiveness.workspace.staging import parse_arm, parse_arms
from skill_health.stats.estimates import best_of
from skill_health.stats.intervals import clustered_mean

ALL_ARMS = (*CONDITIONS, *"placebo aa leave_one_out:skill-1 order:7 target+hint full+hint placebo+hint".split())
SCHEMA = Draft202012Validator(dict(load_schema("effectiveness-report")))
CONTROL = (0, 1, 1, 0, 2, 0, 3, 1, 0, 2)
TARGET = (3, 3, 2, 1, 3, 2, 1, 1, 0, 3)


def passes(arm: str, counts: Sequence[int], model: str = MODEL, trials: int = 3, **more: Any) -> list[TrialResult]:
    """So many passes of three trials in one arm, task by task."""
    return [
        trial(f"{at:03}", arm, replication, replication < count, model, **more)
        for at, count in enumerate(counts)
        for replication in range(trials)
    ]


def one_skill(count: int = 10, **more: Any) -> dict[str, Any]:
    return manifest([task(f"{n:03}", "one") for n in range(count)], ("control", "target"), **more)


def contrasts_of(among: Mapping[str, Any]) -> dict[str, Any]:
    return {each["name"]: each for each in among["contrasts"]}


def dumped(report: Mapping[str, Any]) -> str:
    return json.dumps(report, allow_nan=False)


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "six conditions": (manifest(), ""),
    "all arms, failures": (
        manifest(fixture_like(8, 2, 4), ALL_ARMS, ("scripted:a", "scripted:b")),
        "fail=0.1,quota=0.02,refusal=0.05,hang=0.05",
    ),
    "no negative controls": (manifest(fixture_like(8, 0)), ""),
    "negative controls alone": (manifest(fixture_like(0, 5)), ""),
    "no skill named": (manifest([task("a", None), task("b", None)]), ""),
    "control alone": (manifest(arms=("control",)), ""),
    "hints only": (manifest(fixture_like(8, 2, 4), [arm.name for arm in parse_arms(CONDITIONS, "only")]), ""),
    "nothing scored": (manifest(fixture_like(6, 2)), "auth=1"),
    "one replication": (manifest(fixture_like(9, 2, 3), replications=1), ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_report_is_as_the_schema_says_whatever_order_results_come_in(name: str) -> None:
    made, script = CASES[name]
    specs = [model["spec"] for model in made["models"]]
    results = [each for spec in specs for each in scripted(made, script or "target=0.3", len(spec), spec)]
    report = reported(made, results)
    assert [f"{list(error.path)}: {error.message}" for error in SCHEMA.iter_errors(report)] == []
    random.Random(1).shuffle(results)
    assert dumped(reported(made, results)) == dumped(report)
    empty = reported(made, [])
    assert [error.message for error in SCHEMA.iter_errors(empty)] == []
    assert empty["scored"] == 0 and empty["planned"] == report["planned"] == len(results)
    words = {model["verdict"]["word"] for model in empty["models"]}
    assert words == {"not testable"} and empty["biased"] == []


@pytest.mark.slow
def test_a_contrast_is_what_scipy_says() -> None:
    given = one_skill()
    report = reported(given, passes("control", CONTROL) + passes("target", TARGET))
    (model,) = report["models"]
    found = contrasts_of(model)["target-control"]
    differences = (np.array(TARGET) - np.array(CONTROL)) / 3
    every = stats.PermutationMethod(n_resamples=np.inf)
    exact = stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert (found["kind"], found["tasks"], found["differing"], found["testable"]) == ("primary", 10, 8, True)
    assert found["delta"]["value"] == pytest.approx(differences.mean(), rel=1e-5)
    assert found["sign_flip_p"] == found["delta"]["p"] == pytest.approx(exact.pvalue, rel=1e-5)
    wilcoxon = stats.wilcoxon(differences, zero_method="wilcox", method=every).pvalue
    assert found["wilcoxon_p"] == pytest.approx(wilcoxon, rel=1e-5)
    low, high = stats.t.interval(0.95, 9, differences.mean(), stats.sem(differences))
    # A little wider: some of the ten tasks are alike.
    assert found["t"]["low"] < low and high < found["t"]["high"] and found["t"]["high"] - high < 0.05
    assert found["delta"]["low"] < found["delta"]["value"] < found["delta"]["high"]
    without = sum(CONTROL) / 30
    assert found["normalised_gain"] == pytest.approx(differences.mean() / (1 - without), rel=1e-5)
    assert (found["p_adjusted"], found["correction"]) == (found["sign_flip_p"], "holm")
    control = {each["arm"]: each for each in model["arms"]}["control"]
    success = control["success"]
    assert success["value"] == pytest.approx(without, rel=1e-5)
    assert (success["n"], success["clusters"], control["missing"]) == (30, 10, 0)
    assert [each["flip"] for each in model["tasks"]] == [*["gained"] * 6, "lost", "same", "same", "gained"]


def test_missing_data_is_left_out_and_counted() -> None:
    results = passes("control", CONTROL) + passes("target", TARGET)
    # One replication of task 0 is lost, all of task 1's target, and one of task 2 timed out, which counts.
    lost = [each for each in results if not (each.arm == "target" and each.task_id == "001")]
    lost = [each for each in lost if each.key != ("000", MODEL, "target", 0)]
    lost.append(trial("001", "target", 0, "infrastructure", attempts=3))
    lost = [each for each in lost if each.key != ("002", MODEL, "target", 0)] + [trial("002", "target", 0, "timeout")]
    (model,) = reported(one_skill(), lost)["models"]
    found = contrasts_of(model)["target-control"]
    differences = [1.0, (1 - 1) / 3, *[(b - a) / 3 for a, b in zip(CONTROL[3:], TARGET[3:], strict=True)]]
    assert (found["tasks"], found["delta"]["n"]) == (9, 9)
    assert found["delta"]["value"] == pytest.approx(np.mean(differences), rel=1e-5)
    arm = {each["arm"]: each for each in model["arms"]}["target"]
    assert (arm["trials"], arm["tasks"], arm["missing"]) == (26, 9, 4)
    tasks = {each["task_id"]: each for each in model["tasks"]}
    assert tasks["001"]["flip"] == "missing"
    assert tasks["001"]["arms"]["target"] == {"n": 0, "passes": 0, "success": None, "reward": None}
    assert (model["outcomes"]["timeout"], model["outcomes"]["infrastructure"], model["retried"]) == (1, 1, 1)
    assert any(reason.startswith("6.7 % ") for reason in model["verdict"]["preliminary"])


def test_changes_of_use_are_paired_and_unknown_is_not_zero() -> None:
    results = [
        trial(
            f"{at:03}", arm, 0, True, cost_usd=0.5 if arm == "control" else None, turns=at + 3 * (arm == "target") + at % 3,
            usage=TokenUsage(input_tokens=100 * at + 50 * (arm == "target") * (1 + at % 2)), reward=0.5,
        )
        for at in range(8) for arm in ("control", "target")
    ]  # fmt: skip
    report = reported(one_skill(8, replications=1), results)
    (model,) = report["models"]
    deltas = contrasts_of(model)["target-control"]["deltas"]
    assert deltas["input_tokens"]["value"] == 75 and deltas["input_tokens"]["low"] < 75
    assert deltas["turns"]["value"] == 3
    for unknown in ("cost_usd", "output_tokens", "duration_ms"):
        assert (deltas[unknown]["value"], deltas[unknown]["low"], deltas[unknown]["high"]) == (None, None, None)
        assert deltas[unknown]["note"].endswith(" any task")
    arm = {each["arm"]: each for each in model["arms"]}
    assert arm["target"]["cost_usd"]["value"] is None and arm["control"]["cost_usd"]["value"] == 0.5
    assert arm["target"]["reward"]["value"] == 0.5
    # The model is simulated: what it says that it cost is nobody's money.
    assert (model["cost_usd"], report["cost_usd"]) == (4.0, None)
    assert any("8 of 16 trials is not known" in note for note in report["notes"])


def test_money_that_is_in_no_sum_is_told() -> None:
    given = one_skill(8, models=("priced", "own", "scripted"), replications=1)
    found = [
        trial(f"{at:03}", arm, 0, at > 1 or "infrastructure", model, attempts=3 if at == 1 else 1, cost_usd=usd)
        for model, usd in (("priced", 0.25), ("own", None), ("scripted", 9.0))
        for at in range(8)
        for arm in ("control", "target")
    ]
    report = reported(given, found)
    assert report["cost_usd"] == 4.0
    assert "own: what its trials cost is not known; the sum is of the other models' alone." in report["notes"]
    assert "priced: 2 trials were tried again; what their earlier attempts took is in no figure." in report["notes"]
    assert not any(note.startswith("priced: the cost") for note in report["notes"])


def test_invocation_has_three_values_and_success_given_it_is_apart() -> None:
    results = passes("control", [0] * 10, invoked="no") + passes("target", [3] * 4 + [0] * 6)
    words = ["yes", "no", "not_observable"]
    results = [replace(r, invoked=words[r.replication]) if r.arm == "target" else r for r in results]
    (model,) = reported(one_skill(), results)["models"]
    arm = {each["arm"]: each for each in model["arms"]}["target"]
    assert {word: arm["invoked"][word] for word in words} == dict.fromkeys(words, 10)
    assert (arm["invoked"]["rate"]["value"], arm["invoked"]["rate"]["n"]) == (0.5, 20)
    assert (arm["success_given_invoked"]["value"], arm["success_given_invoked"]["n"]) == (0.4, 10)
    # The control stages nothing that could be opened.
    assert model["tasks"][0]["invoked"] == dict.fromkeys(words, 1)


NAMES = {
    CONDITIONS: "target-control target-negative negative-control full-control full-target target_plus_one-control "
    "target_plus_one-target target_plus_unrelated-control target_plus_unrelated-target",
    ("control", "placebo", "aa", "target"): "target-control placebo-control target-placebo",
    ("control", "full", "leave_one_out:x", "order:7"): "full-control leave_one_out:x-control leave_one_out:x-full "
    "order:7-control order:7-full",
    ("control", "target", "target+hint", "full+hint", "target_plus_one+hint"): "target-control target+hint-control "
    "target+hint-target full+hint-control full+hint-target+hint target_plus_one+hint-control target_plus_one+hint-target+hint",
    ("control", "negative+hint", "target+hint"): "target+hint-control negative+hint-control target+hint-negative+hint",
    ("control", "target", "self_generated", "target_without:b"): "target-control target-self_generated "
    "self_generated-control target_without:b-control target_without:b-target",
    ("target", "placebo"): "target-placebo",
    ("control",): "",
}


@pytest.mark.parametrize(("arms", "names"), NAMES.items())
def test_every_arm_is_compared_with_what_it_should_be(arms: Sequence[str], names: str) -> None:
    found = pairs({arm: parse_arm(arm) for arm in arms})
    assert [pair.name for pair in found] == names.split()
    assert [pair.kind for pair in found if pair.kind == "primary"] == (["primary"] if {"control", "target"} <= {
        arm.removesuffix("+hint") for arm in arms
    } else [])  # fmt: skip
    assert all((pair.kind == "interaction") == (pair.arm.startswith(("target_plus", "full")) and "target" in pair.against)
               for pair in found)  # fmt: skip
    assert {pair.kind for pair in found} <= {"primary", "secondary", "interaction", "discovery"}


def intervals(value: Any, path: tuple[str, ...] = ()) -> Any:
    """Every interval of a report with the names of where it stands."""
    if isinstance(value, dict):
        if value.get("low") is not None:
            yield path, value["low"], value["high"]
        for name, each in value.items():
            yield from intervals(each, (*path, name))
    elif isinstance(value, list):
        for each in value:
            yield from intervals(each, path)


def test_no_interval_holds_what_cannot_be() -> None:
    tasks = [*(task(f"{n:03}", "one") for n in range(6)), task("9", "none")]
    given = manifest(tasks, ("control", "target", "negative"))
    found = passes("control", [0] * 6) + passes("target", [3] * 5 + [2]) + passes("negative", [2] + [3] * 5)
    found = [replace(each, turns=90 if each.task_id < "005" else 1, duration_ms=0.5) for each in found]
    shares, amounts = set(), set()
    for path, low, high in intervals(reported(given, found)):
        if path[-1] in ("delta", "t", "ninety"):
            shares |= {low, high}
        elif "arms" in path:
            amounts.add(low)
    assert max(shares) == 1.0 and min(shares) >= -1.0
    assert min(amounts) == 0.0


def test_a_run_with_hints_only_has_its_placebo_and_its_second_target() -> None:
    arms = parse_arms(("control", "target", "placebo", "aa"), "only")
    said = " ".join(reported(manifest(fixture_like(3, 1), [arm.name for arm in arms]), [])["notes"])
    assert "No placebo" not in said and "No A/A" not in said
    assert "No placebo" in " ".join(reported(one_skill(), [])["notes"])


def test_the_target_again_calibrates_and_nothing_else() -> None:
    assert calibration({arm: parse_arm(arm) for arm in ("control", "aa", "target")}) is not None
    assert calibration({arm: parse_arm(arm) for arm in ("control", "aa")}) is None
    assert calibration({arm: parse_arm(arm) for arm in ("aa", "target")}) is not None
    given = one_skill(12) | {"arms": ["control", "target", "aa"]}
    given["staged"] = {each: {"control": [], "target": [], "aa": []} for each in given["staged"]}
    for target, again, verdict in (
        ([0, 3], [0, 3], "not testable"), ([0, 3], [3, 0], "no difference shown"), ([0, 1], [3, 3], "differs"),
    ):  # fmt: skip
        results = passes("control", [1] * 12) + passes("target", target * 6) + passes("aa", again * 6)
        report = reported(given, results)
        (model,) = report["models"]
        assert (model["calibration"]["name"], model["calibration"]["verdict"]) == ("aa-target", verdict)
        assert not any(each["arm"] == "aa" for each in model["contrasts"])
        assert any("the target differs from itself" in note for note in report["notes"]) == (verdict == "differs")


@pytest.mark.slow
def test_corrections_are_those_of_statsmodels() -> None:
    given = manifest(fixture_like(24, 4, 3), models=[f"scripted:{n}" for n in range(3)])
    # Nothing is known of what they took, so success is tested by itself; test_endpoints has both together.
    results = [
        replace(each, usage=TokenUsage(), cost_usd=None)
        for n, model in enumerate(given["models"])
        for each in scripted(given, f"base=0.3,target={0.1 + 0.1 * n},negative=0.1", n + 1, model["spec"])
    ]
    models = reported(given, results)["models"]
    whole = [each for model in models for each in model["contrasts"]]
    skills = [each for model in models for skill in model["skills"] for each in skill["contrasts"]]
    categories = [each for model in models for category in model["categories"] for each in category["contrasts"]]
    families = {
        "models": ("holm", [each for each in whole if each["kind"] == "primary"]),
        "skills": ("holm", [each for each in skills if each["kind"] == "primary"]),
        "others": ("benjamini-hochberg", [each for each in whole if each["kind"] != "primary"]),
        "others of skills": ("benjamini-hochberg", [e for e in skills if e["kind"] != "primary"] + categories),
    }
    # Categories are compared apart, and in no other arms.
    assert {each["name"] for each in categories} == {"target-control"}
    for model in models:
        found = [(each["category"], each["tasks"]) for each in model["categories"]]
        assert found == [(f"category-{n}", 6) for n in range(4)]
    for method, family in families.values():
        assert {each["correction"] for each in family} == {method}
        tested = [each for each in family if each["testable"]]
        assert len(tested) >= 3 and all(each["p_adjusted"] is None for each in family if not each["testable"])
        # Theirs looks for garbage in all of this process, each time.
        with patch("gc.collect"):
            named = "holm" if method == "holm" else "fdr_bh"
            expected = multipletests([each["sign_flip_p"] for each in tested], method=named)
        assert [each["p_adjusted"] for each in tested] == pytest.approx(expected[1].tolist(), rel=1e-4)


def test_leaders_come_first_and_equal_ones_share_a_place() -> None:
    given = one_skill(models=("x:a", "x:b", "x:c", "x:d"))
    results = [each for model in ("x:a", "x:b", "x:c") for each in passes("control", CONTROL, model)]
    results += passes("target", [1] * 10, "x:a") + passes("target", TARGET, "x:b") + passes("target", TARGET, "x:c")
    board = reported(given, results)["leaderboard"]
    assert [(each["skill"], each["rank"], each["model"]) for each in board] == [
        (skill, rank, model)
        for skill in (None, "one")
        for rank, model in ((1, "x:b"), (1, "x:c"), (3, "x:a"), (None, "x:d"))
    ]


HOSTILE: dict[str, Any] = {
    "cost_usd": float("nan"), "duration_ms": float("inf"), "usage": TokenUsage(10**30, -5, 3), "reward": 7.5, "turns": 10**40,
    "resolved_model": "\ud800\x1b[31m", "error": "\x00",
}  # fmt: skip


@pytest.mark.slow
def test_hostile_numbers_and_names_do_no_harm() -> None:
    name = "\u202ename\x1b]0;\ud8ff"
    given = manifest([task("odd", name), *fixture_like(7, 2)], ("control", "target"))
    results = scripted(given, "target=0.5", 1)
    report = reported(given, [replace(each, **HOSTILE) for each in results])
    assert [error.message for error in SCHEMA.iter_errors(report)] == []
    dumped(report).encode("ascii")
    (model,) = report["models"]
    assert report["cost_usd"] is None
    assert all(arm["input_tokens"]["value"] is None and arm["reward"]["value"] == 7.5 for arm in model["arms"])


def test_what_was_not_planned_is_left_out_and_said() -> None:
    given = one_skill(2)
    fine = passes("control", [1, 2]) + passes("target", [3, 3])
    foreign = [
        trial("999", "control", 0, True), trial("000", "full", 0, True), trial("000", "control", 3, True),
        trial("000", "control", 0, True, "other"), trial("000", "control", -1, True),
    ]  # fmt: skip
    second = [trial("000", "control", 0, "auth"), trial("000", "control", 0, "fail")]
    reports = [reported(given, each) for each in (fine + foreign + second, second[::-1] + foreign + fine[::-1])]
    assert dumped(reports[0]) == dumped(reports[1])
    assert reports[0]["planned"] == 12 and sum(reports[0]["outcomes"].values()) == 12
    assert reports[0]["notes"][1].startswith("7 results belong to no planned trial")


@pytest.mark.slow
@settings(max_examples=10)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 8), st.sampled_from(ALL_ARMS), st.integers(0, 2), st.sampled_from([*SCORED, "auth", "cancelled"]),
            st.sampled_from([None, 0.0, 0.5, 2.0]), st.sampled_from(["yes", "no", "not_observable"]),
        ),
        max_size=80,
    )
)  # fmt: skip
def test_any_results_make_a_report(drawn: list[tuple[Any, ...]]) -> None:
    given = manifest(fixture_like(6, 3, 1), ALL_ARMS)
    results = [
        trial(f"{at:03}", arm, replication, outcome, reward=amount, cost_usd=amount, invoked=invoked)
        for at, arm, replication, outcome, amount, invoked in drawn
    ]
    report = reported(given, results)
    assert [error.message for error in SCHEMA.iter_errors(report)] == []
    assert dumped(reported(given, results[::-1])) == dumped(report)
    (model,) = report["models"]
    assert sum(model["outcomes"].values()) <= model["planned"] and model["scored"] <= len(results)
    for each in model["contrasts"]:
        assert each["testable"] == (each["differing"] >= 6) == (each["sign_flip_p"] is not None)
        assert (each["delta"]["low"] is None) or each["testable"]


@pytest.mark.slow
def test_each_task_costs_the_same() -> None:
    def cost(tasks: int) -> int:
        given = manifest(fixture_like(tasks, 1))
        results = scripted(given, "", 1, given["models"][0]["spec"])
        return lines_run(lambda: reported(given, results))

    assert is_linear(cost, (4,))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7), st.data())
def test_the_best_of_k_is_the_mean_over_all_choices_of_k(values: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    every = [max(chosen) for chosen in itertools.combinations(values, k)]
    assert best_of(values, k) == pytest.approx(sum(every) / len(every), abs=1e-12)
    assert best_of(values, 1) == pytest.approx(sum(values) / len(values), abs=1e-12)


@pytest.mark.parametrize("n", [1, 3, 10, 200])
def test_pass_at_k_is_the_estimator_of_chen_and_others(n: int) -> None:
    for c in {0, 1, n // 2, n}:
        for k in {1, (n + 1) // 2, n}:
            # Their product form, which is computed in another way.
            expected = 1.0 if n - c < k else 1.0 - float(np.prod(1.0 - k / np.arange(n - c + 1, n + 1)))
            assert best_of([1.0] * c + [0.0] * (n - c), k) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match="not known"):
        best_of([1.0] * n, n + 1)


def test_the_best_of_some_tries_stands_beside_the_mean_and_leaves_out_what_was_tried_less_often() -> None:
    made = one_skill(6)
    results = passes("control", (0, 1, 1, 2, 3, 0)) + passes("target", (3, 3, 3, 3, 3, 3))
    # A trial that is missing leaves a task with two: it counts for k 2, and not for k 3.
    lost = ("005", MODEL, "control", 2)
    results = [replace(each, outcome="infrastructure") if each.key[:4] == lost else each for each in results]
    results = [replace(each, reward=0.5 + 0.5 * (each.outcome == "pass")) if each.scored else each for each in results]
    control, target = reported(made, results)["models"][0]["arms"]
    two, three = control["best_of"]
    hits = [1 - math.comb(n - c, 2) / math.comb(n, 2) for c, n in ((0, 3), (1, 3), (1, 3), (2, 3), (3, 3), (0, 2))]
    assert (two["k"], two["pass_at_k"]["value"]) == (2, pytest.approx(np.mean(hits), rel=1e-5))
    assert (two["pass_at_k"]["n"], two["pass_at_k"]["clusters"]) == (17, 6)
    assert (three["pass_at_k"]["value"], three["pass_at_k"]["n"], three["pass_at_k"]["clusters"]) == (0.8, 15, 5)
    assert two["reward"]["value"] == pytest.approx(0.5 + 0.5 * np.mean(hits), rel=1e-5)
    assert two["pass_at_k"]["low"] < two["pass_at_k"]["value"] < two["pass_at_k"]["high"]
    assert [each["pass_at_k"]["value"] for each in target["best_of"]] == [1, 1]
    single = reported(one_skill(6, replications=1), passes("control", (0, 1, 1, 1, 1, 0), trials=1))
    assert "best_of" not in single["models"][0]["arms"][0]


def test_the_tests_of_verifiers_are_told_apart_from_what_passes() -> None:
    results = [
        replace(each, tests=TrialTests(passed=2 + (each.arm == "target"), counted=4, skipped=9)) if each.task_id != "000" else each
        for each in passes("control", [0] * 6) + passes("target", [3] * 6)
    ]  # fmt: skip
    control, target = reported(one_skill(6), results)["models"][0]["arms"]
    tests = [arm["tests"] for arm in (control, target)]
    assert [(each["value"], each["n"], each["clusters"]) for each in tests] == [(0.5, 15, 5), (0.75, 15, 5)]
    assert (control["success"]["value"], target["success"]["value"]) == (0, 1)


def test_an_unbiased_estimate_of_the_best_of_k_covers_the_true_chance() -> None:
    chance, k, rng = np.linspace(0.05, 0.6, 40), 3, np.random.default_rng(7)
    true = float(np.mean(1 - (1 - chance) ** k))
    inside, found = 0, []
    for _ in range(200):
        counts = rng.binomial(5, chance)
        best = [best_of([1.0] * c + [0.0] * (5 - c), k) for c in counts]
        estimate = clustered_mean(best, [1.0] * len(best))
        assert estimate.value is not None and estimate.low is not None and estimate.high is not None
        found.append(estimate.value)
        inside += estimate.low <= true <= estimate.high
    assert np.mean(found) == pytest.approx(true, abs=3 * np.std(found) / math.sqrt(200))
    assert inside >= 186
