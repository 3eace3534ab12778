"""Pictures of judged scores and of configurations: order, limits, marks, and texts of others as data only."""

from __future__ import annotations

from typing import Any

import pytest
from configurations_made import SUBJECTS, cell, criterion, made, row, subject, typed_configurations
from filled_records import page_over
from hypothesis import given, settings
from hypothesis import strategies as st
from picture_parts import beyond, crossing, marks, shape, shapes, size, texts
from pictures_made import HOSTILE
from test_html_judged import judged, over

from skill_health.page.drawing.draw import draw, draw_all
from skill_health.page.model import Page, Picture
from skill_health.page.pictures import (
    configuration_scores,
    configuration_tasks,
    criterion_deltas,
    judged_scores,
    substitution,
)

ALL = (configuration_scores, configuration_tasks, substitution, criterion_deltas)


def page(**more: Any) -> Page:
    return page_over(configurations=typed_configurations(made(2, **more)))


def pictures(of: Page) -> list[Picture]:
    return [picture for module in (*ALL, judged_scores) for picture in module.build(of)]


def test_nothing_is_drawn_of_nothing() -> None:
    empty = page(configurations=[], cells=[], criteria=[], substitutions=[])
    assert pictures(empty) == [] == pictures(page_over())


def test_every_one_says_what_it_is_of_and_that_it_is_simulated() -> None:
    for each in pictures(page(simulated=True)):
        assert each.alt and each.table.rows and each.question == 0
        assert "SIMULATED" in each.title and "SIMULATED" in each.alt and "SIMULATED" in each.note, each.name
    for each in pictures(page()):
        assert "SIMULATED" not in each.alt and "preliminary" in each.title


def test_the_line_goes_from_without_to_with() -> None:
    of = page()
    assert of.configurations is not None
    [picture] = configuration_scores.build(of)
    rows = {(each.subject, each.arm): each for each in of.configurations.configurations}
    drawn = marks(picture.spec, "rule")
    assert len(drawn) == 9
    for each in drawn:
        without, target = rows[each["group"], "control"], rows[each["group"], "target"]
        assert each["one"] == pytest.approx(100 * (getattr(without, each["kind"]).value or 0))
        assert each["other"] == pytest.approx(100 * (getattr(target, each["kind"]).value or 0))
    assert len(picture.table.rows) == 6


def test_scores_that_nobody_judged_are_left_out_and_are_no_zero() -> None:
    told = made(2)
    for each in told["configurations"]:
        for name in ("goal", "instruction", "weighted"):
            each[name] = {**each[name], "value": None, "low": None, "high": None}
    assert configuration_scores.build(page_over(configurations=typed_configurations(told))) == ()


def test_the_heat_map_shows_the_largest_differences_and_all_in_the_table() -> None:
    of = page(tasks=60)
    assert of.configurations is not None
    [picture] = configuration_tasks.build(of)
    drawn = marks(picture.spec, "rect")
    assert len({each["task"] for each in drawn}) == 40 and len(picture.table.rows) == 180
    assert "20 tasks with smaller differences are in the table only." in picture.note
    told = {(each.task_id, each.subject): each.delta for each in of.configurations.cells}
    for each in drawn:
        delta = told[each["task"], SUBJECTS[int(each["subject"]) - 1]]
        assert each["told"] == ("–" if delta is None else f"{100 * delta:+.0f}" if delta else "0")
        assert each["side"] == ("none" if delta is None else "up" if delta > 0 else "down" if delta < 0 else "same")


def test_the_plane_needs_both_figures_of_a_point() -> None:
    told = made(2)
    told["configurations"][0]["cost_usd"] = {**told["configurations"][0]["cost_usd"], "value": None}
    [picture] = substitution.build(page_over(configurations=typed_configurations(told)))
    assert len(marks(picture.spec, "point")) == len(picture.table.rows) == 5
    assert {each["subject"] for each in marks(picture.spec, "point")} <= {*texts(draw(picture))}, "the legend names all"
    for each in told["configurations"]:
        each["cost_usd"] = {**each["cost_usd"], "value": None}
    assert substitution.build(page_over(configurations=typed_configurations(told))) == ()


def test_criteria_keep_the_order_of_the_document_and_the_first_are_drawn() -> None:
    import random

    rng = random.Random(4)
    of = page(criteria=[criterion(rng, f"task-{at}", at) for at in range(30)])
    [picture] = criterion_deltas.build(of)
    assert len(marks(picture.spec, "point")) == 20 and len(picture.table.rows) == 30
    assert "10 more are in the table." in picture.note
    assert [each["name"] for each in marks(picture.spec, "point")] == [f"The work says word {at}." for at in range(20)]


def test_judged_skills_stand_by_their_difference_and_say_what_is_not_calibrated() -> None:
    [picture] = judged_scores.build(over(judged("plums", False), judged("pears", True)))
    assert "Not calibrated: 1 of 2." in picture.note and "Not calibrated: 1 of 2." in picture.alt
    assert {each["group"] for each in marks(picture.spec, "point")} == {"plums, loop:maker:m", "pears, loop:maker:m"}
    assert len(picture.table.rows) == 4, "each score that is known on a side"


def hostile(seed: int) -> Page:
    told = made(seed, tasks=8)
    rename = dict(zip(SUBJECTS, HOSTILE[3:6], strict=True))
    words = {f"{n:03}-some-task": HOSTILE[n % len(HOSTILE)] + str(n) for n in range(8)}

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: changed(each) for key, each in value.items()}
        if isinstance(value, list):
            return [changed(each) for each in value]
        return rename.get(value, words.get(value, value)) if isinstance(value, str) else value

    told = changed(told)
    for each in told["criteria"]:
        each["text"] = HOSTILE[int(each["criterion"][1:]) % len(HOSTILE)]
    return over(judged(HOSTILE[0], False), judged(HOSTILE[6], True), configurations=typed_configurations(told))


def test_texts_of_others_are_data_only() -> None:
    for each in pictures(hostile(1)):
        told = str(shape(each.spec))
        assert not any(text and text in told for text in HOSTILE if len(text) < 60), each.name


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "hostile", "many"])
def test_everything_drawn_lies_on_the_canvas_and_no_text_over_another(kind: str) -> None:
    many = [f"agent:provider:a-model-with-a-long-name-{at}" for at in range(9)]
    if kind == "many":
        import random

        rng = random.Random(1)
        of = page(
            subjects=[subject(each, False) for each in many],
            configurations=[row(rng, each, arm, 12) for each in many for arm in ("control", "target")],
            cells=[cell(rng, f"{at:03}-a-task-with-a-long-name", each) for at in range(50) for each in many],
        )
    else:
        of = hostile(1) if kind == "hostile" else over(judged("plums", True), configurations=page().configurations)
    for key, svg in draw_all(pictures(of)).items():
        assert 380 <= size(svg)[0] <= 640 and beyond(svg) == [], key
        assert kind == "hostile" or crossing(shapes(svg)) == [], key


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(3, 12))
def test_any_document_gives_the_same_pictures_twice(seed: int, tasks: int) -> None:
    of = page_over(configurations=typed_configurations(made(seed, tasks)))
    first = pictures(of)
    assert first == pictures(of)
    for each in first:
        assert all(len(row) == len(each.table.head) for row in each.table.rows)
