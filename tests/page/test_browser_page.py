"""The page in a real browser, opened from disk: reading it, sorting, filtering, keyboard, themes, paper, no script."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from browser_driver import AS_OF, NARROW, WIDE, build, names_shown, open_all, visit
from browser_look import contrast, covered, cut, faint, overlaps, too_wide

from benchmarks._made_page import Size, write_page

pytestmark = pytest.mark.real
SKILLS = 16
SHADES = ("light", "dark")
_ROWS = """rows => rows.map(row => [row.cells[1].querySelector('a').textContent, ...[...row.cells].map(
    cell => [cell.dataset.sort ?? null, cell.textContent.trim()])])"""


class Site(NamedTuple):
    """A collection with its page, and what `status` says of it."""

    page: Path
    skills: list[dict[str, Any]]

    @property
    def names(self) -> list[str]:
        return [skill["name"] for skill in self.skills]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    root = tmp_path_factory.mktemp("site")
    write_page(root, Size(SKILLS, 30, 480), seed=3)
    command = [sys.executable, "-m", "skill_health", "status", "--format", "json", "--as-of", AS_OF]
    told = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", timeout=600, check=False)
    return Site(build(root), json.loads(told.stdout)["skills"])


def test_it_shows_all_skills_without_a_network(site: Site, browser: Any) -> None:
    with visit(browser, site.page) as seen:
        assert sorted(names_shown(seen.page)) == sorted(site.names)
        assert seen.page.locator("figure svg").count() >= 8
        open_all(seen.page)
        assert seen.page.locator("figure svg text").count() > 100


def _key(cell: tuple[str | None, str], numeric: bool) -> float | str | None:
    """What a cell sorts by; None where it is missing."""
    kept, text = cell
    value = kept if kept is not None else text
    if value in ("", "–"):
        return None
    return float(value) if numeric else value.lower()


@pytest.mark.parametrize("how", ["click", "keyboard"])
def test_each_column_sorts_both_ways_with_what_is_missing_last(how: str, site: Site, browser: Any) -> None:
    with visit(browser, site.page) as seen:
        heads = seen.page.locator("#table thead th[aria-sort]")
        assert heads.count() >= 7
        for at in range(heads.count()):
            head = heads.nth(at)
            numeric = head.get_attribute("data-kind") == "number"
            column = head.evaluate("head => head.cellIndex")
            directions = set()
            for key in ("Enter", "Space"):
                button = head.locator("button")
                if how == "click":
                    button.click()
                else:
                    button.focus()
                    seen.page.keyboard.press(key)
                direction = head.get_attribute("aria-sort")
                directions.add(direction)
                assert seen.page.locator("#table thead th[aria-sort$=ending]").count() == 1
                rows = seen.page.locator("#table tbody tr").evaluate_all(_ROWS)
                assert sorted(row[0] for row in rows) == sorted(site.names)
                keys = [_key(tuple(row[column + 1]), numeric) for row in rows]
                there = [each for each in keys if each is not None]
                assert keys[len(there) :] == [None] * (len(keys) - len(there)), "missing is not last"
                assert there == sorted(there, reverse=direction == "descending"), (head.inner_text(), direction)
            assert directions == {"ascending", "descending"}


def test_the_order_by_health_is_that_of_the_scores(site: Site, browser: Any) -> None:
    scores = {skill["name"]: skill["health"]["score"] for skill in site.skills}
    with visit(browser, site.page) as seen:
        seen.page.get_by_role("columnheader", name="Lint").get_by_role("button").click()
        shown = [scores[name] for name in names_shown(seen.page)]
        assert shown == sorted(shown, reverse=shown[0] > shown[-1])
        assert len(set(shown)) > 5


def test_it_filters_by_text_and_by_verdict_and_says_how_many(site: Site, browser: Any) -> None:
    with visit(browser, site.page) as seen:
        box, count = seen.page.locator("#find"), seen.page.locator("#shown")
        name = site.names[4]
        box.fill(name.upper())
        expect_count(seen.page, f"1 of {SKILLS} skills")
        assert names_shown(seen.page) == [name]
        box.fill("no such words")
        expect_count(seen.page, f"0 of {SKILLS} skills")
        assert names_shown(seen.page) == []
        box.fill("")
        expect_count(seen.page, f"{SKILLS} of {SKILLS} skills")
        chips = seen.page.locator("#overview .chip")
        assert sum(int(text.split()[-1]) for text in chips.all_inner_texts()) == SKILLS
        chip = chips.nth(0)
        word = chip.get_attribute("data-word")
        wanted = seen.page.locator(f'#table tbody tr[data-word="{word}"]').count()
        assert 0 < wanted <= SKILLS
        chip.click()
        expect_count(seen.page, f"{wanted} of {SKILLS} skills")
        assert chip.get_attribute("aria-pressed") == "true"
        assert len(names_shown(seen.page)) == wanted
        chip.focus()
        seen.page.keyboard.press("Space")
        expect_count(seen.page, f"{SKILLS} of {SKILLS} skills")
        assert count.get_attribute("aria-live") == "polite"
        rule = seen.page.locator("#by-rule")
        for value in [each.get_attribute("value") for each in rule.locator("option").all()][1:4]:
            rule.select_option(value)
            wanted = int(rule.locator("option:checked").inner_text().rpartition("(")[2].rstrip(")"))
            expect_count(seen.page, f"{wanted} of {SKILLS} skills")
            assert len(names_shown(seen.page)) == wanted
            box.fill(str(value).lower())
            expect_count(seen.page, f"{wanted} of {SKILLS} skills")
            box.fill("")


def expect_count(page: Any, text: str) -> None:
    page.wait_for_function("text => document.getElementById('shown').textContent.trim() === text", arg=text)


def test_a_link_and_an_address_open_the_skill(site: Site, browser: Any) -> None:
    with visit(browser, site.page) as seen:
        link = seen.page.locator("#table tbody tr a").nth(SKILLS - 1)
        name, place = link.text_content(), link.get_attribute("href")
        part = seen.page.locator(place)
        assert not part.evaluate("each => each.open")
        link.click()
        seen.page.wait_for_function("place => document.querySelector(place).open", arg=place)
        assert part.locator("summary").first.evaluate("each => document.activeElement === each")
        assert name in part.locator("summary").first.inner_text()
        assert part.evaluate(
            "each => { const top = each.getBoundingClientRect().top; return top > -5 && top < innerHeight; }"
        )
    with visit(browser, site.page, place) as seen:
        part = seen.page.locator(place)
        assert part.evaluate("each => each.open")
        seen.page.wait_for_function(
            "place => Math.abs(document.querySelector(place).getBoundingClientRect().top) < innerHeight", arg=place
        )
        assert len(part.inner_text()) > 300
        # The same address again, after the part was closed by hand.
        part.locator("summary").first.click()
        assert not part.evaluate("each => each.open")
        seen.page.locator(f'#table a[href="{place}"]').click()
        assert part.evaluate("each => each.open")


def test_an_address_that_names_nothing_does_no_harm(site: Site, browser: Any) -> None:
    for hash_ in ("#nothing", "#%E0%A4%A", "#<img src=x onerror=alert(1)>", "#skill-health-state"):
        with visit(browser, site.page, hash_) as seen:
            assert len(names_shown(seen.page)) == SKILLS


@pytest.mark.parametrize("by", ["system", "button"])
def test_it_is_dark_where_that_is_wanted(by: str, site: Site, browser: Any) -> None:
    look = """() => [getComputedStyle(document.documentElement), getComputedStyle(document.querySelector('figure svg text'))]
        .map((style, at) => at ? [style.fill] : [style.backgroundColor, style.color]).flat()"""
    with visit(browser, site.page, color_scheme="light") as seen:
        light = dark = seen.page.evaluate(look)
        if by == "button":
            button = seen.page.locator("#theme")
            assert button.get_attribute("aria-pressed") == "false"
            button.focus()
            seen.page.keyboard.press("Enter")
            assert button.get_attribute("aria-pressed") == "true"
            dark = seen.page.evaluate(look)
            seen.page.reload()
            assert seen.page.evaluate(look) == dark, "the choice is kept"
            seen.page.locator("#theme").click()
            assert seen.page.evaluate(look) == light
    if by == "system":
        with visit(browser, site.page, color_scheme="dark") as seen:
            dark = seen.page.evaluate(look)
            assert seen.page.locator("#theme").get_attribute("aria-pressed") == "true"
    assert all(one != other for one, other in zip(light, dark, strict=True)), (light, dark)
    assert contrast(dark[0], dark[1]) >= 7
    assert contrast(light[0], light[1]) >= 7


@pytest.mark.parametrize("shade", SHADES)
def test_texts_of_pictures_can_be_read_on_what_they_stand_on(shade: str, site: Site, browser: Any) -> None:
    with visit(browser, site.page, color_scheme=shade) as seen:
        open_all(seen.page)
        assert not (found := faint(seen.page)), found[:20]


@pytest.mark.parametrize("window", [WIDE, NARROW], ids=["wide", "narrow"])
def test_no_text_of_a_picture_is_covered_or_cut(window: dict[str, int], site: Site, browser: Any) -> None:
    with visit(browser, site.page, viewport=window) as seen:
        open_all(seen.page)
        found = [*overlaps(seen.page), *covered(seen.page), *cut(seen.page)]
        assert not found, "\n".join(found[:30])


_HIDDEN = """() => [...document.querySelectorAll("#table tbody tr")].flatMap((row) => {
    const end = row.getBoundingClientRect().bottom;
    const cells = [...row.querySelectorAll("td,th,td *,th *")].filter((each) => each.getClientRects().length && !each.matches("td,th"));
    return cells.filter((each) => each.getBoundingClientRect().bottom > end + 1).map((each) => [row.dataset.skill, each.textContent]);
})"""


@pytest.mark.parametrize("window", [WIDE, NARROW, {"width": 800, "height": 800}], ids=["wide", "narrow", "between"])
def test_a_row_of_the_table_shows_all_of_its_cells(window: dict[str, int], site: Site, browser: Any) -> None:
    with visit(browser, site.page, viewport=window) as seen:
        hidden = seen.page.evaluate(_HIDDEN)
        assert not hidden, hidden[:10]
        assert seen.page.locator("#table tbody .c-effect .mark").count() > 0


@pytest.mark.parametrize("width", [320, 400, 800, 1280])
def test_the_page_is_never_wider_than_the_window(width: int, site: Site, browser: Any) -> None:
    with visit(browser, site.page, viewport={"width": width, "height": 800}) as seen:
        assert too_wide(seen.page) == 0
        open_all(seen.page)
        assert too_wide(seen.page) == 0


@pytest.mark.parametrize("browser", ["chromium"], indirect=True)
def test_it_prints_with_all_skills(site: Site, browser: Any) -> None:
    from pypdf import PdfReader

    with visit(browser, site.page) as seen:
        paper = seen.page.pdf(prefer_css_page_size=True)
        # What was opened for the printer is closed again.
        assert seen.page.locator("details.skill[open]").count() == 0
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(paper)).pages]
    text = re.sub(r"\s+", "", "".join(pages))
    assert len(pages) >= 3
    for name in site.names:
        assert text.count(name) >= 2, f"{name} is in the table and has a part of its own"
    for word in ("Lint:didit", "Routing:dothedescriptionsroute?", "Composition:doskillscompose?"):
        assert word in text
    assert "Openall" not in text
    heads = [page for page in pages if "score,anditsparts" in re.sub(r"\s+", "", page)]
    assert heads and all("Verdict" in page and "Routing" in page for page in heads), "a table that goes on has its head"


@pytest.mark.parametrize("browser", ["chromium"], indirect=True)
def test_it_prints_dark_ink_on_white_whatever_the_theme(site: Site, browser: Any) -> None:
    with visit(browser, site.page, color_scheme="dark") as seen:
        seen.page.emulate_media(media="print", color_scheme="dark")
        ink, ground = seen.page.evaluate(
            "[getComputedStyle(document.body).color, getComputedStyle(document.documentElement).backgroundColor]"
        )
        assert contrast(ink, "rgb(255, 255, 255)") >= 7, (ink, ground)


_PLACE = """() => {
    const each = document.activeElement, box = each.getBoundingClientRect(), style = getComputedStyle(each);
    return {
        tag: each.localName, id: each.id, text: each.textContent.trim().slice(0, 60), href: each.getAttribute("href"),
        outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
        visible: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight,
    };
}"""
_AT = """() => document.activeElement === document.body ? -1 : [...document.querySelectorAll("*")].indexOf(document.activeElement)"""
_CONTROLS = """() => [...document.querySelectorAll("a[href],button,input,select,summary,[tabindex]")].filter(
    (each) => each.tabIndex >= 0 && !each.disabled && each.checkVisibility() && !each.closest("details.skill > :not(summary)")
).length"""


def test_the_keyboard_reaches_every_control_in_order_and_shows_where_it_is(site: Site, browser: Any) -> None:
    with visit(browser, site.page) as seen:
        # The script takes what does not scroll out of the order once it has seen its size.
        seen.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        expected = seen.page.evaluate(_CONTROLS)
        places, order = [], []
        for _ in range(expected):
            seen.page.keyboard.press("Tab")
            places.append(seen.page.evaluate(_PLACE))
            order.append(seen.page.evaluate(_AT))
        assert order == sorted(set(order)), "each control once, in the order of the document"
        for place in places:
            assert place["outlined"], f"the focus cannot be seen: {place}"
            assert place["visible"], f"the focus is out of sight: {place}"
        assert places[0]["href"] == "#overview", "the first is the way past the head of the page"
        assert {"theme", "find"} <= {place["id"] for place in places}
        summaries = sum(place["tag"] == "summary" for place in places)
        assert summaries >= SKILLS


def test_the_keyboard_opens_a_skill_and_skips_the_head(site: Site, browser: Any) -> None:
    with visit(browser, site.page) as seen:
        seen.page.keyboard.press("Tab")
        seen.page.keyboard.press("Enter")
        assert seen.page.evaluate("location.hash") == "#overview"
        seen.page.keyboard.press("Tab")
        assert seen.page.evaluate("document.activeElement.closest('#overview') !== null")
        for key in ("Enter", "Space"):
            part = seen.page.locator("details.skill").nth(1 if key == "Enter" else 2)
            part.locator("summary").first.focus()
            seen.page.keyboard.press(key)
            assert part.evaluate("each => each.open")
        first = seen.page.locator("#table tbody tr a").first
        first.focus()
        seen.page.keyboard.press("Enter")
        seen.page.wait_for_function("place => document.querySelector(place).open", arg=first.get_attribute("href"))


def test_a_page_without_a_script_names_all_skills_and_says_how_to_get_the_rest(site: Site, browser: Any) -> None:
    with visit(browser, site.page, java_script_enabled=False) as seen:
        bare = seen.page.locator("table.bare")
        assert sorted(bare.locator("tbody th").all_inner_texts()) == sorted(skill["path"] for skill in site.skills)
        assert set(bare.locator("tbody td:nth-child(2)").all_inner_texts()) == {skill["grade"] for skill in site.skills}
        assert "--no-script" in seen.page.locator("#overview noscript code").inner_text()
        assert not seen.page.locator("#find").is_visible() and not seen.page.locator("#table").is_visible()
        assert seen.page.locator(".headline").is_visible() and seen.page.locator("figure svg").first.is_visible()


def test_everything_is_there_without_script(site: Site, browser: Any) -> None:
    plain = site.page.parent / "plain.html"
    build(site.page.parent.parent, "--no-script", "--output", str(plain))
    with visit(browser, plain, java_script_enabled=False) as seen:
        page = seen.page
        for name in site.names:
            page.locator("#table").get_by_text(name).first.wait_for()
        for control in ("#theme", "#open-all"):
            assert not page.locator(control).is_visible(), "what needs a script is not shown without it"
        assert page.locator("figure svg").first.is_visible()
        part = page.locator("details.skill").nth(3)
        part.locator("summary").first.click()
        assert part.locator("h4,table,figure").first.is_visible()
        link = page.locator("#table tbody tr a").nth(5)
        place = link.get_attribute("href")
        assert place and page.locator(place).count() == 1
        link.click()
        box = page.locator(place).bounding_box()
        assert box and -5 < box["y"] < WIDE["height"]
