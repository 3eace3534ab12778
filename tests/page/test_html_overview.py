"""The table over all skills: its rows, their order, figures and marks."""

from __future__ import annotations

from typing import Any

import page_made
import pytest
from filled_records import filled, page_over
from hypothesis import given
from hypothesis import strategies as st
from page_parsed import Parsed
from records_made import judged_as

from skill_health.documents.caveats import Caveat, find_effect_caveats, find_skill_caveats
from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.skill_record import SkillRouted
from skill_health.page.cells import cell_html, inside, table_html
from skill_health.page.drawing.drawn import draw_page
from skill_health.page.html import render_plain
from skill_health.page.model import NumberTable, Page, PageCell, SkillVerdict
from skill_health.page.sections.overview import rows

_RUN = {
    "model": "maker:one", "run_id": "r", "time": "t", "local": False, "simulated": False, "trusted": True, "selection": "all",
    "recall": {"value": 0.5, "low": 0.25, "high": 0.75, "n": 8, "note": ""}, "precision": {"value": None, "note": ""}, "changed": False,
    "listed": "twin",
}  # fmt: skip
_LINE = {
    "model": "loop:maker:m", "verdict": "helps", "reason": "", "run_id": "e", "time": "t", "simulated": False, "changed": False,
    "delta": {"value": 0.125, "low": None, "high": None, "n": 1}, "biased": [], "preliminary": [],
}  # fmt: skip


def _page(*skills: dict[str, Any], verdicts: dict[str, SkillVerdict] | None = None, **own: Any) -> Page:
    status = {"skills": [_skill(**each) for each in skills], "next": []}
    lint = {
        "findings": [],
        "skills": [
            {"path": each["path"], "components": [
                {"name": "sections", "weight": 0.2, "share": 0.2, "value": each.get("sections", 1.0), "note": "2 of 4", "evidence": {}},
                {"name": "claims", "weight": 0.1, "share": 0.1, "value": None, "note": "", "evidence": {}},
            ], "findings": {}, "score": 0.5, "flagged": False, "flags": [], "copies": []}
            for each in skills
        ],
    }  # fmt: skip
    return page_over(status, lint, own, verdicts=verdicts or {})


def _skill(
    path: str, name: str = "", routing: Any = (), effect: Any = (), score: Any = 0.5, **_: Any
) -> dict[str, Any]:
    health = {"state": "ok", "score": score, "flags": [], "errors": 2, "warnings": 1, "infos": 0}
    return {
        "name": name or path.partition("/")[0], "path": path, "digest": None, "health": health, "next": [],
        "routing": {"state": "ok", "prompts": 1, "models": list(routing)},
        "effect": {"state": "ok", "tasks": [], "models": list(effect)},
    }  # fmt: skip


def _verdict(word: str, tone: Any, question: int = 1) -> SkillVerdict:
    return judged_as(word, tone, question, f"because {word}", "do", f"skill-health {word}")


def test_the_most_in_need_come_first_and_equals_by_path() -> None:
    verdicts = {
        "a/S": _verdict("fine", "good"), "b/S": _verdict("lost", "bad", 2), "c/S": _verdict("broken", "bad", 1),
        "d/S": _verdict("stale", "warn", 3), "f/S": _verdict("lost", "bad", 2),
    }  # fmt: skip
    page = _page(*({"path": f"{each}/S"} for each in "fedcba"), verdicts=verdicts)
    assert [row.path for row in rows(page)] == ["c/S", "b/S", "f/S", "d/S", "e/S", "a/S"]
    assert {row.path: row.verdict.word for row in rows(page)}["e/S"] == "not measured"


def test_real_measurements_go_before_simulated_ones() -> None:
    scripted = {**_RUN, "model": "scripted", "simulated": True}
    made_up = {**_LINE, "simulated": True}
    few = {"path": "b/S", "routing": [scripted], "effect": [{**made_up, "preliminary": ["few", "wide"]}]}
    one, two = rows(_page({"path": "a/S", "routing": [scripted, _RUN], "effect": [made_up, _LINE]}, few))
    assert one.routing is not None and one.effect is not None and two.routing is not None and two.effect is not None
    assert (one.routing.model, one.routing.marks, one.effect.marks) == ("maker:one", (), ())
    assert one.routing.cell.origin == "status#/skills/0/routing/models/1/recall"
    assert one.effect.cell == PageCell("+12.5 [–] n 1", 12.5, "status#/skills/0/effect/models/1/delta")
    assert [mark.word for mark in two.routing.marks] == ["SIMULATED"]
    assert [(mark.word, mark.reason) for mark in two.effect.marks] == [("SIMULATED", ""), ("preliminary", "few; wide")]


@pytest.mark.parametrize(
    ("told", "word"),
    [
        ({"simulated": True}, "SIMULATED"), ({"local": True}, "local"), ({"changed": True}, "stale"),
        ({"selection": "test"}, "subset"), ({"trusted": False}, "untrusted"),
    ],
)  # fmt: skip
def test_marks_of_routing(told: dict[str, Any], word: str) -> None:
    for plain in (_RUN, {**_RUN, "trusted": None, "changed": None}):
        assert find_skill_caveats(filled(SkillRouted, plain)) == ()
    assert [mark.word for mark in find_skill_caveats(filled(SkillRouted, {**_RUN, **told}))] == [word]
    assert word in {caveat.value.word for caveat in Caveat}


