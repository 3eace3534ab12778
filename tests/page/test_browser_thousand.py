"""A thousand skills still scroll, sort and filter: only what is in sight is there, and nothing else is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser_driver import NARROW, WIDE, build, visit

from benchmarks._made_page import Size, write_reports

pytestmark = pytest.mark.real
SKILLS = 1_000
# Goes through the table screen by screen, and says where the window was not filled with rows in their order.
_SCROLL = """() => new Promise((done) => {
    const table = document.getElementById("table"), bad = [];
    const start = table.getBoundingClientRect().top + scrollY, end = start + table.getBoundingClientRect().height;
    const seen = new Set();
    let at = start, most = 0;
    const look = () => {
        const rows = [...table.tBodies[0].rows], boxes = rows.map((row) => row.getBoundingClientRect());
        most = Math.max(most, rows.length);
        for (const row of rows) seen.add(row.dataset.skill);
        const first = boxes[0].top, last = boxes[boxes.length - 1].bottom;
        const bottom = table.getBoundingClientRect().bottom;
        if (first > Math.max(60, table.tBodies[0].getBoundingClientRect().top + 1) || last < Math.min(innerHeight, bottom) - 1)
            bad.push([at, first, last]);
        const orders = rows.map((row) => Number(row.getAttribute("aria-rowindex")));
        if (orders.some((each, nth) => nth && each !== orders[nth - 1] + 1)) bad.push(orders);
        at += innerHeight * 0.9;
        if (at > end) done({ bad, seen: seen.size, most });
        else step();
    };
    const step = () => {
        scrollTo(0, at);
        requestAnimationFrame(() => requestAnimationFrame(look));
    };
    step();
})"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("thousand")
    for nth in range(SKILLS):
        folder = root / "skills" / f"sort-crates-{nth:04}"
        folder.mkdir(parents=True)
        head = f"---\nname: sort-crates-{nth:04}\ndescription: Sorts crates of kind {nth}. Use when crate {nth} is wanted.\n---\n"
        (folder / "SKILL.md").write_text(
            f"{head}# Crates\n\nLook at crate {nth}, then at the next one.\n", encoding="utf-8"
        )
    write_reports(root, Size(SKILLS, 8, 60, 2, 1), seed=2)
    return build(root)


def shown(page: Any, count: int) -> None:
    page.wait_for_function(f"() => document.getElementById('shown').textContent.includes('{count:,} of {SKILLS:,}')")


@pytest.mark.parametrize("window", [WIDE, NARROW], ids=["wide", "narrow"])
def test_rows_are_there_where_the_reader_looks_and_nowhere_else(
    window: dict[str, int], page: Path, browser: Any
) -> None:
    with visit(browser, page, viewport=window) as seen:
        table = seen.page.locator("#table")
        before = table.bounding_box()["height"]
        told = seen.page.evaluate(_SCROLL)
        assert abs(table.bounding_box()["height"] - before) < 2, "its height was known before it came in sight"
        assert told["bad"] == [] and told["seen"] == SKILLS
        assert told["most"] < 100
        assert seen.page.evaluate("document.querySelectorAll('*').length") < 12_000
        assert seen.page.locator("#table").get_attribute("aria-rowcount") == str(SKILLS + 1)


def test_finding_shows_what_fits_and_sorting_begins_at_the_top(page: Path, browser: Any) -> None:
    with visit(browser, page) as seen:
        box = seen.page.locator("#find")
        box.fill("crates-0417")
        shown(seen.page, 1)
        assert seen.page.locator("#table tbody tr").count() == 1
        box.press("Backspace")
        shown(seen.page, 10)
        assert seen.page.locator("#table tbody tr").count() == 10
        box.fill("")
        shown(seen.page, SKILLS)
        button = seen.page.get_by_role("columnheader", name="Skill").get_by_role("button")
        for _ in range(2):
            button.click()
        assert seen.page.locator("#table tbody tr a").first.text_content() == f"sort-crates-{SKILLS - 1:04}"


_WORK = """async (what) => {
    let nodes = 0;
    const watch = new MutationObserver((changes) => {
        for (const each of changes) nodes += each.addedNodes.length + each.removedNodes.length;
    });
    watch.observe(document.querySelector("#table tbody"), { childList: true });
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    if (what === "sort") document.querySelectorAll("#table thead th[aria-sort] button")[1].click();
    else scrollBy(0, 700);
    await frame();
    await frame();
    return nodes;
}"""


@pytest.mark.parametrize("what", ["sort", "scroll"])
def test_a_sort_or_a_step_down_the_table_moves_rows_of_a_few_screens_only(what: str, page: Path, browser: Any) -> None:
    with visit(browser, page) as seen:
        seen.page.evaluate("document.getElementById('table').scrollIntoView()")
        worked = [seen.page.evaluate(_WORK, what) for _ in range(6)]
        assert 0 < max(worked) < 200, worked


def test_a_skill_is_made_when_it_is_asked_for(page: Path, browser: Any) -> None:
    with visit(browser, page) as seen:
        assert seen.page.locator("details.skill").count() == 0
        link = seen.page.locator("#table tbody tr a").nth(5)
        place = link.get_attribute("href") or ""
        link.click()
        part = seen.page.locator(place)
        assert part.evaluate("each => each.open") and len(part.inner_text()) > 200
        assert seen.page.locator("details.skill").count() == 1
    with visit(browser, page, place) as seen:
        assert abs(seen.page.locator(place).bounding_box()["y"]) < 60, "an address opens it and leads there"


def test_a_figure_names_where_it_comes_from(page: Path, browser: Any) -> None:
    with visit(browser, page) as seen:
        row = seen.page.locator("#table tbody tr").nth(3)
        figure = row.locator(".c-lint b")
        figure.hover()
        origin = figure.get_attribute("title") or ""
        at = int(origin.split("/")[2])
        assert origin == f"status#/skills/{at}/health/score"
        assert row.locator("a").text_content() == f"sort-crates-{at:04}"
        row.locator(".c-listing span").hover()
        assert row.locator(".c-listing span").get_attribute("title") == (
            f"page#/listing/skills/skills~1sort-crates-{at:04}~1SKILL.md"
        )
