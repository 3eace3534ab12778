"""What pictures show and say: order, marks, gaps, limits, and nothing where there is nothing."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

import pytest
from filled_records import page_over
from hypothesis import given
from hypothesis import strategies as st
from picture_parts import beyond, crossing, every, marks, shape, shapes, size, texts
from pictures_made import HOSTILE, made

from skill_health.documents.caveats import Caveat, FoundCaveat
from skill_health.page.drawing import theme
from skill_health.page.drawing.draw import draw, draw_all
from skill_health.page.model import NumberTable, Picture, anchor
from skill_health.page.pictures import (
    components,
    compose,
    cost_effect,
    deltas,
    effect,
    listing_budget,
    score_history,
    skill_effects,
)
from skill_health.page.pictures._caveats import caveat_note, caveat_sentences, title_suffix
from skill_health.page.pictures._load import collection_pictures, modules, skill_pictures
from skill_health.page.pictures._specs import labels, time_channel
from skill_health.text.terminal import columns

SIZES = {
    "few": {"hostile": False}, "hostile": {}, "one": {"skills": 2, "models": 1}, "none measured": {"models": 0},
    "many": {"skills": 70, "models": 6, "days": 90},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_everything_drawn_lies_on_the_canvas(name: str) -> None:
    page = made(3, **SIZES[name])
    found = [*collection_pictures(page), *skill_pictures(page, page.status.skills[1].path)]
    drawn = draw_all(found)
    assert len(drawn) == len(found) > 3
    for key, svg in drawn.items():
        assert 380 <= size(svg)[0] <= 640 and beyond(svg) == [], key


@pytest.mark.slow
def test_no_two_texts_lie_over_each_other() -> None:
    page = made(3, skills=40, models=3, days=40, hostile=False)
    for key, svg in draw_all(collection_pictures(page)).items():
        assert crossing(shapes(svg)) == [], key


@pytest.mark.slow
def test_rows_stand_in_the_order_of_their_figures_and_say_how_many() -> None:
    page = made(3, hostile=False)
    [model, _] = skill_effects.build(page)
    drawn = texts(draw(model))
    names = [row[0].text for row in model.table.rows]
    assert [text for text in drawn if text in names] == names
    counts = [row[1].text.rpartition(" n ")[2] for row in model.table.rows]
    assert [text.removeprefix("n ") for text in drawn if text.startswith("n ")] == counts
    values = {each["name"]: each for each in marks(model.spec, "point")}
    for row in model.table.rows:
        assert values[row[0].text]["value"] == pytest.approx(row[1].value)
        assert (values[row[0].text]["low"] is None) is ("[–]" in row[1].text)


@pytest.mark.slow
def test_texts_of_others_are_data_only() -> None:
    """No name is a key, an expression or part of one: whatever texts hold, the specification's shape is the same."""
    nasty, tame = collection_pictures(made(4)), collection_pictures(made(4, hostile=False))
    assert [shape(each.spec) for each in nasty] == [shape(each.spec) for each in tame]
    for each in nasty:
        assert not any(text and text in str(shape(each.spec)) for text in HOSTILE if len(text) < 60)


def test_simulated_runs_are_said_wherever_they_are() -> None:
    page = made(5)
    resting = [each for each in collection_pictures(page) if each.question in (3, 4)]
    assert len(resting) >= 9
    for each in resting:
        if each.name == "skill-effects-2":
            assert "SIMULATED" not in each.title + each.alt + each.note
        else:
            assert "SIMULATED" in each.title and "SIMULATED" in each.alt and "SIMULATED" in each.note, each.name
    marks = {picture.name: picture.note for picture in resting}
    assert "Biased: </svg><b>model</b>\x02 (not the same <b>order</b>)" in marks["effect"]
    assert "Preliminary" in marks["effect"] and "Stale" in marks["effect"]


