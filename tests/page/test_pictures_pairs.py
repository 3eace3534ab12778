"""The picture of pairs of skills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pairs_made import FIRST, SECOND
from pairs_page import CONFLICT, NOTHING, SYNERGY, pair_report, pairs_page, with_words
from picture_parts import marks, size, texts

from skill_health.page.drawing.draw import draw
from skill_health.page.model import Picture
from skill_health.page.pictures import skill_pairs


def pictures(folder: Path, *reports: dict[str, Any], **more: Any) -> list[Picture]:
    return list(skill_pairs.build(pairs_page(folder, *reports, **more)))


def test_nothing_is_drawn_of_nothing(tmp_path: Path) -> None:
    assert pictures(tmp_path) == []
    assert pictures(tmp_path, pair_report(SYNERGY, composition=[])) == []


@pytest.mark.parametrize(
    ("rows", "word", "letter", "side"),
    [
        (SYNERGY, "synergistic", "S", "up"),
        (CONFLICT, "conflicting", "C", "down"),
        (NOTHING, "not testable", "", "same"),
    ],
)
def test_a_cell_says_by_how_much_and_what_is_shown(
    tmp_path: Path, rows: Sequence[Sequence[int]], word: str, letter: str, side: str
) -> None:
    (picture,) = pictures(tmp_path, pair_report(rows))
    (cell,) = (each for each in marks(picture.spec, "rect") if "side" in each)
    assert (cell["row"], cell["column"], cell["side"]) == (SECOND, FIRST, side)
    assert (cell["told"].partition(" ")[2], cell["strong"], cell["declared"]) == (letter, letter != "", True)
    (row,) = picture.table.rows
    assert [each.text for each in row[:3]] == [FIRST, SECOND, word]
    assert row[-4].text == "csv/SKILL.md:9"
    assert word in picture.alt and "SIMULATED" in picture.title
    assert cell["told"] in texts(draw(picture))
    assert size(draw(picture))[0] < 700


def test_each_model_has_one_of_its_last_run(tmp_path: Path) -> None:
    old, new = pair_report(SYNERGY), pair_report(CONFLICT, 22)
    other = pair_report(SYNERGY, 20, model="loop:m", simulated=False)
    found = pictures(tmp_path, new, old, other)
    assert [each.name for each in found] == ["skill-pairs", "skill-pairs-2"]
    assert "loop:m" in found[0].title and "SIMULATED" not in found[0].title
    assert "20261122T050000Z" in found[1].title


def test_names_of_others_are_text(tmp_path: Path) -> None:
    hostile = "</svg><script>alert(1)</script>\u202e"
    made = pair_report(SYNERGY)
    made["models"][0]["composition"][0] |= {"first": hostile, "second": "datum.x}}"}
    (picture,) = pictures(tmp_path, made)
    root = ElementTree.fromstring(draw(picture))
    assert not [each for each in root.iter() if each.tag.endswith("script")]


def test_many_pairs_are_drawn_in_part_and_listed_in_full(tmp_path: Path) -> None:
    made = pair_report(SYNERGY)
    pair = made["models"][0]["composition"][0]
    names = [f"skill-{n:02}" for n in range(24)]
    made["models"][0]["composition"] = [
        pair | {"first": one, "second": other} for at, one in enumerate(names) for other in names[at + 1 : at + 3]
    ]
    (picture,) = pictures(tmp_path, made)
    assert len(picture.table.rows) == len(made["models"][0]["composition"])
    drawn = [each for each in marks(picture.spec, "rect") if "side" in each]
    assert 10 < len(drawn) < len(picture.table.rows) and f"{len(picture.table.rows) - len(drawn)} " in picture.note


def test_pairs_of_several_runs_stand_together_each_by_its_last_one(tmp_path: Path) -> None:
    other = with_words(pair_report(CONFLICT, 22), {"second": "xml"})
    (picture,) = pictures(tmp_path, other, pair_report(SYNERGY))
    assert "2 runs" in picture.title
    told = {(row[1].text, row[2].text): row[-1].text for row in picture.table.rows}
    assert told == {
        ("xml", "conflicting"): "20261122T050000Z-ab12cd34",
        (SECOND, "synergistic"): "20261121T050000Z-ab12cd34",
    }


def test_a_cell_tells_where_it_is_pointed_at_what_its_figure_rests_on(tmp_path: Path) -> None:
    changed = {"digests": {FIRST: "new", SECOND: "b"}, "staged": {FIRST: "a", SECOND: "b"}}
    (picture,) = pictures(tmp_path, pair_report(SYNERGY, simulated=False), **changed)
    root = ElementTree.fromstring(draw(picture))
    (told,) = [each.text for each in root.iter("title") if "id" not in each.attrib]
    assert told == (f"{FIRST} + {SECOND}: synergistic, interaction +66.7 [–] points, 16 tasks (stale, preliminary)")
    assert picture.table.rows[0][-2].text == "stale, preliminary" and "stale" in picture.title


def test_a_run_whose_report_is_gone_is_not_drawn(tmp_path: Path) -> None:
    made = pair_report(SYNERGY)
    page = replace(pairs_page(tmp_path, made), effects=())
    assert list(skill_pairs.build(page)) == []