def test_marks_of_effects_say_why() -> None:
    told = find_effect_caveats(
        filled(ModelEffect, {**_LINE, "changed": True, "biased": ["cut off"], "preliminary": ["few"]})
    )
    assert [(mark.word, mark.reason) for mark in told] == [("stale", ""), ("biased", "cut off"), ("preliminary", "few")]


@pytest.mark.slow
def test_a_row_shows_all_that_is_known() -> None:
    page = _page(
        {"path": "one/S", "name": "twin", "sections": 0.5, "routing": [_RUN], "effect": [_LINE], "score": 0.7375},
        {"path": "two/S", "name": "twin", "score": None},
        verdicts={"one/S": _verdict("lost", "bad"), "two/S": _verdict("fine", "good")},
        listing={"skills": {"one/S": 1234, "two/S": None}},
        trends={"one/S": {"since": "2025-12-30T04:00:00Z", "before": 0.8, "now": 0.7375, "change": -0.0625}},
        claims={"skills": {"one/S": {"claims": 3, "stale": 2, "oldest_days": 400}, "two/S": {"claims": 0, "stale": 0, "oldest_days": None}}},
    )  # fmt: skip
    table = Parsed(render_plain(page)).one(id="table")
    seen = Parsed(render_plain(page))
    one, two = (each for each in seen.all("tr") if "data-word" in each.attrs)
    text = " ".join(one.text.split())
    for part in (
        "lost", "twin", "one/S", "0.74", "2 errors", "1 warning", "sections 0.50", "↘ -0.06", "2025-12-30",
        "50.0 [25.0, 75.0] n 8", "maker:one", "+12.5 [–] n 1", "helps, loop:maker:m", "1,234", "400 d", "2 of 3 stale", "skill-health lost",
    ):  # fmt: skip
        assert part in text
    assert "claims –" not in text, "a part that does not apply is left out"
    assert [" ".join(cell.text.split()) for cell in seen.all("td") if cell.up is two][3:7] == ["–", "–", "–", "–"]
    raw = {
        each.attrs["data-from"]: each.attrs.get("data-value", each.text)
        for each in seen.elements
        if "data-from" in each.attrs
    }
    assert raw["status#/skills/0/health/score"] == "0.7375"
    assert raw["page#/listing/skills/one~1S"] == "1234"
    assert raw["page#/trends/one~1S/change"] == "-0.0625"
    assert raw["page#/claims/skills/one~1S/oldest_days"] == "400"
    assert "twin" in table.text


@given(st.text(max_size=30))
def test_a_link_leads_nowhere_outside(text: str) -> None:
    if inside(text):
        first = text.partition("/")[0]
        assert ":" not in first and not text.startswith("//") and "\\" not in text and not set('<>" \t\n') & set(text)


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "//host/x", "http://x", " x", "\\\\host", "data:,x", "", "x y", "a:b", "/\n/x"]
)
def test_links_that_are_no_links(link: str) -> None:
    assert not inside(link)
    assert "<a" not in cell_html(PageCell("text", link=link))


@pytest.mark.parametrize(
    "link", ["#skill-00ff", "router/2026/report.json", "../a%20b/c~1,d.patch", "./x", "a/b%3A1#top"]
)
def test_links_that_stay(link: str) -> None:
    assert cell_html(PageCell("text", link=link)) == f'<td><a href="{link}">text</a></td>'


@given(st.text(max_size=40), st.text(max_size=40), st.floats(allow_nan=False, allow_infinity=False))
def test_cells_are_text_whatever_they_hold(text: str, origin: str, value: float) -> None:
    seen = Parsed(table_html(NumberTable((text,), ((PageCell(text, value, origin), PageCell(text)),), text)))
    assert {each.tag for each in seen.elements} == {"table", "thead", "tbody", "tr", "th", "td"} | (
        {"caption"} if text else set()
    )
    assert all(set(each.attrs) <= {"data-from", "data-value", "scope"} for each in seen.elements)
    assert all(
        float(each.attrs["data-value"] or 0) == pytest.approx(value, rel=1e-9)
        for each in seen.all("td")
        if "data-value" in each.attrs
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("most", "room", "some"), [(300, 10_000_000, 5), (0, 10_000_000, 0), (300, 0, 0), (3, 10_000_000, 1)]
)
def test_pictures_of_skills_are_drawn_for_the_first_ones_only(most: int, room: int, some: int) -> None:
    page = page_made.page()
    paths = [row.path for row in rows(page)]
    found = draw_page(page, most, room)
    assert len(found.own) + found.left_out == len(paths)
    assert list(found.own) == paths[: len(found.own)]
    assert sum(map(len, found.own.values())) <= most
    assert (len(found.own) == len(paths)) is (some == 5) and bool(found.own) is bool(some)
    assert all(svg.startswith('<svg class="picture" role="img"') for _, svg in found.whole)
