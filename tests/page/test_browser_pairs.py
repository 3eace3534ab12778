"""Pairs of skills in a browser: the heat map can be read wide and on a phone, and tells its figures to any hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_driver import NARROW, WIDE, chromium, missing, open_all, visit
from browser_look import cut, faint, overlaps, too_wide
from pairs_page import CONFLICT, NOTHING, SYNERGY, pair_report, pairs_page, with_words

from skill_health.page.html import render

pytestmark = [pytest.mark.real, pytest.mark.skipif(bool(missing()), reason=missing())]
NAMES = sorted(["csv-cleaning", "json-schema-design", "log-triage", "pdf", "a-skill-with-a-rather-long-name"])
MANY = [f"skill-of-the-number-{n:02}" for n in range(14)]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    few = [{"first": one, "second": other} for at, one in enumerate(NAMES) for other in NAMES[at + 1 :]]
    many = [{"first": one, "second": other} for at, one in enumerate(MANY) for other in MANY[at + 1 : at + 5]]
    reports = [
        with_words(pair_report(SYNERGY, 22, simulated=False, model="loop:one"), *few),
        with_words(pair_report(CONFLICT), *many),
        pair_report(NOTHING, 20, simulated=False, model="loop:two"),
    ]
    root = tmp_path_factory.mktemp("site")
    path = root / "index.html"
    path.write_text(render(pairs_page(root, *reports)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.mark.parametrize("window", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("shade", ["light", "dark"])
def test_the_heat_maps_can_be_read(shade: str, window: dict[str, int], page: Path, browser: Any) -> None:
    with visit(browser, page, color_scheme=shade, viewport=window) as seen:
        assert len(seen.page.query_selector_all("#question-4 figure svg")) == 3
        assert too_wide(seen.page) <= 0
        assert overlaps(seen.page) == [] and faint(seen.page) == []
        assert [each for each in cut(seen.page) if "…" not in each] == []
        # The small type of a picture is 11 pixels high in a picture of its natural width; below 8 nobody reads it.
        scales = "each => each.map(svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width)"
        assert min(seen.page.eval_on_selector_all("#question-4 svg", scales)) >= 8 / 11
        open_all(seen.page)
        assert too_wide(seen.page) <= 0
    assert seen.wrong == []


@pytest.mark.parametrize("hand", ["mouse", "finger"])
def test_a_cell_that_is_tapped_says_its_interval_and_n(hand: str, page: Path, browser: Any) -> None:
    window = {"viewport": NARROW, "has_touch": True} if hand == "finger" else {"viewport": WIDE}
    with visit(browser, page, **window) as seen:
        figure = seen.page.locator("#picture-skill-pairs")
        output, cells = figure.locator("output"), figure.locator("svg path:has(> title)")
        assert cells.count() == 10 and not output.is_visible()
        for at in (0, 9):
            cells.nth(at).tap() if hand == "finger" else cells.nth(at).click()
            told = cells.nth(at).locator("title").text_content()
            assert output.inner_text() == told and "points, 16 tasks" in told
            first, _, rest = told.partition(" + ")
            assert first in NAMES and rest.partition(":")[0] in NAMES
        # Whoever can neither point nor tap has the table.
        figure.locator("summary").click()
        rows = figure.locator("tbody tr").all_inner_texts()
        assert len(rows) == 10 and all("n 16" in row and "synergistic" in row for row in rows)
    assert seen.wrong == []
