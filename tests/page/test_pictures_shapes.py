"""What pictures show and say: order, marks, gaps, limits, and nothing where there is nothing."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st
from pictures_made import HOSTILE, made

from skill_health.page.drawing import theme
from skill_health.page.drawing.draw import draw
from skill_health.page.model import JsonNode, Page, Picture, anchor
from skill_health.page.pictures import (
    _tags,
    components,
    compose,
    cost_effect,
    deltas,
    effect,
    listing_budget,
    score_history,
    skill_effects,
)
from skill_health.page.pictures._forest import signed_ticks
from skill_health.page.pictures._load import collection_pictures, modules, skill_pictures
from skill_health.page.pictures._panel import round_ticks
from skill_health.page.pictures._text import fitted, text_width
from skill_health.page.pictures._times import time_ticks


def every(page: Page) -> list[Picture]:
    found = list(collection_pictures(page))
    for skill in page.status.value["skills"]:
        found += skill_pictures(page, skill["path"])
    return found


def test_everything_drawn_lies_within_the_axes() -> None:
    for picture in every(made(3)):
        for layer in picture.spec["layer"]:
            for channel, fields in (("x", ("x", "x2", "a", "b")), ("y", ("y", "y2", "v", "a", "b"))):
                domain = layer["encoding"].get(channel, {}).get("scale", {}).get("domain")
                if domain is None or layer["mark"]["type"] in ("text", "point"):
                    continue
                used = {
                    layer["encoding"][own].get("field") for own in (channel, f"{channel}2") if own in layer["encoding"]
                }
                for value in layer["data"]["values"]:
                    if value.get("c") == theme.GRID:
                        continue  # The ticks of an axis stand out.
                    for field in used & set(fields):
                        if value.get(field) is not None:
                            assert min(domain) <= value[field] <= max(domain), (picture.name, layer["mark"], value)


def test_texts_of_others_are_data_only() -> None:
    """No name is a key, an expression or part of one: whatever texts hold, the specification's shape is the same."""

    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shape(each) for key, each in value.items() if key not in ("data", "height", "domain", "title")}
        return [shape(each) for each in value] if isinstance(value, list) else value

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
    line = next(each for each in whole.spec["layer"] if each["mark"]["type"] == "line")
    values = line["data"]["values"]
    assert [at for at, each in enumerate(values) if each["y"] is None] == [5, 9]
    assert len(values) == 14 and len(whole.table.rows) == 12
    assert [row[0].text for row in whole.table.rows] == sorted((row[0].text for row in whole.table.rows), reverse=True)
    assert "1: no run for 6 days." in whole.note and "2: other rules <b>." in whole.note and "3: the mean" in whole.note
    texts = [
        each for layer in whole.spec["layer"] if layer["mark"]["type"] == "text" for each in layer["data"]["values"]
    ]
    assert [each["t"] for each in texts if each["t"] in "123456789"] == ["1", "2", "3"]


def test_a_history_of_one_run_or_of_a_skill_without_a_score_is_no_picture() -> None:
    assert score_history.build(made(0, days=1)) == () == score_history.build(made(0, days=0))
    page = made(9)
    assert score_history.build_skill(page, page.status.value["skills"][-1]["path"]) == ()
    assert score_history.build_skill(page, "no/such/SKILL.md") == ()
    [own] = score_history.build_skill(page, page.status.value["skills"][0]["path"])
    path = page.status.value["skills"][0]["path"]
    scores = [line["skills"][path]["score"] for line in page.history.value]
    kept = {row[1].origin.split("/")[1] for row in own.table.rows}
    for at in range(1, len(scores)):
        if scores[at] != scores[at - 1]:
            assert {str(at), str(at - 1)} <= kept
    assert own.name == f"{anchor(path)}-history"


def test_a_budget_says_what_is_cut_in_words_and_has_no_bar_without_a_limit() -> None:
    [budget] = listing_budget.build(made(10))
    told = "".join(ElementTree.fromstring(draw(budget)).itertext())
    for words in ("no limit known", "1 cut short", "1 by name only", "1 left out", "2,500 of 1,000 tokens"):
        assert words in told
    limits = [each for each in budget.spec["layer"] if each["encoding"].get("y2")]
    assert len(limits[0]["data"]["values"]) == 3 and len(budget.table.rows) == 4


