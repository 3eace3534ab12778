"""Activation in a browser: nothing overlaps, is cut, faint or too wide, wide and on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from activation_page import SKILLS, activation_report, page_with
from browser_driver import NARROW, WIDE, chromium, missing, open_all, visit
from browser_look import cut, faint, overlaps, too_wide

from skill_health.page.html import render

pytestmark = [pytest.mark.real, pytest.mark.skipif(bool(missing()), reason=missing())]
LONG = (*SKILLS[:-1], "a-skill-with-a-name-that-is-longer-than-most-of-them-are")
AGENTS = ("claude-code:some-provider:claude-something-4-5-20260101", "codex:gpt-5")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    reports = (activation_report(*AGENTS, skills=LONG), activation_report("planted", skills=LONG, simulated=True))
    path = tmp_path_factory.mktemp("site") / "index.html"
    path.write_text(render(page_with(*reports, skills=LONG)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.mark.parametrize("window", [WIDE, NARROW, {"width": 320, "height": 640}], ids=["wide", "narrow", "small"])
@pytest.mark.parametrize("shade", ["light", "dark"])
def test_it_can_be_read(shade: str, window: dict[str, int], page: Path, browser: Any) -> None:
    with visit(browser, page, color_scheme=shade, viewport=window) as seen:
        assert too_wide(seen.page) <= 0
        assert overlaps(seen.page) == [] and faint(seen.page) == []
        assert cut(seen.page) == [] or window["width"] < NARROW["width"]
        open_all(seen.page)
        assert too_wide(seen.page) <= 0
        assert len(seen.page.query_selector_all("#activation figure svg")) == 1
        assert len(seen.page.query_selector_all("#activation h3")) == 4
    assert seen.wrong == []
