"""The page's parts on judged scores and on configurations: what they show, where it comes from, and no markup in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import page_made
import pytest
from configurations_made import made as made_configurations
from configurations_made import typed_configurations
from filled_records import page_over, told_figures
from page_parsed import Parsed

from skill_health.page.data.gather import saved_configurations
from skill_health.page.html import render_plain
from skill_health.page.model import Page, anchor

pytestmark = pytest.mark.usefixtures("undrawn")
NASTY = "</p><script>alert(1)</script><img src=x onerror=alert(2)>\u202e{{7*7}}\x1b[31m"
WHOLE = "loop:maker:m"


def figure(value: float | None, half: float | None = 0.1, n: int = 16) -> dict[str, Any]:
    ends = (None, None) if value is None or half is None else (value - half, value + half)
    return {"value": value, "low": ends[0], "high": ends[1], "n": n, "clusters": n}


def side(one: float | None, other: float | None) -> dict[str, Any]:
    delta = None if one is None or other is None else one - other
    return {"with_skill": figure(one), "without": figure(other), "delta": figure(delta, 0.125, 8)}


def judged(text: str, calibrated: bool, simulated: bool = False) -> dict[str, Any]:
    scores = {
        "skill": text, "model": WHOLE, "trials": 30, "left_out": 2, "missing": 0.125, "goal": side(0.75, 0.5),
        "instruction": side(None, None), "weighted": side(0.7, None), "verdict": "no_evidence",
    }  # fmt: skip
    known = {"labels": 40, "accuracy": figure(0.9), "kappa": figure(0.8, 0.1, 40), "leniency": figure(0.05)}
    told = {
        "run_id": "RUN", "judging": "J", "time": "2026-03-02T00:00:00Z", "judges": ("one:j", text), "repeats": figure(0.1, 0.05, 20),
        "calibration": known if calibrated else None, "simulated": simulated, "scores": scores,
    }  # fmt: skip
    line = {"model": WHOLE, "skill": text, "run_id": "RUN", "simulated": simulated, "preliminary": [text]}
    return {"name": text, "path": f"skills/{text}/SKILL.md", "effect": {"models": [line], "judged": [told]}}


def over(*skills: dict[str, Any], **more: Any) -> Page:
    return page_over({"skills": list(skills)}, **more)


def words(page: Page, where: str = "judged") -> str:
    return " ".join(Parsed(render_plain(page)).one(id=where).text.split())


@pytest.mark.slow
def test_scores_stand_with_and_without_and_with_how_far_to_trust_them() -> None:
    page = over(judged("plums", calibrated=False), judged("pears", calibrated=True))
    seen = words(page)
    assert "goalwith, % 75.0 [65.0, 85.0] n 16without, % 50.0 [40.0, 60.0] n 16points +25.0 [+12.5, +37.5] n 8" in seen
    assert "weightedwith, % 70.0 [60.0, 80.0] n 16without, % –points –" in seen
    assert "instruction" not in seen.replace("instruction following", ""), "nobody judged it"
    assert "plums, loop:maker:m: no evidence preliminary" in seen
    assert "30 trials judged, 2 left out; 12.5 %" in seen
    assert "Judged by one:j, plums, not calibrated; " in seen and "%: 10.0 [5.0, 15.0] n 20." in seen
    assert "kappa 0.80 [0.70, 0.90] n 40 against 40 verdicts of people" in seen and seen.count("not calibrated") == 1
    links = Parsed(render_plain(page)).links()
    assert f"#{anchor('skills/plums/SKILL.md')}" in links and "#judged" in links


def test_simulated_scores_say_so_and_nothing_judged_is_no_part() -> None:
    assert "SIMULATED" in words(over(judged("plums", True, simulated=True)))
    bare = over({"name": "plums", "path": "plums/SKILL.md", "effect": {"models": [], "judged": []}})
    assert not {"#judged", "#configurations"} & set(Parsed(render_plain(bare)).links())


def test_every_figure_of_them_names_its_origin() -> None:
    page = over(judged("plums", True), configurations=typed_configurations(made_configurations()))
    inside = Parsed(render_plain(page)).figures("/judged/", "configurations#")
    assert len(inside) > 200
    for value, shown in told_figures(page, inside):
        assert (shown == "–") == (value is None)
        if value is not None:
            assert any(float(shown) == pytest.approx(value * factor, abs=0.51) for factor in (1, 100, 0.001)), shown


def test_what_strangers_wrote_is_text() -> None:
    tame = Parsed(
        render_plain(over(judged("plums", False), configurations=typed_configurations(made_configurations())))
    )
    nasty = {
        **made_configurations(), "notes": [NASTY],
        "criteria": [{**each, "text": NASTY, "criterion": NASTY, "task_id": NASTY, "by": NASTY} for each in made_configurations()["criteria"]],
        "cells": [{**each, "task_id": f"{each['task_id']}{NASTY}", "slug": NASTY} for each in made_configurations()["cells"]],
        "substitutions": [{**each, "small": NASTY, "reason": NASTY} for each in made_configurations()["substitutions"]],
    }  # fmt: skip
    page = over(judged(NASTY, False), configurations=typed_configurations(nasty))
    document = render_plain(page)
    assert "alert(1)</script>" not in document and "<img src=x" not in document and "\u202e" not in document
    seen = Parsed(document)
    assert len(seen.all("script")) == len(tame.all("script")) and not seen.all("img")
    assert "{{7*7}}" in seen.one(id="judged").text and "{{7*7}}" in seen.one(id="configurations").text


def test_configurations_say_which_runs_they_are_of_and_what_stands_in_for_what() -> None:
    seen = words(over(configurations=typed_configurations(made_configurations())), "configurations")
    assert "run 20261121T050000Z-ab12cd34 of 2026-11-21 (judging 20261121T060000Z-cd34ab12, not calibrated)" in seen
    assert "no worse by 10 points" in seen and "substitutes" in seen and "one note" in seen
    alone = typed_configurations(made_configurations(substitutions=[]))
    assert "stand in for a dearer one" not in words(over(configurations=alone), "configurations")


@pytest.mark.parametrize(
    ("text", "why"),
    [("", ""), ("{", "is damaged"), ('{"schema": "x"}', "is damaged"), (json.dumps(made_configurations()), "")],
)
def test_saved_configurations_are_read_and_damaged_ones_cost_a_note(tmp_path: Path, text: str, why: str) -> None:
    if text:
        (tmp_path / "effectiveness-configurations.json").write_text(text, encoding="utf-8")
    found, notes = saved_configurations(str(tmp_path))
    assert (found is not None) == (bool(text) and not why)
    assert len(notes) == bool(why) and all(why in note for note in notes)


def test_a_page_over_a_folder_has_what_was_saved_there(tmp_path: Path) -> None:
    root = page_made.make(tmp_path, days=0, effects=False, router=False)
    (root / "reports").mkdir(exist_ok=True)
    (root / "reports" / "effectiveness-configurations.json").write_text(
        json.dumps(made_configurations()), encoding="utf-8"
    )
    assert page_made.read(root).configurations == typed_configurations(made_configurations())
