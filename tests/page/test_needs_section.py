"""The page shows what skills need, with the line, and how many need it; nothing where no skill needs anything."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from skill_health.config.settings import Config
from skill_health.page.data.gather import read_page
from skill_health.page.drawing.drawn import Drawn
from skill_health.page.html import render_plain
from skill_health.page.model import Page
from skill_health.page.sections import needs as section
from skill_health.page.skill.budget import HtmlBudget
from skill_health.page.skill.needs import needs, needs_by_path

TEXTS = {
    "fetch": "---\nname: fetch\ndescription: Reads rates.\n---\n# Rates\n\n```bash\ncurl https://rates.bank.net/a.json\n```\n",
    "verse": "---\nname: verse\ndescription: Writes verse.\n---\n# Verse\n\nRhyme.\n",
}


def page_of(root: Path, *names: str) -> Page:
    for name in names:
        (root / name).mkdir()
        (root / name / "SKILL.md").write_text(TEXTS[name], "utf-8")
    (root / ".git").mkdir()
    return read_page([str(root)], str(root), Config(), date(2026, 11, 25), "", 1, False)


@pytest.mark.slow
def test_the_section_counts_and_each_skill_shows_its_lines(tmp_path: Path) -> None:
    page = page_of(tmp_path, "fetch", "verse")
    shown = section.build(page, Drawn((), {}, 0))
    assert shown is not None
    found = shown["rows"]
    assert isinstance(found, list)
    rows = {key: (count.text, share.text, share.origin) for _, key, count, share in found}
    assert rows["network"] == ("1", "50.0 [9.5, 90.5] n 2", "needs#/frequencies/2")
    assert "database" not in rows
    assert "1 of 2 need nothing" in render_plain(page)
    known = needs_by_path(page.needs)
    own = needs(known["fetch/SKILL.md"], HtmlBudget(10_000))
    assert ("network", "fetch/SKILL.md:8") in {(each.category, each.place) for each in own.shown}
    assert needs(known["fetch/SKILL.md"], HtmlBudget(0)).left == len(own.shown)


@pytest.mark.parametrize("names", [("verse",)])
def test_without_needs_there_is_no_section(tmp_path: Path, names: tuple[str, ...]) -> None:
    assert section.build(page_of(tmp_path, *names), Drawn((), {}, 0)) is None