def test_a_history_is_broken_where_runs_are_not_comparable_or_missing() -> None:
    [whole] = score_history.build(made(8))
    values = marks(whole.spec, "line")
    assert [at for at, each in enumerate(values) if each["score"] is None] == [5, 9]
    assert len(values) == 14 and len(whole.table.rows) == 12
    assert [row[0].text for row in whole.table.rows] == sorted((row[0].text for row in whole.table.rows), reverse=True)
    assert "1: no run for 6 days." in whole.note and "2: other rules <b>." in whole.note and "3: the mean" in whole.note
    assert [text for text in texts(draw(whole)) if text in "123456789"] == ["1", "2", "3"]


def test_a_history_of_one_run_or_of_a_skill_without_a_score_is_no_picture() -> None:
    assert score_history.build(made(0, days=1)) == () == score_history.build(made(0, days=0))
    page = made(9)
    assert score_history.build_skill(page, page.status.skills[-1].path) == ()
    assert score_history.build_skill(page, "no/such/SKILL.md") == ()
    [own] = score_history.build_skill(page, page.status.skills[0].path)
    path = page.status.skills[0].path
    scores = [line.skills[path].score for line in page.history]
    kept = {row[1].origin.split("/")[1] for row in own.table.rows}
    for at in range(1, len(scores)):
        if scores[at] != scores[at - 1]:
            assert {str(at), str(at - 1)} <= kept
    assert own.name == f"{anchor(path)}-history"


@pytest.mark.parametrize("nth", range(4))
def test_the_scale_of_a_score_is_a_tenth_at_least_and_holds_no_score_that_there_cannot_be(nth: int) -> None:
    page = made(nth)
    found = [
        *score_history.build(page),
        *(each for own in page.status.skills for each in score_history.build_skill(page, own.path)),
    ]
    domains = re.findall(r'"domain": \[([0-9.]+), ([0-9.]+)\]', json.dumps([each.spec for each in found]))
    assert len(domains) >= len(found) > 1
    for low, high in domains:
        assert 0 <= float(low) <= float(high) - 0.1 + 1e-9 and float(high) <= 1, (low, high)


def test_a_budget_says_what_is_cut_in_words_and_has_no_bar_without_a_limit() -> None:
    [budget] = listing_budget.build(made(10))
    told = "".join(ElementTree.fromstring(draw(budget)).itertext())
    for words in ("no limit known", "1 cut short", "1 by name only", "1 left out", "2,500 of 1,000 tokens"):
        assert words in told
    assert [each["limit"] for each in marks(budget.spec, "tick")] == [100, 100, 100, None]
    assert [each["used"] for each in marks(budget.spec, "bar")][-1] == 0 and len(budget.table.rows) == 4


@pytest.mark.slow
def test_hollow_points_are_the_ones_that_cannot_be_tested() -> None:
    page = made(11)
    [forest] = effect.build(page)
    points = marks(forest.spec, "point")
    tested = [row[-2].text for row in forest.table.rows]
    assert [not each["open"] for each in points] == [each == "yes" for each in tested]
    assert sum(each["main"] for each in points) == 2
    hollow = [each for each in ElementTree.fromstring(draw(forest)).iter() if each.get("fill") == theme.GROUND]
    assert len(hollow) == sum(each == "no" for each in tested)


@pytest.mark.slow
def test_names_of_skills_in_a_scatter_plot_cover_no_point_and_no_other_name() -> None:
    [scatter] = cost_effect.build(made(12, skills=60, models=3, hostile=False))
    names = [each for each in shapes(draw(scatter)) if each.text.startswith("skill-")]
    elements = [each.element for each in shapes(draw(scatter))]
    points = [each for each in elements if each.get("stroke-width") is None and each.tag == "path"]
    assert len(names) > 3 and len(points) > 100
    assert crossing(names, 11) == []
    models = {each["model"] for each in marks(scatter.spec, "point")}
    assert len(models) == 3 and models <= {*texts(draw(scatter))}


