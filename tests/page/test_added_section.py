"""A section that is added as a file and its template, the one in CONTRIBUTING.md: the page has it, in its place."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import page_made
import pytest
from filled_records import documents, page_over, resolve
from page_parsed import Parsed

from skill_health.page import html, sections
from skill_health.page.html import render_plain

NAME = "skill_health.page.sections.heaviest"
BLOCK = re.compile(r"^`skill_health/page/sections/(heaviest[.\w]+)`:\n\n````\w+\n(.*?)^````$", re.MULTILINE | re.DOTALL)
STYLE = "#heaviest ol{columns:2}"


@pytest.fixture(autouse=True)
def _heaviest(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None) -> Iterator[None]:
    """The section in a folder of its own, which is one more of the package's; pictures are not drawn."""
    files = dict(BLOCK.findall((checkout / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert sorted(files) == ["heaviest.html.j2", "heaviest.py"]
    for name, text in (files | {"heaviest.css": STYLE}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(sections, "__path__", [*sections.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    html.page_environment.cache_clear()
    yield
    html.page_environment.cache_clear()
    sys.modules.pop(NAME, None)
    vars(sections).pop("heaviest", None)


@pytest.mark.slow
def test_the_page_has_it_in_its_place_with_its_figures() -> None:
    page = page_made.page()
    seen = Parsed(render_plain(page))
    names = [each.attrs["id"] for each in seen.all("section")]
    assert names[names.index("overview") : names.index("question-1")] == ["overview", "heaviest"]
    assert seen.one(id="heaviest-head").text == "What takes most room in every request"
    assert "#heaviest" in seen.links() and STYLE in seen.one("style").text
    cells = [each for each in seen.all("b") if each.attrs.get("data-from", "") and each.within("li")]
    shown = [
        (each.text, resolve(documents(page), str(each.attrs["data-from"])))
        for each in cells
        if "listing" in str(each.attrs)
    ]
    assert len(shown) == 5
    assert all(text == f"{value:,}" for text, value in shown)


def test_it_is_not_there_where_it_has_nothing_to_show() -> None:
    assert "heaviest-head" not in render_plain(page_over())
