"""The picture of pairs of skills, and what it says of whether skills compose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

import pytest
from effects_made import reported
from filled_records import page_over
from pairs_made import FIRST, SECOND, counted, pair_manifest
from picture_parts import marks, size, texts

from skill_health.documents._record import convert_record
from skill_health.documents.effect_report import EffectReport
from skill_health.page.drawing.draw import draw
from skill_health.page.model import Page, Picture
from skill_health.page.pictures import skill_pairs
from skill_health.page.verdict.answers import composing
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.render import CollectionStatus

STATUS = CollectionStatus((), None, None, CommandBuilder((".",)), "0.1.0", "standard")
SYNERGY, CONFLICT, NOTHING = [(1, 1, 1, 3), (0, 1, 0, 3)] * 8, [(1, 3, 2, 0), (0, 2, 3, 0)] * 8, [(1, 1, 1, 1)] * 8


def report(rows: Sequence[Sequence[int]], **more: Any) -> dict[str, Any]:
    """The report of one pair; `more` replaces values of its model."""
    found = reported(pair_manifest(len(rows)), counted(rows))
    found["models"] = [each | more for each in found["models"]]
    return found


def pictures(*reports: dict[str, Any]) -> list[Picture]:
    page: Page = page_over(effects=reports)
    return list(skill_pairs.build(page))


def test_nothing_is_drawn_of_nothing() -> None:
    assert pictures() == []
    assert pictures(report(SYNERGY, composition=[])) == []


@pytest.mark.parametrize(
    ("rows", "word", "letter", "side"),
    [
        (SYNERGY, "synergistic", "S", "up"),
        (CONFLICT, "conflicting", "C", "down"),
        (NOTHING, "not testable", "", "same"),
    ],
)
def test_a_cell_says_by_how_much_and_what_is_shown(
    rows: Sequence[Sequence[int]], word: str, letter: str, side: str
) -> None:
    (picture,) = pictures(report(rows))
    (cell,) = (each for each in marks(picture.spec, "rect") if "side" in each)
    assert (cell["row"], cell["column"], cell["side"]) == (SECOND, FIRST, side)
    assert (cell["told"].partition(" ")[2], cell["strong"], cell["declared"]) == (letter, letter != "", True)
    (row,) = picture.table.rows
    assert [each.text for each in row[:3]] == [FIRST, SECOND, word]
    assert row[-2].text == "csv/SKILL.md:9"
    assert word in picture.alt and "SIMULATED" in picture.title
    assert cell["told"] in texts(draw(picture))
    assert size(draw(picture))[0] < 700


def test_each_model_has_one_of_its_last_run() -> None:
    old, new = report(SYNERGY), report(CONFLICT) | {"run_id": "20261122T050000Z-ab12cd34"}
    other = report(SYNERGY, model="loop:m", simulated=False) | {"run_id": "20261120T050000Z-ab12cd34"}
    found = pictures(new, old, other)
    assert [each.name for each in found] == ["skill-pairs", "skill-pairs-2"]
    assert "loop:m" in found[0].title and "SIMULATED" not in found[0].title
    assert "20261122T050000Z" in found[1].title


def test_names_of_others_are_text() -> None:
    hostile = "</svg><script>alert(1)</script>\u202e"
    made = report(SYNERGY)
    made["models"][0]["composition"][0] |= {"first": hostile, "second": "datum.x}}"}
    (picture,) = pictures(made)
    root = ElementTree.fromstring(draw(picture))
    assert not [each for each in root.iter() if each.tag.endswith("script")]


def test_many_pairs_are_drawn_in_part_and_listed_in_full() -> None:
    made = report(SYNERGY)
    pair = made["models"][0]["composition"][0]
    names = [f"skill-{n:02}" for n in range(24)]
    made["models"][0]["composition"] = [
        pair | {"first": one, "second": other} for at, one in enumerate(names) for other in names[at + 1 : at + 3]
    ]
    (picture,) = pictures(made)
    assert len(picture.table.rows) == len(made["models"][0]["composition"])
    drawn = [each for each in marks(picture.spec, "rect") if "side" in each]
    assert 10 < len(drawn) < len(picture.table.rows) and "in the table only" in picture.note


@pytest.mark.parametrize(
    ("rows", "word", "said"),
    [
        (SYNERGY, "yes", "csv with sql synergistic"),
        (CONFLICT, "no", "csv with sql conflicting"),
        (NOTHING, "not shown", "1 pair of skills undecided"),
    ],
)
def test_whether_skills_compose_rests_on_pairs_too(rows: Sequence[Sequence[int]], word: str, said: str) -> None:
    made = report(rows, simulated=False, model="loop:m")
    made["models"][0]["verdict"]["preliminary"] = []
    found = composing(STATUS, [convert_record(made, EffectReport)])
    assert (found.word, found.question) == (word, 4) and said in found.reason


def test_a_script_and_a_biased_run_answer_nothing() -> None:
    for more in ({"simulated": True}, {"simulated": False, "biased": ["why"]}):
        assert composing(STATUS, [convert_record(report(SYNERGY, **more), EffectReport)]).word == "not known"
