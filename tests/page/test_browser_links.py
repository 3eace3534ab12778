"""Every link within the page leads to where it says, on a phone and on a desk, with and without motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from browser_driver import NARROW, WIDE, build, open_all, visit

from benchmarks._made_page import Size, write_page

pytestmark = pytest.mark.real
# A link has led to its target where this stands at the top of the window, or as far up as the end of the page lets it.
_FOLLOW = """async () => {
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    const bad = [];
    const every = [...document.querySelectorAll('a[href^="#"]')].filter((link) => link.getBoundingClientRect().width > 0);
    for (const link of every) {
        scrollTo(0, 0);
        await frame();
        link.click();
        let before = -1, still = 0;
        while (still < 4) {
            await frame();
            still = scrollY === before ? still + 1 : 0;
            before = scrollY;
        }
        const top = document.getElementById(link.hash.slice(1))?.getBoundingClientRect().top;
        const end = scrollY + innerHeight >= document.scrollingElement.scrollHeight - 2;
        if (!(top > -2 && (top < 60 || (end && top < innerHeight)))) bad.push([link.textContent, link.hash, top]);
    }
    return [every.length, bad];
}"""


@pytest.fixture(scope="module", params=[12, pytest.param(60, marks=pytest.mark.exhaustive)])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("site")
    write_page(root, Size(request.param, 6, 96), seed=3)
    return build(root)


@pytest.mark.parametrize("window", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_links_lead_where_they_say(motion: str, window: dict[str, int], page: Path, browser: Any) -> None:
    with visit(browser, page, viewport=window, reduced_motion=motion) as seen:
        open_all(seen.page)
        links, bad = seen.page.evaluate(_FOLLOW)
        assert links > 20 and bad == [], bad[:10]
