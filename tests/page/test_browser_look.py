"""What looks at the pictures sees what it is to see: planted flaws are found, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser_driver import visit
from browser_look import contrast, covered, cut, faint, overlaps, too_wide

pytestmark = pytest.mark.real
CASES: dict[str, tuple[str, Callable[[Any], list[str]], int]] = {
    "apart": ('<text x="10" y="20">one</text><text x="10" y="40">two</text>', overlaps, 0),
    "over each other": ('<text x="10" y="20">one</text><text x="14" y="24">two</text>', overlaps, 1),
    "steep, side by side": (
        '<text transform="translate(20,90) rotate(-45)">a long label</text>'
        '<text transform="translate(40,90) rotate(-45)">a long label</text>', overlaps, 0,
    ),
    "steep and too near": (
        '<text transform="translate(20,90) rotate(-45)">a long label</text>'
        '<text transform="translate(26,90) rotate(-45)">a long label</text>', overlaps, 1,
    ),
    "hidden": ('<text x="10" y="20">one</text><text x="10" y="20" opacity="0">one</text>', overlaps, 0),
    "beside a point": ('<text x="10" y="20">one</text><path d="M40,14h8v8h-8Z"/>', covered, 0),
    "below a point": ('<text x="10" y="20">one</text><path d="M12,14h8v8h-8Z"/>', covered, 1),
    "on a point": ('<path d="M12,14h8v8h-8Z"/><text x="10" y="20">one</text>', covered, 0),
    "within": ('<text x="10" y="20">one</text>', cut, 0),
    "out of the picture": ('<text x="180" y="20">a word</text>', cut, 1),
    "shortened": ('<text x="10" y="20">a wo…</text>', cut, 1),
    "tiny": ('<text x="10" y="20" font-size="4">a word</text>', cut, 1),
    "dark on light": ('<text x="10" y="20" fill="#222">a word</text>', faint, 0),
    "light on light": ('<text x="10" y="20" fill="#aaa">a word</text>', faint, 1),
    "light on a dark mark": (
        '<path d="M0,0h200v30h-200Z" fill="#123"/><text x="10" y="20" fill="#eee">a word</text>', faint, 0,
    ),
    "dark on a dark mark": (
        '<g transform="translate(5,0)"><path d="M0,0h200v30h-200Z" fill="#123"/></g><text x="10" y="20">a word</text>',
        faint, 1,
    ),
    "beside a dark mark": ('<path d="M100,0h100v30h-100Z" fill="#123"/><text x="10" y="20">a word</text>', faint, 0),
    "on a mark that shines through": (
        '<path d="M0,0h200v30h-200Z" fill="#123" fill-opacity="0.1"/><text x="10" y="20">a word</text>', faint, 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_finds_what_was_planted(name: str, browser: Any, tmp_path: Path) -> None:
    inner, look, count = CASES[name]
    page = tmp_path / "page.html"
    svg = f'<svg viewBox="0 0 200 100" width="200" font-size="12" font-family="Liberation Sans">{inner}</svg>'
    page.write_text(
        f'<!DOCTYPE html><html style="background:#fff"><figure id="it">{svg}</figure></html>', encoding="utf-8"
    )
    with visit(browser, page) as seen:
        found = look(seen.page)
    assert len(found) == count, found


def test_it_knows_what_is_too_wide_and_what_was_asked_for(browser: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<!DOCTYPE html><img src="http://127.0.0.1:9777/x.png"><div style="width:2000px">wide</div>', encoding="utf-8"
    )
    with visit(browser, page, may_fail=True) as seen:
        assert 700 < too_wide(seen.page) < 760
    assert "request: http://127.0.0.1:9777/x.png" in seen.wrong


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    assert contrast("rgb(119, 119, 119)", "rgb(255, 255, 255)") == pytest.approx(4.48, abs=0.01)
