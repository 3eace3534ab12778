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
    document.querySelector("#table th.c-lint button").click();
    requestAnimationFrame(() => painted.port2.postMessage(0));
})"""
_FRAMES = """() => new Promise((done) => {
    const times = [];
    let last = performance.now();
    scrollTo(0, document.getElementById("table").getBoundingClientRect().top + scrollY);
    const step = () => {
        const now = performance.now();
        times.push(now - last);
        last = now;
        scrollBy(0, 700);
        if (times.length > 120) done(times.slice(1));
        else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
})"""


class BrowserFigures(NamedTuple):
    """Elements of a page, and milliseconds: until it is shown, of the slowest sort, of a frame (median, 95 %)."""

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
            seen.goto(page.as_uri())
            seen.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
            opened = 1000 * (perf_counter() - start)
            elements = seen.evaluate("document.querySelectorAll('*').length")
            sorts = [seen.evaluate(_SORT) for _ in range(5)]
            frames = sorted(seen.evaluate(_FRAMES))
        finally:
            browser.close()
    return BrowserFigures(elements, opened, max(sorts), median(frames), frames[int(0.95 * len(frames))])