def test_hollow_points_are_the_ones_that_cannot_be_tested() -> None:
    page = made(11)
    [forest] = effect.build(page)
    points = next(each for each in forest.spec["layer"] if each["mark"]["type"] == "point")["data"]["values"]
    tested = [row[-2].text for row in forest.table.rows]
    assert [each["f"] == each["c"] for each in points] == [each == "yes" for each in tested]
    assert sum(each["w"] == 70 for each in points) == 2


def test_names_of_skills_in_a_scatter_plot_do_not_touch() -> None:
    [scatter] = cost_effect.build(made(12, skills=60, models=3, hostile=False))
    texts = next(each for each in scatter.spec["layer"] if each["mark"]["type"] == "text")["data"]["values"]
    names = [each for each in texts if each["t"].startswith("skill-")]
    height = scatter.spec["height"]
    low, high = scatter.spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    left, right = scatter.spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    boxes = [
        (
            (each["x"] - left) / (right - left) * scatter.spec["width"],
            (each["y"] - low) / (high - low) * height,
            each["t"],
        )
        for each in names
    ]
    for at, one in enumerate(boxes):
        for two in boxes[at + 1 :]:
            assert abs(one[1] - two[1]) >= 11 or abs(one[0] - two[0]) >= 4.5 * min(len(one[2]), len(two[2]))
    assert len(names) > 3


def test_interactions_are_those_with_the_target() -> None:
    page = made(13)
    whole, skills = compose.build(page)
    assert {row[0].text for row in whole.table.rows} == {
        "target plus one less target", "target plus unrelated less target", "full less target",
    }  # fmt: skip
    assert len(whole.table.rows) == 6 and len(skills.table.rows) > 20


def test_nothing_is_drawn_of_nothing() -> None:
    empty = JsonNode(None, "none#")
    page = Page(
        "", "", "", empty, empty, JsonNode([], "history#"), JsonNode([], "r#"), JsonNode([], "e#"), (), (), empty
    )
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


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(2, 9))
def test_ticks_are_round_few_and_within_the_axis(low: float, span: float, most: int) -> None:
    ticks = round_ticks(low, low + span, most)
    assert len(ticks) <= most + 1
    assert all(low - 1e-6 * span <= each <= low + span * (1 + 1e-6) for each in ticks)
    for one, two in pairwise(ticks):
        first = f"{two - one:.3e}"[0]
        assert first in "125"
    signed = signed_ticks(low, low + span, 190)
    places = [(at - low) / span * 190 for at, _ in signed]
    assert all(
        two - one >= 6 + (text_width(here) + text_width(there)) / 2 or len(signed) < 3
        for (one, two), ((_, here), (_, there)) in zip(pairwise(places), pairwise(signed), strict=True)
    )


@given(st.integers(0, 2_000_000_000), st.integers(0, 400_000_000), st.integers(2, 6))
def test_ticks_of_times_are_within_the_axis_and_say_when(start: int, span: int, most: int) -> None:
    ticks, unit = time_ticks(start * 1000, (start + span) * 1000, most)
    assert ticks and len(ticks) <= most + 1 and unit.endswith("(UTC)")
    assert all(start * 1000 <= at <= (start + span) * 1000 for at, _ in ticks)
    assert len({words for _, words in ticks}) == len(ticks) or (span >= 86_400 and "hour" in unit)


@given(st.text(max_size=60), st.integers(20, 300))
def test_what_does_not_fit_keeps_both_its_ends(words: str, width: int) -> None:
    shorter = fitted(words, width)
    assert text_width(shorter) <= max(width, text_width("…"))
    whole = fitted(words, 10**6)
    if shorter != whole:
        start, _, end = shorter.partition("…")
        assert whole.startswith(start) and whole.endswith(end)
        assert abs(text_width(start) - text_width(end)) <= 4 * 12 or width < 60


def test_titles_say_what_all_and_what_some_of_the_runs_are() -> None:
    assert _tags.tag([set(), set()]) == "" == _tags.warning([]) == _tags.tag([])
    assert _tags.tag([{"preliminary", "SIMULATED"}, {"preliminary"}]) == " (preliminary; in part SIMULATED)"
    assert _tags.tag([{"biased", "stale", "local"}]) == " (stale, biased)"
    assert _tags.warning([{"stale"}, {"stale", "biased"}]) == " All of it is stale. In part it is biased."
    assert "nothing about any model" in _tags.warning([{"SIMULATED"}])
