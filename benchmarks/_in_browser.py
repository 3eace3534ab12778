"""What a page costs in Chromium: elements, opening, sorting, and a frame while it is scrolled."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

_SORT = """() => new Promise((done) => {
    const start = performance.now(), painted = new MessageChannel();
    painted.port1.onmessage = () => done(performance.now() - start);
    document.querySelectorAll("#table thead th[aria-sort] button")[2].click();
    requestAnimationFrame(() => painted.port2.postMessage(0));
})"""
_FRAMES = """() => new Promise((done) => {
    const times = [];
    const start = performance.now();
    let last = start;
    scrollTo(0, document.getElementById("table").getBoundingClientRect().top + scrollY);
    const step = () => {
        const now = performance.now();
        times.push(now - last);
        last = now;
        scrollBy(0, 700);
        if (times.length > 120 || now - start > 20_000) done(times.slice(1));
        else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
})"""


_SORTS, _ENOUGH = 9, 30_000.0
"""So many sorts are timed, or fewer where they take so many milliseconds."""


class BrowserFigures(NamedTuple):
    """Elements of a page, and milliseconds: until it is shown, of a sort (median), of a frame (median, 95 %)."""

    elements: int
    opened: float
    sort: float
    frame: float
    late_frame: float


def missing_browser() -> str:
    """What is missing to look at a page, "" where nothing is."""
    found = shutil.which("chromium") and find_spec("playwright")
    return "" if found else "chromium and playwright are missing: bash scripts/install_browser.sh"


def look_at(page: Path) -> BrowserFigures:
    """Open a page of this machine in a window of 1280 by 900 pixels, sort it and scroll through its table."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        try:
            seen = browser.new_page(viewport={"width": 1280, "height": 900})
            start = perf_counter()
            seen.goto(page.as_uri(), timeout=600_000)
            seen.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
            opened = 1000 * (perf_counter() - start)
            elements = seen.evaluate("document.querySelectorAll('*').length")
            sorts = [seen.evaluate(_SORT)]
            while len(sorts) < _SORTS and sum(sorts) < _ENOUGH:
                sorts.append(seen.evaluate(_SORT))
            frames = sorted(seen.evaluate(_FRAMES))
        finally:
            browser.close()
    return BrowserFigures(elements, opened, median(sorts), median(frames), frames[int(0.95 * len(frames))])
