"""Nothing in a report is believed: text of skills, tasks and agents is neither markup nor control, in any format."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from report_made import made, typed_report
from report_nasty import NASTY, UNSAFE, everywhere

from skill_health.bench.report_formats import RenderOptions
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness import reports
from skill_health.effectiveness.reports import TABLES, csv_, junit, markdown, text
from skill_health.text.terminal import columns, cut, lay_out_table, padded, squeezed, wrapped

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
VALUES = everywhere(made(simulated=True, biased=["x"]), lambda value: f"{NASTY}{value}")
HOSTILE = typed_report(VALUES)
HEADINGS = ("Effectiveness report", "Who benefits", "Effect on", "Contrasts", "Skills", "Arms", "Cost of", "Deliveries of",
            "Reached", "Negative", "By category",
            "Tasks", "How to read", "Calibration", "=cmd\\(\\)")  # fmt: skip


def harmless(page: str) -> None:
    """Markdown with nothing in it that is not ours."""
    tokens = MARKDOWN.parse(page)
    inner = [child for token in tokens for child in token.children or ()]
    assert {token.type for token in (*tokens, *inner)} & {"html_block", "html_inline", "link_open", "image"} == set()
    titles = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    assert all(title.startswith(HEADINGS) for title in titles), titles
    assert not UNSAFE.search(page)


def cells(page: str) -> list[int]:
    """The number of cells in each row of each table."""
    found: list[int] = []
    for token in MARKDOWN.parse(page):
        if token.type == "tr_open":
            found.append(0)
        found[-1:] = [found[-1] + (token.type in ("td_open", "th_open"))] if found else []
    return found


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_terminal_gets_no_control_and_no_line_too_long(width: int) -> None:
    for ascii_only in (False, True):
        page = text.render(HOSTILE, RenderOptions(width=width, ascii=ascii_only))
        assert not UNSAFE.search(page)
        assert max(map(columns, page.splitlines())) <= width
        assert page.isascii() or not ascii_only


@pytest.mark.slow
def test_colour_is_the_only_control_where_it_is_asked_for() -> None:
    page = text.render(HOSTILE, RenderOptions(color=True))
    import re

    assert not UNSAFE.search(re.sub("\x1b\\[\\d+m", "", page))
    assert re.sub("\x1b\\[\\d+m", "", page) == text.render(HOSTILE, RenderOptions())


@pytest.mark.slow
def test_markdown_is_ours_alone() -> None:
    page = markdown.render(HOSTILE)
    harmless(page)
    assert cells(page)[:3] == [6, 6, 6]
    lines = page.splitlines()
    fences = [line for line in lines if line.startswith(("```", "~~~"))]
    assert fences == ["```text", "```"] * len(HOSTILE.models)


@pytest.mark.slow
def test_csv_holds_no_formula_and_every_row_has_its_columns() -> None:
    for name in TABLES[:3]:
        found = list(csv.reader(io.StringIO(csv_.render(HOSTILE, RenderOptions(table=name)))))
        assert {len(row) for row in found} == {len(found[0])}
        for row in found[1:]:
            for cell in row:
                assert not cell.lstrip().startswith(("=", "+", "@")) or number(cell), cell
                assert not cell.startswith("-") or number(cell), cell
                assert not UNSAFE.search(cell)


def number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_a_hostile_trial_is_one_row() -> None:
    result = TrialResult(NASTY, NASTY, NASTY, 0, "fail", resolved_model=NASTY, stop_reason=NASTY, invocations=(NASTY,),
                    skills=((NASTY, NASTY),), notes=(NASTY,), error=NASTY, folder=NASTY)  # fmt: skip
    found = list(csv.reader(io.StringIO(csv_.trials([result]))))
    assert len(found) == 2
    assert len(found[0]) == len(found[1])
    assert not any(cell.lstrip().startswith(("=", "+", "-", "@")) for cell in found[1])


def test_xml_holds_what_was_said() -> None:
    root = ElementTree.fromstring(junit.render(HOSTILE))
    assert len(root) == len(HOSTILE.models)
    assert not UNSAFE.search("".join(root.itertext()))


def test_json_is_ascii_and_whole() -> None:
    page = reports.load("json").render(HOSTILE)
    assert page.isascii()
    assert json.loads(page) == VALUES


@pytest.mark.slow
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_text_at_all(one: str, other: str) -> None:
    small = made(models=1)
    small["models"][0]["skills"] = small["models"][0]["skills"][:1]
    small["models"][0]["tasks"] = small["models"][0]["tasks"][:2]
    small["leaderboard"] = small["leaderboard"][:2]
    values = everywhere(small, lambda value: f"{one}{value[:1]}{other}" if len(value) % 2 else f"{other}{value}{one}")
    report = typed_report(values)
    page = text.render(report, RenderOptions(width=80))
    assert not UNSAFE.search(page) and max(map(columns, page.splitlines())) <= 80
    assert not UNSAFE.search(markdown.render(report))
    ElementTree.fromstring(junit.render(report).encode())
    assert len({len(row) for row in csv.reader(io.StringIO(csv_.render(report)))}) == 1


@given(st.text(max_size=60), st.integers(1, 50))
def test_cut_text_fits(said: str, width: int) -> None:
    for shown in (cut(said, width), squeezed(said, width)):
        assert columns(shown) <= width
        assert not UNSAFE.search(shown)
    assert columns(padded(cut(said, width), width)) == width


@given(st.text(max_size=120), st.integers(8, 60))
def test_wrapped_text_fits_and_loses_nothing(said: str, width: int) -> None:
    found = wrapped(said, width, "  ")
    assert max(map(columns, found)) <= width
    from skill_health.text.terminal import table_line

    assert "".join("".join(found).split()) == "".join(table_line(said).split())


@given(st.lists(st.lists(st.text(max_size=12), min_size=3, max_size=3), max_size=4), st.integers(40, 80))
def test_a_table_fits(found: list[list[str]], width: int) -> None:
    assert all(columns(row) <= width for row in lay_out_table(("a", "b", "c"), found, width))
