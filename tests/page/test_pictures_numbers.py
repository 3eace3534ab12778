"""The tables of the pictures hold the figures of the reports, and the drawings what the tables hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from filled_records import documents, resolve
from hypothesis import given, settings
from hypothesis import strategies as st
from picture_parts import every
from pictures_made import copied, made

from skill_health.page.drawing.draw import draw
from skill_health.page.model import PageCell, Picture
from skill_health.page.pictures import components, deltas, skill_effects
from skill_health.page.pictures._effects import get_measure
from skill_health.page.pictures._load import collection_pictures

SCALES = {"delta": 100.0, "low": 100.0, "high": 100.0, "share": 100.0}
MEASURES = {"input_tokens": 1.0, "output_tokens": 1.0, "cost_usd": 100.0, "duration_ms": 0.001}


def cells(pictures: list[Picture]) -> Iterator[tuple[Picture, PageCell]]:
    for picture in pictures:
        for row in picture.table.rows:
            assert len(row) == len(picture.table.head), picture.name
            for cell in row:
                yield picture, cell


def numbers(value: Any) -> Iterator[float]:
    """All numbers of a specification's data."""
    if isinstance(value, dict):
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, float | int) and not isinstance(value, bool):
        yield value


@pytest.mark.parametrize("seed", [0, 1])
def test_each_figure_is_that_of_its_report(seed: int) -> None:
    page = made(seed)
    told = documents(page)
    seen = 0
    for picture, cell in cells(every(page)):
        if not cell.origin:
            continue
        seen += 1
        found = resolve(told, cell.origin)
        last = cell.origin.rsplit("/", 1)[1]
        estimate = found if isinstance(found, dict) else {"value": found}
        if estimate["value"] is None:
            assert cell.text == "–" and cell.value is None
            continue
        factor = MEASURES.get(last) or SCALES.get(last, 1.0)
        assert cell.value == pytest.approx(estimate["value"] * factor), (picture.name, cell)
        shown = cell.text.replace(",", "").split(" ")[0]
        rounding = 10.0 ** -len(shown.partition(".")[2])
        assert float(shown) == pytest.approx(estimate["value"] * factor, abs=rounding), (picture.name, cell)
        if "n" in estimate:
            assert cell.text.endswith(f" n {estimate['n']:,}")
            assert ("[–]" in cell.text) == (estimate["low"] is None)
    assert seen > 500


@pytest.mark.slow
def test_no_contrast_of_any_report_is_lost() -> None:
    page = made(2, skills=40, models=3, hostile=False)
    pictures = {picture.name: picture for picture in collection_pictures(page)}
    told = {cell.origin for _, cell in cells(every(page))}
    for model in page.effects[0].models:
        for contrast in model.contrasts:
            assert page.origins.of(contrast.delta) in told
            for key in deltas.UNITS:
                own = get_measure(contrast, key)
                assert page.origins.of(own) in told or own.value is None
        for skill in model.skills:
            assert {page.origins.of(contrast.delta) for contrast in skill.contrasts} <= told
    assert len(pictures["skill-effects-1"].table.rows) > 2 * skill_effects.ENDS
    drawn = draw(pictures["skill-effects-1"])
    assert "more in the table" in drawn


def test_what_is_missing_is_left_out_and_said() -> None:
    page = made(6)
    [breakdown] = components.build(page)
    by_name = {row[0].text: row for row in breakdown.table.rows}
    assert [each.text for each in by_name["sections"][1:]] == ["–", "–", "–", "0", "9"]
    rest = [each.skill for each in page.effects[0].models[1].skills if each.contrasts[0].delta.value is None]
    second = next(each for each in skill_effects.build(page) if each.name == "skill-effects-2")
    assert f"left out: {len(rest)}" in second.note and rest


def test_the_mean_of_a_component_is_over_the_skills_that_it_applies_to() -> None:
    page = made(7)
    [breakdown] = components.build(page)
    for name, mean, low, high, n, apart in breakdown.table.rows:
        own = [part.value for skill in page.lint.skills for part in skill.components if part.name == name.text]
        known = [each for each in own if each is not None]
        assert (n.value, apart.value) == (len(known), len(own) - len(known))
        if known:
            assert (mean.value, low.value, high.value) == (
                pytest.approx(sum(known) / len(known)), min(known), max(known),
            )  # fmt: skip


@pytest.mark.slow
@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 4), st.integers(0, 9))
def test_any_page_gives_pictures_and_stays_as_it_is(seed: int, skills: int, models: int, days: int) -> None:
    page = made(seed, max(skills, 2), models, days)
    before = copied(page)
    first, again = every(page), every(page)
    assert first == again and copied(page) == before
    for each in first:
        assert each.alt and each.title and each.table.rows
        assert all(abs(number) < 1e16 for number in numbers(each.spec))
