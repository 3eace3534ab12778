"""The grid of trials and the pages behind it in browsers: read, filtered, walked, wide and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import page_made
import pytest
from browser_driver import AXE, BROWSERS, NARROW, WIDE, chromium, missing, open_all, running, visit
from browser_look import cut, faint, too_wide
from effects_made import replace
from test_browser_axe import _RUN

from skill_health.page.html import render_site

pytestmark = [pytest.mark.real, pytest.mark.skipif(bool(missing()), reason=missing())]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of pages with those of a few trials, one of which has hostile files."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skill_health.page.trials.pages.MOST_PAGES", 12)
        for name, text in render_site(replace(page_made.page(), base=str(folder))):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


def pages(site: Path) -> list[Path]:
    """A page of one trial, and one of two."""
    every = sorted((site / "trials").rglob("*.html"))
    return [next(each for each in every if "--" not in each.name), next(each for each in every if "--" in each.name)]


@pytest.mark.parametrize("window", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("shade", ["light", "dark"])
def test_they_can_be_read(shade: str, window: dict[str, int], site: Path, browser: Any) -> None:
    for page in pages(site):
        with visit(browser, page, color_scheme=shade, viewport=window) as seen:
            open_all(seen.page)
            assert too_wide(seen.page) <= 0 and faint(seen.page) == [] and cut(seen.page) == []
        with visit(browser, page, may_fail=True, bypass_csp=True, color_scheme=shade, viewport=window) as seen:
            seen.page.evaluate(AXE.read_text(encoding="utf-8"))
            found = seen.page.evaluate(_RUN)
        assert [each for each in found if each["impact"] in ("serious", "critical")] == []


@pytest.mark.parametrize("name", BROWSERS)
def test_tasks_are_chosen_by_how_a_trial_of_theirs_went(name: str, site: Path) -> None:
    script = "rows => rows.map(row => [row.dataset.states.split(' ').includes('failed'), row.checkVisibility()])"
    with running(name) as browser, visit(browser, site / "index.html") as seen:
        chip = seen.page.locator("#trials .grid[open] [data-state=failed]")
        rows = seen.page.locator("#trials .grid[open] tr[data-states]")
        before = rows.evaluate_all(script)
        assert all(shown for _, shown in before) and {failed for failed, _ in before} == {True, False}
        chip.click()
        after = rows.evaluate_all(script)
        assert all(failed == shown for failed, shown in after)
        chip.click()
        assert rows.evaluate_all(script) == before


@pytest.mark.parametrize("window", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_cell_leads_to_its_trial_and_that_to_two_side_by_side(
    window: dict[str, int], site: Path, browser: Any
) -> None:
    context = browser.new_context(viewport=window, offline=True)
    try:
        page = context.new_page()
        page.goto((site / "index.html").as_uri())
        page.locator("#trials .grid[open] td a[href]").first.click()
        page.locator(".neighbours").wait_for()
        page.locator('.neighbours a[href*="--"]').first.click()
        page.get_by_role("heading", name="Two trials side by side").wait_for()
        page.locator(".when a").click()
        page.wait_for_url("**/index.html#trials")
    finally:
        context.close()
