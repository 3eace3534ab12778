"""A thousand skills still scroll and filter: no more is changed than what is shown or hidden."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_driver import ROOT, build, chromium, missing, visit

sys.path.insert(0, str(ROOT))
from benchmarks._made_page import Size, write_reports

pytestmark = [pytest.mark.real, pytest.mark.skipif(bool(missing()), reason=missing())]
SKILLS = 1_000
_WATCH = """() => {
    window.__changed = 0;
    new MutationObserver((records) => { window.__changed += records.length; })
        .observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
}"""
_SCROLL = """() => new Promise((done) => {
    const root = document.scrollingElement, step = innerHeight * 0.9;
    const next = () => {
        const before = root.scrollTop;
        root.scrollTop = before + step;
        if (root.scrollTop === before || root.scrollTop > 250 * step) setTimeout(() => done(root.scrollTop), 100);
        else requestAnimationFrame(next);
    };
    next();
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


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


def shown(page: Any, count: int) -> None:
    page.wait_for_function(f"() => document.getElementById('shown').textContent.includes('{count} of {SKILLS}')")


def test_finding_changes_what_it_must_and_scrolling_comes_to_the_end(page: Path, browser: Any) -> None:
    with visit(browser, page) as seen:
        assert seen.page.locator("#table tbody tr").count() == SKILLS
        box = seen.page.locator("#find")
        box.fill("crates-0417")
        shown(seen.page, 1)
        seen.page.evaluate(_WATCH)
        box.press("Backspace")
        shown(seen.page, 10)
        # Nine rows come back, and the count is another: no other row is touched.
        assert 9 <= seen.page.evaluate("window.__changed") < 20
        box.fill("")
        shown(seen.page, SKILLS)
        assert seen.page.evaluate("window.__changed") < SKILLS + 40
        assert seen.page.evaluate(_SCROLL) > 20_000


def test_it_says_for_which_skills_there_are_no_pictures(page: Path, browser: Any) -> None:
    with visit(browser, page) as seen:
        assert 0 < seen.page.locator("figure svg").count() <= 320
        assert seen.page.locator("details.skill").count() == SKILLS
