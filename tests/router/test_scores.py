"""Each figure of a report against its definition, written out naively; missing data, labels and clusters as they
should be."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import statistics
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import SKILLS, build_report, frozen, manifest, prompt, replace, result, simulate, values

from skill_health.core.validation import problems
from skill_health.router.plan.orders import presentation
from skill_health.router.records import ANSWERED, NONE, Prompt, RoutingResult
from skill_health.router.scores.judge import judge, ndcg, read_facts
from skill_health.router.scores.metrics import METRICS, measure, quantile
from skill_health.router.scores.skills import matrix, pairs
from skill_health.stats.hypothesis_tests import group_permutation_test

MODELS = ("maker:one", "maker:two")
FAILED = ("format_failure", "refusal", "truncated", "provider_error", "model_unavailable", "cancelled")
STATUSES = [*["finished"] * 6, *FAILED]


def sheet_of(given: dict[str, Any], results: list[RoutingResult]) -> Any:
    return judge(read_facts(frozen(given)), results)


def model_of(report: dict[str, Any], name: str = "maker:one") -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in report["models"] if each["model"] == name)
    return found


@st.composite
def runs(draw: st.DrawFn) -> tuple[dict[str, Any], list[RoutingResult], list[Prompt]]:
    """Any run: prompts of all kinds, some results missing or absent."""
    classes = st.sampled_from([*SKILLS, None])
    prompts = []
    for number in range(draw(st.integers(1, 8))):
        known = draw(st.sampled_from([True, True, True, False]))
        expected = draw(classes) if known else None
        prompts.append(
            Prompt(
                f"p{number}", f"text {number}", expected, known,
                acceptable=tuple(draw(st.sets(st.sampled_from(SKILLS), max_size=2)) - {expected}),
                rejected=tuple(draw(st.sets(st.sampled_from(SKILLS), max_size=2)) - {expected}),
                family=draw(st.sampled_from(["", "f1", "f2"])),
            )
        )  # fmt: skip
    replications = draw(st.integers(1, 3))
    results = []
    for model in MODELS:
        for each in prompts:
            for replication in range(replications):
                if draw(st.integers(0, 9)) == 0:
                    continue
                status = draw(st.sampled_from(STATUSES))
                names = draw(st.permutations([*SKILLS, NONE])) if status == "finished" else []
                ranking = names[: draw(st.integers(1, 5))]
                results.append(result(each.prompt_id, ranking, model, replication, status=status))
    return manifest(prompts, MODELS, replications=replications), draw(st.permutations(results)), prompts


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def naive(prompts: list[Prompt], results: list[RoutingResult]) -> dict[str, tuple[float | None, int]]:
    """Every metric by its definition, with its number of calls."""
    label = {each.prompt_id: each for each in prompts}
    scored = [each for each in results if each.status in ANSWERED]
    tested = [each for each in scored if label[each.prompt_id].known]

    def first(each: RoutingResult) -> str | None:
        return each.ranking[0] if each.ranking else None

    def target(each: RoutingResult) -> str:
        return label[each.prompt_id].expected or NONE

    def good(each: RoutingResult) -> bool:
        return first(each) in {target(each), *label[each.prompt_id].acceptable}

    def gain(each: RoutingResult, name: str) -> int:
        return 2 if name == target(each) else 1 if name in label[each.prompt_id].acceptable else 0

    def graded(each: RoutingResult) -> float:
        ideal = sorted([2] + [1] * len(label[each.prompt_id].acceptable), reverse=True)[:3]
        best = sum(value / math.log2(place + 2) for place, value in enumerate(ideal))
        return sum(gain(each, name) / math.log2(place + 2) for place, name in enumerate(each.ranking[:3])) / best

    skill = [each for each in tested if target(each) != NONE]
    null = [each for each in tested if target(each) == NONE]
    silent = [each for each in tested if first(each) == NONE]
    judged = [each for each in scored if label[each.prompt_id].rejected]
    stolen = [each for each in tested if first(each) not in (None, NONE) and not good(each)]
    tp = sum(target(each) == NONE for each in silent)
    fp, fn = len(silent) - tp, len(null) - tp
    have_null = any(each.known and each.expected is None for each in prompts)
    return {
        "top1": (mean([first(each) == target(each) for each in tested]), len(tested)),
        "top1_skill": (mean([first(each) == target(each) for each in skill]), len(skill)),
        "top3": (mean([target(each) in each.ranking[:3] for each in tested]), len(tested)),
        "acceptable": (mean([good(each) for each in tested]), len(tested)),
        "mrr": (
            mean([1 / (each.ranking.index(target(each)) + 1) if target(each) in each.ranking else 0 for each in tested]),
            len(tested),
        ),
        "ndcg3": (mean([graded(each) for each in tested]), len(tested)),
        "abstention_precision": (mean([target(each) == NONE for each in silent]), len(silent)) if have_null else (None, 0),
        "abstention_recall": (mean([first(each) == NONE for each in null]), len(null)),
        "abstention_f1": ((2 * tp / (2 * tp + fp + fn) if tp + fp + fn else None) if have_null else None, len(tested) if have_null else 0),
        "false_fire": (mean([each in stolen for each in null]), len(null)),
        "false_abstention": (mean([first(each) == NONE for each in skill]), len(skill)),
        "rejected_at_1": (mean([first(each) in label[each.prompt_id].rejected for each in judged]), len(judged)),
        "rejected_at_3": (mean([bool(set(each.ranking[:3]) & set(label[each.prompt_id].rejected)) for each in judged]), len(judged)),
        "steals": (mean([each in stolen for each in tested]), len(tested)),
    }  # fmt: skip


@pytest.mark.slow
@given(runs())
def test_every_metric_is_what_its_definition_says(
    run: tuple[dict[str, Any], list[RoutingResult], list[Prompt]],
) -> None:
    given_, results, prompts = run
    sheet = sheet_of(given_, results)
    for column in sheet.columns:
        own = [each for each in results if each.model == column.model.spec]
        wanted = naive(prompts, own)
        found = values(measure(column, sheet.facts))
        assert set(found) == set(wanted)
        for key, (value, n) in wanted.items():
            assert found[key]["n"] == n, key
            if value is None:
                assert found[key]["value"] is None and found[key]["note"], key
            else:
                assert found[key]["value"] == pytest.approx(value), key
                low, high = found[key]["low"], found[key]["high"]
                if low is None:
                    assert high is None and found[key]["note"].startswith("no interval"), key
                else:
                    assert low - 1e-9 <= value <= high + 1e-9, key
                assert 0 <= found[key].get("coverage", 1) <= 1


@pytest.mark.slow
@given(runs(), st.randoms(use_true_random=False))
@settings(max_examples=10)
def test_the_order_of_results_does_not_matter(
    run: tuple[dict[str, Any], list[RoutingResult], list[Prompt]], rng: random.Random
) -> None:
    given_, results, _ = run
    mixed = list(results)
    rng.shuffle(mixed)
    assert json.dumps(build_report(given_, results)) == json.dumps(build_report(given_, mixed))


@pytest.mark.slow
@given(runs())
def test_denominators_add_up(run: tuple[dict[str, Any], list[RoutingResult], list[Prompt]]) -> None:
    given_, results, _ = run
    report = build_report(given_, results)
    for skill in report["skills"]:
        for part in (skill, *skill["models"]):
            assert part["planned"] == part["missing"] + sum(
                part[name] for name in ("right", "other_skill", "abstained", "no_answer")
            )
            assert part["recall"]["n"] == part["planned"] - part["missing"]
            assert part["picked"] == part["precision"]["n"] >= part["picked_right"] + part["picked_acceptable"]
    for part in (report["confusion"], *(model["confusion"] for model in report["models"])):
        assert all(cell["calls"] >= cell["prompts"] > 0 for cell in part)
    tested = sum(model["metrics"]["top1"]["n"] for model in report["models"])
    assert sum(cell["calls"] for cell in report["confusion"]) == tested
    for model in report["models"]:
        coverage = model["coverage"]
        assert coverage["planned"] == coverage["scored"] + sum(coverage["missing"].values())


def test_missing_is_not_zero() -> None:
    prompts = [prompt("p1", "alpha"), prompt("p2", "beta"), prompt("p3", "beta")]
    results = [
        result("p1", ["alpha"]), result("p2", status="provider_error"), result("p3", ["beta"]),
        result("p1", status="model_unavailable", model="maker:two"), result("p2", status="dry_run", model="maker:two"),
    ]  # fmt: skip
    report = build_report(manifest(prompts, MODELS), results)
    one, two = model_of(report), model_of(report, "maker:two")
    assert one["metrics"]["top1"] | {"low": 0, "high": 0, "method": ""} == {
        "value": 1.0, "low": 0, "high": 0, "n": 2, "clusters": 2, "coverage": pytest.approx(2 / 3, abs=1e-6), "method": "",
    }  # fmt: skip
    assert one["coverage"]["missing"] == {"provider_error": 1}
    assert two["metrics"]["top1"]["value"] is None and "not testable" in two["metrics"]["top1"]["note"]
    assert two["coverage"]["missing"] == {"dry_run": 1, "model_unavailable": 1, "not_run": 1}
    assert [model["model"] for model in report["models"]] == ["maker:one", "maker:two"]
    assert any("maker:two: not testable" in note for note in report["notes"])
    assert any("not finished" in note for note in report["notes"])
    assert report["comparisons"][0]["difference"]["value"] is None
    beta = next(skill for skill in report["skills"] if skill["name"] == "beta")
    assert (beta["planned"], beta["missing"], beta["right"]) == (4, 3, 1)


def test_failed_formats_refusals_and_cut_answers_are_wrong_and_counted_by_kind() -> None:
    prompts = [prompt(f"p{n}", "alpha") for n in range(6)]
    results = [
        result("p0", ["alpha"], attempts=2, first_status="format_failure", first_kinds=("fenced_prose", "prose")),
        result("p1", attempts=2),
        result("p2", status="refusal"),
        result("p3", status="truncated"),
        result("p4", status="provider_error", attempts=2, first_status="format_failure", first_kinds=("prose",)),
        result("p5", status="model_unavailable", attempts=0),
    ]
    model = model_of(build_report(manifest(prompts), results))
    assert model["metrics"]["top1"]["value"] == 0.25 and model["metrics"]["top1"]["n"] == 4
    first, final = model["failures"]["first_attempt"], model["failures"]["after_retry"]
    assert (first["rate"]["value"], first["rate"]["n"]) == (1.0, 5)
    kinds = {each["kind"]: each["calls"] for each in first["kinds"]}
    assert kinds == {"fenced_prose": 1, "prose": 3, "refusal": 1, "truncated": 1}
    assert (final["rate"]["value"], final["rate"]["n"]) == (0.75, 4)
    assert {each["kind"]: each["calls"] for each in final["kinds"]} == {"prose": 1, "refusal": 1, "truncated": 1}
    assert model["failures"]["second_attempts"] == 3
    cells = {cell["picked"]: cell["calls"] for cell in model["confusion"]}
    assert cells == {"alpha": 1, None: 3}


def test_labels_decide_what_can_be_counted() -> None:
    prompts = [
        prompt("skill", "alpha"), prompt("null", None), prompt("label", None, known=False, rejected=("beta",)),
        prompt("unknown", "no-such-skill"), prompt("unlisted", "hidden"),
    ]  # fmt: skip
    hidden = {"name": "hidden", "text": "", "state": "hidden", "description": "Whole text.", "path": "x/SKILL.md"}
    given_ = manifest(prompts, omitted=[hidden])
    results = [result(each.prompt_id, ["beta", NONE]) for each in prompts]
    report = build_report(given_, results)
    metrics = model_of(report)["metrics"]
    assert report["counts"]["untested"] == {"label_only": 1, "unknown_skill": 1}
    assert metrics["top1"]["n"] == 3 and metrics["top1"]["value"] == 0
    assert metrics["rejected_at_1"] | {"low": 0, "high": 0} == metrics["rejected_at_3"] | {"low": 0, "high": 0}
    assert (metrics["rejected_at_1"]["value"], metrics["rejected_at_1"]["n"]) == (1.0, 1)
    assert metrics["mrr"]["value"] == pytest.approx(0.5 / 3, abs=1e-6)
    drilled = {each["prompt_id"]: each for each in report["prompts"]}
    assert drilled["unlisted"]["listing"] == {"state": "hidden", "cut": "Whole text."}
    assert drilled["label"]["failing"] and drilled["label"]["right"] is None
    assert drilled["unknown"]["untested"] == "unknown_skill" and not drilled["unknown"]["failing"]
    forced = build_report(
        given_ | {"template": given_["template"] | {"none_allowed": False}},
        [result("skill", ["alpha"]), result("null", ["beta"])],
    )
    metrics = model_of(forced)["metrics"]
    assert forced["counts"]["untested"]["null_not_allowed"] == 1 and metrics["top1"]["n"] == 1
    assert {key for key in metrics if metrics[key].get("note", "").endswith("let a model abstain")} == {
        "abstention_precision", "abstention_recall", "abstention_f1", "false_fire", "false_abstention",
    }  # fmt: skip


def test_paraphrases_and_replications_are_one_observation() -> None:
    alone = [prompt(f"p{n}", "alpha") for n in range(20)]
    families = [replace(each, family=f"f{n // 5}") for n, each in enumerate(alone)]
    results = [result(f"p{n}", ["alpha" if n < 10 else "beta"], replication=r) for n in range(20) for r in range(3)]
    one, many = (
        model_of(build_report(manifest(each, replications=3), results))["metrics"]["top1"] for each in (families, alone)
    )
    assert (one["n"], one["clusters"], many["n"], many["clusters"]) == (60, 4, 60, 20)
    assert one["high"] - one["low"] > many["high"] - many["low"] > 0.35


def test_results_that_are_not_of_the_run_are_left_out_and_said() -> None:
    given_ = manifest([prompt("p1", "alpha")])
    others = [result("p1", ["beta"]), result("p9", ["beta"]), result("p1", ["b"], "who:knows")]
    report = build_report(given_, [result("p1", ["alpha"]), *others])
    assert model_of(report)["metrics"]["top1"]["value"] == 1.0
    assert any(note.startswith("Left out were 3 results that are second ones") for note in report["notes"])


def test_steals_name_the_thief() -> None:
    prompts = [
        prompt("p1", "alpha"),
        prompt("p2", "beta", acceptable=("alpha",)),
        prompt("p3", None),
        prompt("p4", "delta"),
    ]
    results = [result("p1", ["delta"]), result("p2", ["alpha"]), result("p3", ["delta"]), result("p4", ["delta"])]
    report = build_report(manifest(prompts), results)
    assert model_of(report)["metrics"]["steals"]["value"] == 0.5
    (thief,) = report["steals"]["thieves"]
    assert (thief["skill"], thief["calls"], thief["prompts"], thief["rate"]["n"]) == ("delta", 2, 2, 3)
    assert thief["rate"]["value"] == pytest.approx(2 / 3, abs=1e-6)
    assert thief["from"] == [{"expected": "alpha", "calls": 1}, {"expected": "none", "calls": 1}]


def test_the_matrix_has_none_and_no_answer() -> None:
    prompts = [prompt("p1", "alpha"), prompt("p2", None), prompt("p3", None)]
    results = [result("p1", [NONE]), result("p2", ["beta"]), result("p3", [NONE]), result("p1", (), replication=1)]
    cells = matrix(sheet_of(manifest(prompts, replications=2), results).scored)
    assert [(cell.expected, cell.picked, cell.calls) for cell in cells] == [
        ("alpha", NONE, 1), ("alpha", None, 1), (NONE, "beta", 1), (NONE, NONE, 1),
    ]  # fmt: skip


def test_pairs_carry_similarity_and_shared_words() -> None:
    given_ = manifest([prompt("p1", "alpha"), prompt("p2", "gamma")])
    texts = {"alpha": "Parse invoices, extract totals.", "beta": "Parse invoices and receipts.", "gamma": "Bake bread."}
    given_["catalogue"] = [each | {"text": texts.get(each["name"], "")} for each in given_["catalogue"]]
    found = pairs(sheet_of(given_, [result("p1", ["beta"]), result("p2", ["delta"])]))
    assert [(pair.expected, pair.picked) for pair in found] == [("alpha", "beta"), ("gamma", "delta")]
    assert 0.2 < found[0].similarity < 1 and found[0].shared_words == ("invoices", "parse")
    assert found[1].similarity is None and found[1].shared_words == ()


def test_words_that_most_skills_have_explain_no_confusion() -> None:
    given_ = manifest([prompt("p1", "alpha")])
    given_["catalogue"] = [each | {"text": f"Helps somebody with {each['name']}."} for each in given_["catalogue"]]
    given_["catalogue"][0]["text"] += " Ledgers."
    given_["catalogue"][1]["text"] += " Ledgers."
    (found,) = pairs(sheet_of(given_, [result("p1", ["beta"])]))
    assert found.similarity > 0 and found.shared_words == ("ledgers",)


def test_stability_over_replications() -> None:
    prompts = [prompt("p1", "alpha"), prompt("p2", "beta"), prompt("p3", "beta")]
    picks = {"p1": ["alpha", "alpha", "beta"], "p2": ["beta", "beta", "beta"], "p3": ["beta", "", "alpha"]}
    results = [
        result(name, [pick] if pick else [], replication=r)
        for name, each in picks.items()
        for r, pick in enumerate(each)
    ]
    stability = model_of(build_report(manifest(prompts, replications=3), results))["stability"]
    assert stability["modal_share"]["value"] == pytest.approx(statistics.mean([2 / 3, 1, 1 / 3]), abs=1e-6)
    assert stability["flip_rate"]["value"] == pytest.approx(statistics.mean([2 / 3, 0, 1]), abs=1e-6)
    assert (stability["prompts"], stability["changed"]) == (3, 2)
    once = model_of(build_report(manifest(prompts), results[::3]))["stability"]
    assert once["flip_rate"]["value"] is None and "once" in once["flip_rate"]["note"]


def test_calibration() -> None:
    rng = random.Random(4)
    prompts = [prompt(f"p{n}", "alpha") for n in range(60)]
    stated = {each.prompt_id: rng.choice([0.0, 0.1, 0.35, 0.5, 0.9, 1.0]) for each in prompts}
    right = {name: rng.random() < value for name, value in stated.items()}
    results = [result(name, ["alpha" if right[name] else "beta"], confidence=value) for name, value in stated.items()]
    results[0] = replace(results[0], confidence=None)
    del stated["p0"]
    found = model_of(build_report(manifest(prompts), results))["calibration"]
    assert found["brier"]["value"] == pytest.approx(
        statistics.mean((value - right[name]) ** 2 for name, value in stated.items()), abs=1e-5
    )
    bins: dict[int, list[str]] = {}
    for name, value in stated.items():
        bins.setdefault(min(int(value * 10), 9), []).append(name)
    gaps = [
        len(each) * abs(statistics.mean(stated[n] for n in each) - statistics.mean(right[n] for n in each))
        for each in bins.values()
    ]
    assert found["ece"]["value"] == pytest.approx(sum(gaps) / len(stated), abs=1e-5)
    assert [row["n"] for row in found["bins"]] == [len(bins.get(at, ())) for at in range(10)]


@pytest.mark.slow
def test_agreement_against_statsmodels() -> None:
    from statsmodels.stats.inter_rater import fleiss_kappa

    rng = random.Random(5)
    prompts = [prompt(f"p{n}", rng.choice(SKILLS)) for n in range(40)]
    models = ("a:1", "b:2", "c:3")
    results = [
        result(each.prompt_id, [rng.choice([each.expected, *SKILLS[:2]])], model)
        for each in prompts
        for model in models
    ]
    report = build_report(manifest(prompts, models), results)
    counts = [Counter(each.ranking[0] for each in results if each.prompt_id == p.prompt_id) for p in prompts]
    wanted = fleiss_kappa([[count[name] for name in SKILLS] for count in counts])
    assert report["agreement"]["value"] == pytest.approx(wanted, abs=1e-5)
    assert report["agreement"]["clusters"] == 40
    alone = build_report(manifest(prompts, models[:1]), results[::3])["agreement"]
    assert alone["value"] is None and " one " in alone["note"]


@pytest.mark.slow
def test_models_are_compared_pairwise_with_holm() -> None:
    from statsmodels.stats.multitest import multipletests

    rng = random.Random(6)
    prompts = [prompt(f"p{n}", "alpha") for n in range(40)]
    chance = {"a:1": 0.9, "b:2": 0.6, "c:3": 0.5}
    results = [
        result(each.prompt_id, ["alpha" if rng.random() < share else "beta"], model)
        for model, share in chance.items() for each in prompts
    ]  # fmt: skip
    found = build_report(manifest(prompts, tuple(chance)), results)["comparisons"]
    assert [(pair["first"], pair["second"]) for pair in found] == [("a:1", "b:2"), ("a:1", "c:3"), ("b:2", "c:3")]
    ps = [pair["difference"]["p"] for pair in found]
    # Theirs looks for garbage in all of this process.
    with patch("gc.collect"):
        expected = multipletests(ps, method="holm")[1]
    assert [pair["difference"]["p_adjusted"] for pair in found] == pytest.approx(expected, rel=1e-4)
    right = {
        model: statistics.mean(each.ranking[0] == "alpha" for each in results if each.model == model)
        for model in chance
    }
    for pair in found:
        assert pair["difference"]["value"] == pytest.approx(right[pair["first"]] - right[pair["second"]], abs=1e-6)
        assert pair["difference"]["low"] < pair["difference"]["value"] < pair["difference"]["high"]
        assert pair["better"] + pair["worse"] <= 40 == pair["difference"]["n"]


@pytest.mark.slow
def test_skills_that_differ_from_the_others_are_found() -> None:
    rng = random.Random(7)
    names = [f"s{n:02}" for n in range(20)]
    prompts = [prompt(f"{name}-{n}", name) for name in names for n in range(10)]
    results = [
        result(each.prompt_id, [each.expected if rng.random() < (0.1 if each.expected == "s07" else 0.9) else "s00"])
        for each in prompts
    ]
    report = build_report(manifest(prompts, skills=names), results)
    found = {skill["name"]: skill["recall"] for skill in report["skills"]}
    assert [name for name, recall in found.items() if recall["p_adjusted"] < 0.05] == ["s07"]
    assert all(recall["p_adjusted"] >= recall["p"] for recall in found.values())


def test_a_skill_with_few_prompts_says_so() -> None:
    report = build_report(
        manifest([prompt("p1", "alpha"), prompt("p2", "beta")]), [result("p1", ["alpha"]), result("p2", ["alpha"])]
    )
    notes = {skill["name"]: skill["notes"] for skill in report["skills"]}
    assert "only 1 independent prompt" in notes["alpha"][0]
    (untested,) = notes["gamma"]
    assert untested.endswith("not testable") and "recall" in untested
    assert any("never picked" in note for note in notes["beta"])


@pytest.mark.slow
def test_quantiles_cover_and_know_their_limits() -> None:
    few = quantile([(float(n), n) for n in range(10)], 0.95)
    assert few.value == 9 and few.high is None and "too few" in few.note
    hits = {0.5: 0, 0.95: 0}
    for seed in range(400):
        rng = random.Random(seed)
        points = []
        for cluster in range(100):
            own = rng.gauss(0, 1)
            points += [(own + rng.gauss(0, 1), cluster) for _ in range(3)]
        for share in hits:
            truth = statistics.NormalDist(0, math.sqrt(2)).inv_cdf(share)
            found = quantile(points, share)
            hits[share] += found.low <= truth <= found.high
    assert all(count >= 0.93 * 400 for count in hits.values()), hits


def test_cost_and_time_where_they_are_known() -> None:
    prompts = [prompt(f"p{n}", "alpha") for n in range(4)]
    given_ = manifest(prompts)
    results = simulate(given_, {"maker:one": lambda rng, each, order: ["alpha"]}, 1)
    results[0] = replace(results[0], cost_usd=None, duration_ms=None)
    results[1] = replace(results[1], status="provider_error", ranking=(), cost_usd=0.5, duration_ms=90_000.0)
    usage = model_of(build_report(given_, results))["usage"]
    assert usage["cost_usd"]["total"] == pytest.approx(0.502) and usage["cost_usd"]["known"] == 3
    assert usage["cost_usd"]["p95"]["value"] == 0.001 and usage["cost_usd"]["median"]["n"] == 2
    assert usage["latency_ms"]["median"]["n"] == 2 and 10 <= usage["latency_ms"]["median"]["value"] <= 15
    assert usage["tokens"]["input_tokens"] == {"total": 400, "known": 4}
    assert usage["tokens"]["cached_tokens"] == {"total": None, "known": 0}


def test_drilldown_quotes_in_bounds_and_says_what_was_cut() -> None:
    long = "word " * 400
    given_ = manifest([prompt("p1", "alpha", text=long, reason=long)])
    whole = "Handles alpha\n things when asked."
    given_["catalogue"][0] |= {"state": "truncated", "text": "Handles alpha", "description": whole}
    report = build_report(given_, [result("p1", ["beta"], rationale=long)])
    (found,) = report["prompts"]
    assert len(found["text"]) == 400 and found["text"].endswith("…")
    assert found["listing"] == {"state": "truncated", "cut": "things when asked."}
    (pick,) = found["models"][0]["picks"]
    assert (pick["picked"], pick["calls"], len(pick["rationale"])) == ("beta", 1, 240)


def test_prompts_that_were_filled_from_templates_are_said() -> None:
    filled = [prompt("p1", "alpha", tags=("from-template",)), prompt("p2", None, tags=("near-miss", "from-template"))]
    some = [filled[0], prompt("p3", "beta")]
    for prompts, said in ((filled, "2 of 2 prompts come from"), (some, "1 of 2 prompts comes from")):
        report = build_report(manifest(prompts), [result(each.prompt_id, ["alpha"]) for each in prompts])
        (note,) = [note for note in report["notes"] if "templates" in note]
        assert note.startswith(said)
    typed = [prompt("p1", "alpha", tags=("near-miss", "from-transcript"))]
    assert not any("templates" in note for note in build_report(manifest(typed), [result("p1", ["alpha"])])["notes"])


def test_splits_simulation_and_tuning_are_said() -> None:
    labels = (("alpha", "train"), ("beta", "test"), (None, "test"))
    prompts = [prompt(f"p{n}", expected, split=split) for n, (expected, split) in enumerate(labels, 1)]
    tuned = {"threshold": 1.5, "train_prompts": 7, "train_right": 6}
    models = [
        {"spec": "lexical:bm25", "kind": "local", "settings": tuned},
        {"spec": "lexical:tfidf", "kind": "local", "settings": tuned},
        {"spec": "scripted", "kind": "simulated"},
    ]
    results = [result(each.prompt_id, ["alpha"], str(model["spec"])) for each in prompts for model in models]
    report = build_report(manifest(prompts, models), results)
    splits = model_of(report, "scripted")["splits"]
    told = {split["split"]: (split["prompts"], split["top1"]["value"]) for split in splits}
    assert told == {"test": (2, 0.0), "train": (1, 1.0)}
    (chosen,) = [note for note in report["notes"] if "threshold" in note]
    assert (
        chosen.startswith("lexical:bm25, lexical:tfidf: ")
        and " 7 train prompts " in chosen
        and "--split test" in chosen
    )
    untouched = build_report(manifest(prompts[1:], models), [each for each in results if each.prompt_id != "p1"])
    assert not any("threshold" in note for note in untouched["notes"])
    assert any(note.startswith("Simulated") and "scripted" in note for note in report["notes"])
    assert any("mode text" in each for each in report["statements"])


@pytest.mark.parametrize(("index", "said"), [("description", ""), ("body", "SKILL.md"), ("content", "bundled")])
def test_a_router_that_reads_what_no_host_shows_is_no_verdict_on_descriptions(index: str, said: str) -> None:
    prompts = [prompt("p1", "alpha")]
    models = [{"spec": "lexical", "kind": "local"}, {"spec": "maker:one", "kind": "provider"}]
    given_ = manifest(prompts, models, index=index)
    notes = build_report(given_, [result("p1", ["alpha"], "lexical")])["notes"]
    found = [note for note in notes if "which no host lists" in note]
    assert len(found) == bool(said) and all(note.startswith("lexical read ") and said in note for note in found)


def test_every_metric_has_a_title_and_a_meaning() -> None:
    assert all(metric.title and metric.meaning for metric in METRICS.values())


@pytest.mark.parametrize("listed", [1, 3, 12, 13, 25])
@pytest.mark.parametrize("orders", ["cyclic", "plan"])
def test_places_are_counted_as_picked_expected_and_right(orders: str, listed: int) -> None:
    names = [f"s{at:02}" for at in range(listed)]
    prompts = [prompt(f"p{at}", names[at % listed] if at % 5 else None) for at in range(24)]
    given_ = manifest(prompts, replications=3, skills=names, orders=orders, seed=11)

    def answer(rng: random.Random, asked: Prompt, order: tuple[str, ...]) -> list[str]:
        first = [asked.expected or NONE] if rng.random() < 0.4 else [rng.choice(order[: len(order) // 2 + 1])]
        return [] if rng.random() < 0.1 else first

    results = simulate(given_, {"maker:one": answer}, 4)
    found = model_of(build_report(given_, results))["position"]
    spans = [(each["first"], each["last"]) for each in found["places"]]
    assert [at for first, last in spans for at in range(first, last + 1)] == list(range(1, listed + 1))
    assert len(spans) == (listed if listed <= 12 else 10)
    assert max(last - first for first, last in spans) - min(last - first for first, last in spans) <= 1

    picked: Counter[int] = Counter()
    expected: Counter[int] = Counter()
    right: dict[int, list[bool]] = {}
    for each in prompts:
        own = [one for one in results if one.prompt_id == each.prompt_id]
        shown = {
            one.replication: presentation(names, each.prompt_id, "maker:one", one.replication, 11, orders)
            for one in own
        }
        for one in own:
            if each.expected:
                place = shown[one.replication].index(each.expected) + 1
                right.setdefault(place, []).append(one.ranking[:1] == (each.expected,))
        picks = [one for one in own if one.ranking and one.ranking[0] != NONE]
        if len(picks) > 1:
            for one in picks:
                picked[shown[one.replication].index(one.ranking[0])] += 1
                # Each of the prompt's orders with a pick is as likely for this one, in units of 1/6 call.
                for other in picks:
                    expected[shown[other.replication].index(one.ranking[0])] += 6 // len(picks)
    calls = sum(picked.values())
    assert calls == found["tv"]["n"] > 0
    for each, (first, last) in zip(found["places"], spans, strict=True):
        here = range(first - 1, last)
        assert each["calls"] == sum(picked[at] for at in here)
        assert each["picked"] == pytest.approx(each["calls"] / calls, abs=1e-6)
        assert each["expected"] == pytest.approx(sum(expected[at] for at in here) / 6 / calls, abs=1e-6)
        among = [was for at in here for was in right.get(at + 1, ())]
        assert each["right"]["n"] == len(among)
        assert each["right"]["value"] == (pytest.approx(sum(among) / len(among), abs=1e-6) if among else None)
    if listed <= 12:
        gaps = sum(abs(each["picked"] - each["expected"]) for each in found["places"])
        assert gaps / 2 == pytest.approx(found["tv"]["value"], abs=1e-4)


def test_places_without_a_second_call_know_only_who_is_right() -> None:
    given_ = manifest([prompt("p1", "alpha"), prompt("p2", None)])
    results = simulate(given_, {"maker:one": lambda rng, each, order: [order[0]]}, 1)
    report = build_report(given_, results)
    for each in model_of(report)["position"]["places"]:
        assert (each["calls"], each["picked"], each["expected"]) == (0, None, None)
    assert sum(each["right"]["n"] for each in model_of(report)["position"]["places"]) == 1
    local = build_report(given_ | {"models": [given_["models"][0] | {"kind": "local"}]}, results)
    assert model_of(local)["position"]["places"] == []
    assert model_of(build_report(given_ | {"catalogue": []}, []))["position"]["places"] == []


def test_reports_of_before_the_places_stay_valid() -> None:
    given_ = manifest([prompt("p1", "alpha")], replications=2)
    report = build_report(given_, simulate(given_, {"maker:one": lambda rng, each, order: [order[0]]}, 1))
    assert problems("router-report", report) == []
    del report["models"][0]["position"]["places"]
    assert problems("router-report", report) == []


def test_orders_that_cannot_be_made_again_are_no_evidence_of_bias() -> None:
    prompts = [prompt(f"p{n}", SKILLS[n % 4]) for n in range(20)]
    given_ = manifest(prompts, replications=2, seed=7)
    results = simulate(given_, {"maker:one": lambda rng, each, order: [order[0]]}, 3)
    found = model_of(build_report(given_, results))["position"]["tv"]
    assert found["value"] == pytest.approx(found["value"]) and found["p"] < 0.01
    foreign = model_of(build_report(given_ | {"seed": None, "imported": True}, results))["position"]["tv"]
    assert foreign["value"] is None and "cannot be made again" in foreign["note"]
    local = model_of(build_report(given_ | {"models": [given_["models"][0] | {"kind": "local"}]}, results))["position"]
    assert local["tv"]["value"] is local["slope"]["value"] is None
    assert local["tv"]["note"] and local["tv"]["note"] != foreign["note"]


@pytest.mark.slow
def test_the_length_of_descriptions_is_judged_by_skills() -> None:
    names = [f"s{n:02}" for n in range(30)]
    prompts = [prompt(f"{name}-{n}", name) for name in names for n in range(4)]
    given_ = manifest(prompts, skills=names)
    for at, skill in enumerate(given_["catalogue"]):
        skill["text"] = "x" * (100 + 10 * at)

    def answer(rng: random.Random, asked: Prompt, order: tuple[str, ...]) -> list[str]:
        return [f"{asked.expected}" if rng.random() < 0.25 + int(f"{asked.expected}"[1:]) / 50 else NONE]

    found = build_report(given_, simulate(given_, {"maker:one": answer}, 2))["length"]
    assert found["clusters"] == 30 and found["low"] > 0
    few = build_report(manifest([prompt("p1", "alpha")]), [result("p1", ["alpha"])])["length"]
    assert few["value"] is None and re.findall(r"\d+", few["note"]) == ["1", "10"]


def test_abstaining_is_not_testable_without_prompts_for_it() -> None:
    report = build_report(manifest([prompt("p1", "alpha")]), [result("p1", [NONE])])
    metrics = model_of(report)["metrics"]
    for key in ("abstention_precision", "abstention_recall", "abstention_f1", "false_fire"):
        assert metrics[key]["value"] is None and metrics[key]["note"] == "not testable: no prompt is labelled with none"
    assert metrics["false_abstention"]["value"] == 1.0
    assert any(note.startswith("0 of 1 prompts expect that no skill applies") for note in report["notes"])


def test_figures_are_preliminary_for_a_reason() -> None:
    def reasons(count: int, missing: int, effect: float = 0.1) -> list[str]:
        prompts = [prompt(f"p{n}", "alpha") for n in range(count)]
        results = [result(f"p{n}", ["alpha" if n % 2 else "beta"]) for n in range(missing, count)]
        found: list[str] = model_of(build_report(manifest(prompts), results, effect=effect))["preliminary"]
        return found

    assert reasons(200, 0) == []
    assert reasons(200, 10) == []
    assert [each.partition(" ")[0] for each in reasons(200, 11)] == ["5.5"]
    (wide,) = reasons(200, 0, 0.05)
    assert wide.startswith("half ") and wide.endswith(" 5.0 points")
    few, wide = reasons(20, 0)
    assert few.startswith("fewer than 30 ") and few.endswith(" (20)") and wide.endswith(" 10.0 points")


def test_what_has_no_right_answer_is_said_once_and_in_good_grammar() -> None:
    asked = [prompt("p1", "alpha"), prompt("p2", None), prompt("p3", None, known=False, rejected=("alpha",))]
    plan = {"name": "plan", "version": "1", "digest": "q", "none_allowed": False}
    notes = build_report(manifest(asked, template=plan), [])["notes"]
    assert [note.partition(" without ")[0] for note in notes if "right answer" in note] == ["1 prompt", "1 prompt"]
    assert not any("1 prompt have" in note or "1 prompt expect " in note for note in notes)
    assert not any("template does not" in note for note in notes)
    no_null = build_report(manifest(asked[:1], template=plan), [])["notes"]
    assert any("template does not" in note for note in no_null)


def test_groups_against_all_arrangements() -> None:
    values = [0.0, 1.0, 1.0, 0.5, 1.0, 0.0, 1.0, 1.0, 0.25]
    groups = ["a", "b", "b", "a", "b", "a", "b", "c", "c"]
    found = group_permutation_test(values, groups, 20_000, 3)
    for name in ("a", "b", "c"):
        own = [value for value, group in zip(values, groups, strict=True) if group == name]
        centre = statistics.mean(values)
        every = [statistics.mean(each) for each in itertools.combinations(values, len(own))]
        wanted = statistics.mean(abs(each - centre) >= abs(statistics.mean(own) - centre) - 1e-9 for each in every)
        assert found[name] == pytest.approx(wanted, abs=0.015)
    assert group_permutation_test([1.0, 0.0], ["a", "a"]) == {"a": None}
    assert group_permutation_test([1.0, 1.0], ["a", "b"]) == {"a": None, "b": None}
    assert group_permutation_test([], []) == {}


def test_a_perfect_ranking_has_the_whole_gain_however_many_are_acceptable() -> None:
    prompt = SimpleNamespace(target="a", acceptable=("b", "c", "d"))
    row = SimpleNamespace(prompt=prompt, result=SimpleNamespace(ranking=("a", "b", "c", "d")), picked="a")
    assert ndcg(cast(Any, row)) == 1
