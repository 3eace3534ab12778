"""Rates, confusion, places, bounds and calibration of made results, each against a count by hand."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_loads import AGENT, made_manifest, made_result, made_results
from msgspec.structs import replace
from scipy.stats import spearmanr

from skill_health.activation.report import build_activation_report
from skill_health.activation.scores.routing import route_on_the_spot
from skill_health.core.errors import UsageError
from skill_health.core.validation import problems
from skill_health.documents._record import decode_record, encode_record
from skill_health.documents.activation_report import ActivationReport
from skill_health.documents.activation_result import LoadResult
from skill_health.documents.router_manifest import Prompt
from skill_health.stats.intervals import clustered_proportion

SKILLS = ("apples", "bread", "cider", "dates", "eggs", "figs", "grapes")
PROMPTS = (
    *(
        Prompt(f"{name}-{nth}", f"please do {name} {nth}{f', not {other}' * nth}", name, rejected=(other,))
        for name, other in zip(SKILLS, (*SKILLS[1:], SKILLS[0]), strict=True)
        for nth in range(2)
    ),
    Prompt("none-1", "say hello to everybody", None),
    Prompt("none-2", "what time is it over there", None, acceptable=("figs",)),
    Prompt("near-1", "pears and not apples", None, known=False, rejected=("apples",)),
)  # fmt: skip

MANIFEST = made_manifest(PROMPTS, SKILLS)


def report_of(firsts: dict[str, list[str | None]], **more: object) -> ActivationReport:
    manifest = made_manifest(PROMPTS, SKILLS, **more)
    return build_activation_report(manifest, made_results(manifest, firsts))


def right(**changed: list[str | None]) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = {prompt.prompt_id: [prompt.expected] for prompt in PROMPTS}
    return found | {name.replace("_", "-"): value for name, value in changed.items()}


def test_an_agent_that_does_as_labelled() -> None:
    report = report_of(right())
    (model,) = report.models
    metrics = model.metrics
    assert (metrics.recall.value, metrics.precision.value, metrics.false_fire_none.value) == (1.0, 1.0, 0.0)
    assert (metrics.false_fire_near.value, metrics.false_fire_near.n, metrics.silent.value) == (0.0, 15, 0.0)
    assert (metrics.recall.n, metrics.recall.clusters, report.clustering) == (14, 7, "skill")
    assert [cell.calls for cell in model.confusion if cell.expected != cell.first] == []
    assert (report.prompts.skill, report.prompts.none, report.prompts.near_miss) == (14, 2, 15)


def test_prompts_from_templates_are_said() -> None:
    prompts = [replace(PROMPTS[0], tags=("from-template",)), *PROMPTS[1:]]
    manifest = made_manifest(prompts, SKILLS)
    notes = build_activation_report(manifest, made_results(manifest, right())).notes
    assert any(note.startswith(f"1 of {len(PROMPTS)} prompts comes from templates") for note in notes)
    assert not any("templates" in note for note in report_of(right()).notes)


def test_each_kind_of_mistake_is_counted_where_it_belongs() -> None:
    firsts = right(
        apples_0=["bread"], apples_1=[None], bread_0=["figs"], none_1=["cider"], none_2=["figs"], near_1=["apples"],
    )  # fmt: skip
    (model,) = report_of(firsts).models
    metrics = model.metrics
    assert metrics.recall.value == pytest.approx(11 / 14)
    assert metrics.silent.value == pytest.approx(1 / 14)
    assert metrics.other_first.value == pytest.approx(2 / 14)
    # What is acceptable where no skill applies is no false fire.
    assert (metrics.false_fire_none.value, metrics.false_fire_none.n) == (0.5, 2)
    # apples-0 fires its near miss; near-1 does so with no right answer at all.
    assert metrics.false_fire_near.value == pytest.approx(2 / 15)
    # Of 16 loads 11 are expected and one is acceptable; that of near-1 is known to be wrong.
    assert (metrics.precision.value, metrics.precision.n) == (pytest.approx(12 / 16), 16)
    cells = {(cell.expected, cell.first): cell.calls for cell in model.confusion}
    assert cells["apples", "bread"] == cells["apples", "none"] == cells["none", "cider"] == 1
    apples = next(skill for skill in model.skills if skill.skill == "apples")
    assert (apples.recall.value, apples.opened, dict(apples.instead)) == (0.0, 1, {"bread": 1, "none": 1})
    assert (apples.precision.value, apples.false_fire_near.n) == (0.0, 3)


def test_the_interval_is_over_skills() -> None:
    (model,) = report_of(right(apples_0=[None], apples_1=[None], bread_0=[None])).models
    by_hand = clustered_proportion([0, 1, 2, 2, 2, 2, 2], [2] * 7)
    recall = model.metrics.recall
    assert (recall.value, recall.low, recall.high) == (by_hand.value, by_hand.low, by_hand.high)


def test_few_skills_are_no_sample_of_skills() -> None:
    prompts = [prompt for prompt in PROMPTS if prompt.expected in ("apples", "bread")]
    manifest = made_manifest(prompts, SKILLS)
    report = build_activation_report(
        manifest, made_results(manifest, {each.prompt_id: [each.expected] for each in prompts})
    )
    assert (report.clustering, report.models[0].metrics.recall.clusters) == ("prompt", 4)
    assert any("Prompts ask for 2 skills" in note for note in report.notes)
    assert any("No prompt expects cider" in note for note in report.notes)


def test_what_cannot_be_told_is_no_no() -> None:
    untold = {"loaded": "cannot_tell", "first": None, "outcome": "timeout", "why": "too late"}
    results = [
        replace(result, **(untold if result.prompt_id in ("apples-0", "none-1") else {}))
        for result in made_results(MANIFEST, right(bread_0=[None]))
    ]
    (model,) = build_activation_report(MANIFEST, results).models
    assert (model.scored, model.known, dict(model.cannot_tell)) == (17, 15, {"too late": 2})
    assert (model.metrics.recall.n, model.metrics.recall.value) == (13, pytest.approx(12 / 13))
    assert model.metrics.recall.coverage == pytest.approx(13 / 14)
    assert model.bounds["recall"] == (pytest.approx(12 / 14), pytest.approx(13 / 14))
    assert model.bounds["false_fire_none"] == (0.0, 0.5)
    assert (None, 1) in [(cell.first, cell.calls) for cell in model.confusion if cell.expected == "apples"]
    assert any("cannot be told what was opened" in why for why in model.preliminary)


def test_missing_is_not_wrong() -> None:
    first, *others = made_results(MANIFEST, right())
    gone = replace(first, outcome="infrastructure", loaded="cannot_tell", first=None, error="the server is gone")
    results = [gone, *(result for result in others if result.prompt_id != "bread-0")]
    (model,) = build_activation_report(MANIFEST, results).models
    assert (model.metrics.recall.value, model.metrics.recall.n) == (1.0, 12)
    assert dict(model.missing) == {"infrastructure": 1, "not_run": 1}
    assert model.bounds == {}


def test_recall_by_place_and_whether_the_order_is_fixed() -> None:
    results = [replace(each, offered=SKILLS) for each in made_results(MANIFEST, right(apples_0=[None]))]
    (model,) = build_activation_report(MANIFEST, results).models
    assert [(place.part, place.recall.n) for place in model.places] == [
        ("first third", 6), ("middle third", 4), ("last third", 4),
    ]  # fmt: skip
    assert (model.places[0].recall.value, model.fixed_order) == (pytest.approx(5 / 6), True)
    turned = [replace(results[0], offered=SKILLS[::-1]), *results[1:]]
    (model,) = build_activation_report(MANIFEST, turned).models
    assert (model.places[2].recall.n, model.fixed_order) == (5, False)
    (model,) = build_activation_report(MANIFEST, made_results(MANIFEST, right())).models
    assert {place.recall.value for place in model.places} == {None}


def test_each_size_is_counted_by_itself() -> None:
    manifest = made_manifest(PROMPTS, SKILLS, sizes=(4, 7))
    small = [made_result(prompt.prompt_id, None, 4) for prompt in PROMPTS]
    (model,) = build_activation_report(manifest, [*small, *made_results(manifest, right())]).models
    assert [(each.size, each.metrics.recall.value) for each in model.sizes] == [(4, 0.0), (7, 1.0)]
    assert model.metrics == model.sizes[1].metrics and model.planned == len(PROMPTS)


def test_calibration_is_that_of_the_ranking_on_the_spot() -> None:
    firsts = right(apples_0=[None], cider_1=[None], eggs_0=["figs"])
    report = build_activation_report(MANIFEST, made_results(MANIFEST, firsts))
    routed = route_on_the_spot(MANIFEST, "lexical:tfidf")
    ((calibration,), (router,)) = (report.models[0].calibration, report.routers)
    expecting = [each for each in PROMPTS if each.expected]
    views = [routed.views[each.prompt_id] for each in expecting]
    assert router.top1.value == pytest.approx(sum(view.place == 1 for view in views) / 14)
    assert (router.top1.n, calibration.prompts) == (14, 14)
    hits = [float(firsts[each.prompt_id] == [each.expected]) for each in expecting]
    assert calibration.margin_correlation.value == pytest.approx(
        spearmanr([view.margin for view in views], hits).statistic
    )
    places = [-(view.place or 8) for view in views]
    assert calibration.place_correlation.value == pytest.approx(spearmanr(places, hits).statistic)
    assert sum(step.recall.n for step in calibration.steps) == 14
    request = next(each for each in report.requests if each.prompt_id == "apples-0")
    assert [(each.router, each.place) for each in request.routers] == [("lexical:tfidf", 1.0)]


def test_a_router_that_costs_something_is_not_asked_on_the_spot() -> None:
    with pytest.raises(UsageError, match="openai:some-model"):
        route_on_the_spot(made_manifest(PROMPTS, SKILLS), "openai:some-model")
    report = build_activation_report(MANIFEST, made_results(MANIFEST, right()), ("openai:some-model",))
    assert report.routers == () and any("No ranking beside the figures" in note for note in report.notes)


def test_the_report_fits_its_schema_and_reads_back() -> None:
    report = report_of(right(apples_0=["bread"]))
    assert problems("activation-report", json.loads(encode_record(report))) == []
    assert decode_record(encode_record(report).encode(), ActivationReport) == report
    assert problems("activation-manifest", json.loads(encode_record(MANIFEST))) == []
    assert problems("activation-result", json.loads(encode_record(made_results(MANIFEST, right())[0]))) == []


@pytest.mark.slow
@given(st.permutations(range(len(PROMPTS))))
def test_the_order_of_the_results_does_not_matter(order: list[int]) -> None:
    results: list[LoadResult] = made_results(MANIFEST, right(apples_0=["bread"], none_1=["eggs"]))
    assert build_activation_report(MANIFEST, [results[n] for n in order]) == build_activation_report(MANIFEST, results)


def test_a_second_agent_is_apart() -> None:
    manifest = made_manifest(PROMPTS, SKILLS, (AGENT, "loop:openai:m"))
    silent = {each.prompt_id: [None] for each in PROMPTS}
    results = [*made_results(manifest, right()), *made_results(manifest, silent, "loop:openai:m")]
    one, two = build_activation_report(manifest, results).models
    assert (one.metrics.recall.value, two.metrics.recall.value) == (1.0, 0.0)
    assert two.metrics.precision.note == "not testable: no skill was opened"
    assert two.calibration[0].place_auc.note.endswith("no hit")