def test_interactions_are_those_with_the_target() -> None:
    page = made(13)
    whole, skills = compose.build(page)
    assert {row[0].text for row in whole.table.rows} == {
        "target plus one less target", "target plus unrelated less target", "full less target",
    }  # fmt: skip
    assert len(whole.table.rows) == 6 and len(skills.table.rows) > 20


def test_nothing_is_drawn_of_nothing() -> None:
    page = page_over()
    own = (components, compose, cost_effect, deltas, effect, listing_budget, score_history, skill_effects)
    for module in own:
        assert module.build(page) == ()
    for module in (score_history, skill_effects):
        assert module.build_skill(page, "a/SKILL.md") == ()


def test_pictures_are_found_sorted_and_named_apart() -> None:
    found = modules()
    assert [(each.QUESTION, each.ORDER) for each in found] == sorted((each.QUESTION, each.ORDER) for each in found)
    assert {1, 3, 4} <= {each.QUESTION for each in found}
    names = [each.name for each in every(made(14))]
    assert len(names) == len(set(names)) and all(re.fullmatch("[a-z0-9-]+", name) for name in names)


DAY = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("hours", [0, 5, 26, 80, 24 * 8, 24 * 90, 24 * 900])
def test_ticks_of_times_are_few_apart_and_say_when(hours: int) -> None:
    times = [(DAY + timedelta(hours=each)).isoformat() for each in {0, hours // 2, hours}]
    spec = {
        "width": 400, "height": 50, "data": {"values": [{"time": each} for each in times]}, "mark": "point",
        "encoding": {"x": time_channel("time", times)},
    }  # fmt: skip
    *ticks, title = texts(draw(Picture("one", "t", "a", spec, NumberTable((), ()))))
    assert 1 <= len(ticks) <= 10 and len(ticks) == len({*ticks})
    assert title.startswith("run (UTC), 2026-01-01") and times[-1][:10] in title


@given(st.lists(st.text(max_size=60), max_size=5), st.integers(8, 60))
def test_labels_are_distinct_and_what_does_not_fit_keeps_both_its_ends(names: list[str], width: int) -> None:
    found = labels(names, width=width)
    assert len({*found}) == len(found) == len(names)
    for name, label in zip(names, found, strict=True):
        [whole] = labels([name], width=10**6)
        start, cut, end = label.partition("…")
        if whole != label and cut and "…" not in whole and not label.endswith(")"):
            assert whole.startswith(start) and whole.endswith(end) and columns(label) <= width


def test_the_same_label_may_stand_in_two_groups() -> None:
    assert labels(["a", "a", "a"], ["x", "y", "x"]) == ["a", "a", "a (2)"]


@dataclass
class Measurement:
    """A measurement with marks."""

    subject: str
    marks: tuple[FoundCaveat, ...]


CAVEATS = {caveat.value.word: caveat for caveat in Caveat}


def marked(*words: str) -> Measurement:
    return Measurement("it", tuple(FoundCaveat(CAVEATS[word], "why" if word == "biased" else "") for word in words))


def test_titles_say_what_all_and_what_some_of_the_runs_are() -> None:
    assert title_suffix([marked(), marked()]) == "" == caveat_sentences([]) == title_suffix([])
    some = [marked("preliminary", "SIMULATED"), marked("preliminary")]
    assert title_suffix(some) == " (preliminary; in part SIMULATED)"
    assert title_suffix([marked("biased", "stale", "local")]) == " (stale, biased)"
    assert (
        caveat_sentences([marked("stale"), marked("stale", "biased")]) == " All of it is stale. In part it is biased."
    )
    assert "SIMULATED" not in caveat_sentences([marked("stale")]) != caveat_sentences([marked("SIMULATED")]) != ""
    assert caveat_note(some) == "SIMULATED: it. Preliminary: it."
    assert caveat_note([marked("biased", "local")]) == "Biased: it (why)." and caveat_note([marked("local")]) == ""
