"""The picture of the router's curve: every figure is the document's, foreign text is data, damage costs a note."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from filled_records import documents, page_over, resolve
from test_pictures_router import HOSTILE

from skill_health.documents._record import Figure, encode_record
from skill_health.documents.router_curve import CURVE, CurvePoint, ModelCurve, RouterCurve
from skill_health.page.data.gather import saved_curve
from skill_health.page.drawing import theme
from skill_health.page.drawing.draw import draw
from skill_health.page.model import Picture
from skill_health.page.pictures import router_curve

SIZES = (25, 100, 2_400)
NOTHING = Figure(value=None, low=None, high=None, n=0, clusters=0, note="not known")


def figure(value: float, n: int = 40) -> Figure:
    return Figure(value=value, low=value * 0.9, high=value * 1.05, n=n, clusters=n // 2)


def point(at: int, size: int, paid: bool, staged: bool) -> CurvePoint:
    more: dict[str, Any] = {"retrieved": figure(0.9 - at / 10), "ranked": figure(0.8)} if staged else {}
    return CurvePoint(
        size=size, run_id=f"run-{at}", top1=figure(0.7 - at / 10), top1_skill=figure(0.6 - at / 10),
        false_fire=figure(0.2 + at / 10), question_tokens=figure(100.0 * size), trusted=at < 2 or None,
        input_tokens=figure(99.0 * size) if paid else NOTHING, cost_usd=figure(0.001 * size) if paid else figure(0.0),
        spent_usd=1.25 if paid else 0.0, **more,
    )  # fmt: skip


def made(names: dict[str, str], staged: bool = False, **more: Any) -> RouterCurve:
    models = tuple(
        ModelCurve(
            model=name, kind=kind,  # type: ignore[arg-type]
            points=tuple(point(at, size, kind == "provider", staged) for at, size in enumerate(SIZES)),
        )
        for name, kind in names.items()
    )  # fmt: skip
    about: dict[str, Any] = {
        "created": "2026-01-02T03:04:05Z", "tool_version": "1", "commit": None, "dirty": None, "seed": 1, "mode": "text",
        "listing": "full", "template": "none", "index": "description", "retrieve": 30 if staged else 0,
        "retriever": "hybrid" if staged else "", "prompts": 40, "null": 5, "kept": 25, "notes": ("Mind this.",),
    }  # fmt: skip
    return RouterCurve(schema="skill-health/router-curve/1", sizes=SIZES, models=models, **about | more)


def build(curve: RouterCurve) -> tuple[Picture, ...]:
    return router_curve.build(page_over(curve=curve))


def test_without_a_curve_there_is_no_picture() -> None:
    assert router_curve.build(page_over()) == ()
    assert build(made({})) == ()


@pytest.mark.parametrize("staged", [False, True])
def test_every_figure_is_the_documents(staged: bool) -> None:
    page = page_over(curve=made({"maker:m": "provider", "lexical": "local"}, staged))
    (picture,) = router_curve.build(page)
    told = documents(page)
    assert len(picture.table.rows) == 6 and all(len(row) == len(picture.table.head) for row in picture.table.rows)
    seen = 0
    for row in picture.table.rows:
        for head, cell in zip(picture.table.head, row, strict=True):
            if cell.origin:
                raw = resolve(told, cell.origin)
                own = raw["value"] if isinstance(raw, dict) else raw
                assert cell.value == pytest.approx(own * (100 if "%" in head else 1))
                assert not isinstance(raw, dict) or f"n {raw['n']:,}" in cell.text
                seen += 1
    assert seen == 6 * (7 + staged) - 3
    assert "60.0 [54.0, 63.0]" in picture.alt and "at 2,400" in picture.alt
    assert ("hybrid left 30 skills" in picture.note) is staged and "Mind this." in picture.note


@pytest.mark.slow
def test_it_draws_each_model_at_each_size(staged: bool = True) -> None:
    (picture,) = build(made({"maker:m": "provider", "lexical": "local"}, staged))
    values = [value for part in picture.spec["vconcat"] for value in part["data"]["values"]]
    groups = {value["group"] for value in values}
    assert len(groups) == 5
    for group in groups:
        mine = [(value["series"], value["size"]) for value in values if value["group"] == group]
        assert len(mine) == len(set(mine)) == (3 if "dollars" in group else 6)
    svg = draw(picture)
    ElementTree.fromstring(svg)
    assert svg == draw(picture)


def test_a_simulated_model_is_said_to_be() -> None:
    (picture,) = build(made({"scripted": "simulated", "maker:m": "provider"}))
    assert "SIMULATED" in picture.title and "SIMULATED" in picture.alt


@pytest.mark.slow
def test_names_are_data_and_many_models_have_their_rows() -> None:
    (picture,) = build(made(dict.fromkeys(HOSTILE, "provider")))
    svg = draw(picture)
    ElementTree.fromstring(svg)
    assert "<script" not in svg and "onload=alert" not in re.sub(r">[^<]*<", "><", svg)
    assert len(picture.table.rows) == 3 * len(HOSTILE)
    assert len({value["series"] for value in picture.spec["vconcat"][0]["data"]["values"]}) == len(theme.SERIES)
    assert f"{len(HOSTILE) - len(theme.SERIES)} more models are in the table" in picture.note


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": "skill-health/router-curve/1"}', "\x00" * 40])
def test_a_damaged_curve_costs_a_note(text: str, tmp_path: Path) -> None:
    (tmp_path / CURVE).write_text(text, encoding="utf-8")
    found, (note,) = saved_curve(str(tmp_path))
    assert found is None and note.startswith(CURVE)


def test_a_curve_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert saved_curve(str(tmp_path)) == (None, ())
    curve = made({"maker:m": "provider"}, staged=True)
    (tmp_path / CURVE).write_text(encode_record(curve), encoding="utf-8")
    assert saved_curve(str(tmp_path)) == (curve, ())
    assert json.loads(encode_record(curve))["models"][0]["points"][0]["ranked"]["n"] == 40
