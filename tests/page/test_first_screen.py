"""What a reader of a collection of which nothing was measured sees first: the worst facts, named, linked and grouped.

Each test holds a complaint about the page as it was: hundreds of equal steps, tiles that say nothing, no name, no
commit, no roll-up by rule, codes that are no links, columns of dashes, and a page that grows with all that it holds.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from page_parsed import Element, Parsed
from repositories import commit, git

from skill_health.config.settings import Config
from skill_health.core import extras
from skill_health.daily.run import run_daily
from skill_health.documents.skill_grades import SkillGrade
from skill_health.page.data.gather import read_page
from skill_health.page.html import DATA, render, render_plain, unpack
from skill_health.page.model import Page

pytestmark = pytest.mark.slow
DAY = date(2026, 11, 20)
BROKEN, LONG, SKILLS = 9, 31, 60


def write_skills(root: Path, skills: int) -> None:
    """Skills, some with a colon that breaks them, some with a broken link, and more than a host can list."""
    for at in range(skills):
        folder = root / "skills" / f"sort-crates-{at:04}"
        folder.mkdir(parents=True)
        words = " ".join(f"crate{at}x{nth}" for nth in range(30))
        description = f"Sorts crates: {words}." if at < BROKEN else f"Sorts {words}. Use when crate {at} is wanted."
        link = "See [more](missing.md).\n" if BROKEN <= at < BROKEN + LONG else ""
        text = f"---\nname: {folder.name}\ndescription: {description}\n---\n# Crates\n\nSort crate {at}.\n{link}"
        (folder / "SKILL.md").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("acme")
    write_skills(place, SKILLS)
    commit(place)
    git(place, "remote", "add", "origin", "https://github.com/acme/crates.git")
    return place


def page_of(root: Path) -> Page:
    return read_page((str(root),), str(root), Config(), DAY, "", 1, False)


@pytest.fixture(scope="module")
def page(root: Path) -> Page:
    return page_of(root)


@pytest.fixture(scope="module")
def seen(page: Page) -> Parsed:
    return Parsed(render_plain(page))


def below(seen: Parsed, tag: str, id_: str) -> list[Element]:
    """The elements of a tag within the element of an id."""
    found = []
    for each in seen.elements:
        above = each.up
        while above is not None and above.attrs.get("id") != id_:
            above = above.up
        if each.tag == tag and above is not None:
            found.append(each)
    return found


def test_it_names_the_collection_and_its_commit(root: Path, seen: Parsed) -> None:
    now = git(root, "rev-parse", "HEAD")
    assert seen.one(tag="h1").text == "acme/crates"
    head = seen.one(_class_="when")
    assert now[:12] in head.text and f"{SKILLS} skills" in head.text
    assert any(each.attrs.get("href") == "https://github.com/acme/crates" for each in seen.elements)


def test_grades_are_grades_however_the_page_was_read(page: Page) -> None:
    for each in page.status.skills:
        assert {type(grade) for grade in (each.grade, each.activation, each.composition, each.health.grade)} == {
            SkillGrade
        }


def test_one_headline_holds_the_worst_facts(page: Page, seen: Parsed) -> None:
    told = seen.one(_class_="headline").text
    claude = next(each for each in page.own.listing.hosts if each.title == "Claude Code")
    assert claude.name_only > 0
    assert told.startswith(f"{BROKEN} of {SKILLS} skills fail, {LONG} need work; ")
    assert f"Claude Code lists {claude.name_only} of {SKILLS} by name only" in told
    assert f"top rules: FM003 in {BROKEN} skills" in told


def test_tiles_say_what_is_known_and_one_line_what_is_not(seen: Parsed) -> None:
    tiles = [each for each in seen.elements if each.tag == "li" and (each.attrs.get("class") or "").startswith("tile")]
    assert len(tiles) == 4
    assert not [each.text for each in tiles if "not measured" in each.text or "not known" in each.text]
    call = seen.one(_class_="call").text
    assert all(topic in call for topic in ("Routing", "Effect", "Composition")) and "skill-health router" in call


def test_steps_that_are_the_same_are_one_step_with_its_command(page: Page, seen: Parsed) -> None:
    steps = below(seen, "li", "next")
    codes = {each.code for each in page.lint.findings}
    assert 0 < len(steps) <= len(codes) + 4 < SKILLS
    (colon,) = [each.text for each in steps if "FM003" in each.text]
    assert f"in {BROKEN} skills" in colon and "skill-health lint --select FM003" in colon


def test_rules_lead_to_their_skills_and_findings_to_their_rule_and_line(
    page: Page, seen: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [each for each in below(seen, "tr", "rules") if each.attrs.get("id")]
    counts = Counter((each.code, each.severity) for each in page.lint.findings)
    assert {each.attrs["id"] for each in rows} == {f"rule-{code}-{severity}" for code, severity in counts}
    commit = page.own.source.commit
    links = {each.attrs.get("href") for each in below(seen, "a", "parts")}
    assert {f"#rule-{code}-{severity}" for code, severity in counts if code == "FM003"} <= links
    assert f"https://github.com/acme/crates/blob/{commit}/skills/sort-crates-0000/SKILL.md#L3" in links
    ids = {each.attrs.get("id") for each in seen.elements}
    shown = [each.attrs["href"] for each in below(seen, "a", "rules")]
    assert len(shown) >= BROKEN and all(str(each)[1:] in ids for each in shown)
    monkeypatch.setattr(extras, "documentation", lambda: "https://docs.example.org")
    leading = {each.attrs["href"] for each in below(Parsed(render_plain(page)), "a", "rules")}
    assert "https://docs.example.org/rules/FM003.md" in leading


def test_columns_without_any_figure_are_left_out(seen: Parsed) -> None:
    heads = [each.text for each in below(seen, "button", "table")]
    assert heads == ["Verdict", "Skill", "Lint", "Listing"]
    assert seen.one(id="folded").text.strip().endswith(": Trend, Routing, Effect, Claims.")


def test_each_row_has_the_verdict_of_daily(root: Path, page: Page) -> None:
    today = run_daily((str(root),), str(root), Config(), DAY, "2026-11-20T04:00:00Z", str(root), 1, False)
    data = json.loads(Parsed(render(page)).one("script", id=DATA).text)
    rows = [unpack(data["list"], row) for row in data["rows"]]
    words = [re.findall(r'data-word="([^"]*)"', row) for row in rows]
    assert words == [[today.grades[path].value] for path in sorted(today.grades)]
    assert Counter(word for (word,) in words) == {"fail": BROKEN, "needs work": LONG, "passing": SKILLS - BROKEN - LONG}
    for row, (word,) in zip(rows, words, strict=True):
        assert word == "fail" or "error" not in row, "no passing skill has an error in its row"


def test_what_a_browser_lays_out_does_not_grow_with_the_skills(tmp_path: Path, page: Page) -> None:
    write_skills(tmp_path, 4 * SKILLS)
    few, many = render(page), render(page_of(tmp_path))
    counts = [sum(not each.within("noscript") for each in Parsed(text).elements) for text in (few, many)]
    assert counts[1] < 1.1 * counts[0], "rows and parts are made when they are looked at"
    grown = (len(many) - len(few)) / (3 * SKILLS)
    assert grown < 2_500, "5 MB are 2,500 bytes for each of 2,000 skills"
    origins = sum(len(each) for each in re.findall(r' data-from=\\?"[^"]*"', many))
    assert origins < 0.05 * len(many), "they were 29 % of the page"
