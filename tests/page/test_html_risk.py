"""The page's section on risk: what it shows, where its figures come from, and that nothing in it is markup."""

from __future__ import annotations

import re
from typing import Any

import pytest
from filled_records import page_over, told_figures
from page_parsed import Parsed

from skill_health.page.html import render_plain
from skill_health.page.model import Page, anchor
from skill_health.router.risk.assess import load_model

pytestmark = pytest.mark.usefixtures("undrawn")
NASTY = "</p><script>alert(1)</script><img src=x onerror=alert(2)>\u202e{{7*7}}\x1b[31m"
ALIKE = {"skills": 30, "lost": 15, "low": 0.3, "high": 0.7}


def made(*risks: float | None, changed: bool = False, text: str = "plums") -> Page:
    known = load_model()
    skills = []
    for at, chance in enumerate(risks):
        own: dict[str, Any] = {"name": f"skill-{at}", "path": f"skills/{at}/SKILL.md"}
        if chance is not None:
            own["risk"] = {
                "listed": f"skill-{at}", "probability": chance, "alike": ALIKE, "passages": 8, "lost": 5, "thief": text, "words": (text, "pears"),
            }  # fmt: skip
        skills.append(own)
    rated = [chance for chance in risks if chance is not None]
    told = {
        "time": "2026-11-20T04:00:00Z", "changed": changed, "rated": len(rated), "riskiest": None, "notes": (text,),
        "bins": [{"skills": len(rated), "least": min(rated), "most": max(rated), "alike": ALIKE}],
        "validation": {
            "collections": known.collections, "skills": known.skills, "lost": known.lost, "auc": known.auc,
            "low": known.auc_low, "high": known.auc_high,
        },
    }  # fmt: skip
    return page_over({"skills": skills, "risk": told})


def section(page: Page) -> tuple[Parsed, str]:
    document = render_plain(page)
    return Parsed(document), document


def test_the_riskiest_come_first_with_thief_words_and_trust() -> None:
    page = made(0.2, 0.7, None, 0.4)
    seen, _ = section(page)
    items = [each for each in seen.all("li") if each.within("ol") and "passages" in each.text]
    assert [each.text.split()[0] for each in items] == ["skill-1", "skill-3", "skill-0"]
    first = " ".join(items[0].text.split())
    assert first.startswith("skill-1 70 %: another description answers 5 of 8 passages of its body; likely thief plums")
    assert "plums, pears. Add those that users say." in first
    assert f"#{anchor('skills/1/SKILL.md')}" in seen.links()
    whole = " ".join(seen.one(id="risk").text.split())
    known = load_model()
    assert f"AUC {known.auc:.2f} [{known.auc_low:.2f}, {known.auc_high:.2f}]" in whole
    assert re.search(rf"\b{known.skills} skills, {known.lost} [a-z ]+, of {known.collections} ", whole)
    assert "3 skills; 1 without a risk" in whole and "15 of 30 skills of other collections" in whole
    assert "STALE" not in whole and "2026-11-20" in whole


def test_every_figure_of_it_names_its_origin() -> None:
    page = made(0.234, 0.7)
    figures = section(page)[0].figures("/risk/")
    assert len(figures) > 15
    for value, shown in told_figures(page, figures):
        assert float(shown) in {value, round(100 * value), round(value, 2)}


def test_what_strangers_wrote_is_text_and_old_risks_are_marked() -> None:
    seen, document = section(made(0.7, changed=True, text=NASTY))
    assert "alert(1)</script>" not in document and "<img src=x" not in document and "\u202e" not in document
    assert len(seen.all("script")) == len(section(made(0.7))[0].all("script"))
    assert "{{7*7}}" in seen.one(id="risk").text and "STALE" in seen.one(id="risk").text


def test_a_long_list_is_cut_and_an_unrated_collection_has_no_section() -> None:
    seen, _ = section(made(*[at / 100 for at in range(60)]))
    assert len([each for each in seen.all("li") if "passages" in each.text]) == 20
    assert "40 more of lower risk" in seen.one(id="risk").text
    bare, _ = section(page_over({"skills": [{"name": "a", "path": "a/SKILL.md"}]}))
    assert "#risk" not in bare.links()
