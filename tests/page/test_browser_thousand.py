"""A thousand skills still scroll and filter smoothly."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from browser_driver import ROOT, build, chromium, missing, visit

sys.path.insert(0, str(ROOT))
from benchmarks._made_page import Size, write_reports

pytestmark = [pytest.mark.real, pytest.mark.skipif(bool(missing()), reason=missing())]
SKILLS = 1_000
KEYSTROKE, TASK = 200, 300
"""Milliseconds from a key to what it changes on the screen, in the middle; and for which scrolling may stand still."""
_WATCH = """() => {
    window.__keys = [];
    window.__tasks = [];
    new PerformanceObserver((list) => window.__tasks.push(...list.getEntries().map((each) => each.duration)))
        .observe({ type: "longtask" });
    document.getElementById("find").addEventListener("input", (event) => {
        requestAnimationFrame(() => {
            const painted = new MessageChannel();
            painted.port1.onmessage = () => window.__keys.push(performance.now() - event.timeStamp);
            painted.port2.postMessage(0);
        });
    });
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


def test_a_keystroke_is_answered_at_once_and_scrolling_never_stands_still(page: Path, browser: Any) -> None:
    with visit(browser, page) as seen:
        assert seen.page.locator("#table tbody tr").count() == SKILLS
        seen.page.evaluate(_WATCH)
        box = seen.page.locator("#find")
        box.click()
        for key in ["s", "o", "r", "t", "-", *["Backspace"] * 5, "0", "1", "7", *["Backspace"] * 3]:
            before = seen.page.evaluate("window.__keys.length")
            seen.page.keyboard.press(key)
            seen.page.wait_for_function("count => window.__keys.length > count", arg=before)
        taken = seen.page.evaluate("window.__keys")
        assert len(taken) == 16
        assert median(taken) < KEYSTROKE, taken
        box.fill("crates-0417")
        seen.page.wait_for_function("() => document.getElementById('shown').textContent.includes('1 of 1000')")
        box.fill("")
        seen.page.wait_for_function("() => document.getElementById('shown').textContent.includes('1000 of 1000')")
        seen.page.evaluate("window.__tasks.length = 0")
        assert seen.page.evaluate(_SCROLL) > 20_000
        assert max(seen.page.evaluate("window.__tasks"), default=0) < TASK


def test_it_says_for_which_skills_there_are_no_pictures(page: Path, browser: Any) -> None:
    with visit(browser, page) as seen:
        assert 0 < seen.page.locator("figure svg").count() <= 320
        assert seen.page.locator("details.skill").count() == SKILLS
