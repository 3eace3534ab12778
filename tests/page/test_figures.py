"""Every figure of the page against the JSON report that it names, read from disk and from the other commands."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import page_made
import pytest
from filled_records import documents as made_documents
from filled_records import resolve
from hypothesis import given
from hypothesis import strategies as st
from page_parsed import Element

from skill_health.documents._record import record_values
from skill_health.page.data.histories import daily_history
from skill_health.page.html import shortened, whole
from skill_health.page.model import Page

NUMBER = re.compile(r"[+−-]?\d[\d,]*(?:\.\d+)?")
# As data, in per cent, points or US cents, and in seconds of milliseconds or thousands.
UNITS = (1.0, 100.0, 0.001)
# Computed on the page from several values of a report; no single place holds them, and their tests are elsewhere.
COMPUTED = {
    "Mean", "Skills", "Does not apply", "Share of the expected skill's calls, %", "Places", "Findings",
    "With a fix",
}  # fmt: skip


@cache
def documents() -> dict[str, Any]:
    """The reports as another program reads them: from the files, and from what the commands print."""
    page: Page = page_made.page()
    folder = Path(page.folder)
    told = {name: value for name, value in made_documents(page).items() if name in ("status", "lint", "page")}
    for kind in ("router", "effectiveness"):
        for path in folder.glob(f"{kind}/*/report.json"):
            told[f"{kind}/{path.parent.name}"] = json.loads(path.read_bytes())
        for path in folder.glob(f"{kind}/*/results.jsonl"):
            told[f"results/{path.parent.name}"] = [json.loads(line) for line in path.read_bytes().splitlines()]
    for name, file in (
        ("router-history", "router-history.jsonl"),
        ("effectiveness-history", "effectiveness-history.jsonl"),
    ):
        told[name] = [json.loads(line) for line in (folder / file).read_bytes().splitlines()]
    told["history"] = [json.loads(json.dumps(record_values(run))) for run in daily_history(page.folder)[0]]
    return told


def at(origin: str) -> Any:
    return resolve(documents(), origin)


def numbers(text: str) -> list[tuple[float, float]]:
    """The numbers in a text, each with half a unit of its last digit."""
    found = []
    for each in NUMBER.findall(text):
        digits = len(each.partition(".")[2])
        found.append((float(each.replace(",", "").replace("−", "-")), 0.5000001 * 10**-digits))
    return found


def agrees(shown: list[tuple[float, float]], values: list[float]) -> bool:
    """Whether the numbers shown are these values, rounded, in one of the units; 1 is never reached by rounding up."""
    for unit in UNITS:
        scaled = [value * unit for value in values]
        slack = [half * 2 if 0.995 <= value < 1 else half for value, (_, half) in zip(values, shown, strict=False)]
        if len(shown) >= len(scaled) and all(
            abs(number - value) <= half for (number, _), value, half in zip(shown, scaled, slack, strict=False)
        ):
            return True
    return False


def figures() -> list[Element]:
    return [each for each in page_made.seen().elements if each.attrs.get("data-from")]


@pytest.mark.slow
def test_every_figure_is_the_one_that_its_report_holds() -> None:
    wrong, kinds = [], set()
    for each in figures():
        origin = str(each.attrs["data-from"])
        kinds.add(origin.partition("#")[0].partition("/")[0])
        value, raw, text = at(origin), each.attrs.get("data-value"), " ".join(each.text.split())
        if isinstance(value, dict):
            told = [value[key] for key in ("value", "low", "high") if value.get(key) is not None]
            n = [] if "n" not in value or value["value"] is None else [f"n {value['n']:,}"]
            right = (agrees(numbers(text), told) if told else "–" in text) and all(part in text for part in n)
        elif isinstance(value, bool) or value is None or isinstance(value, str | list):
            right = value is not None or "–" in text
        else:
            right = agrees(numbers(text), [value])
            if raw is not None:
                right = right and any(float(raw) == pytest.approx(value * unit, rel=1e-9) for unit in UNITS)
        if not right:
            wrong.append((origin, text, raw, value))
    assert wrong == []
    assert len(figures()) > 800
    assert kinds == {"status", "lint", "page", "history", "router-history", "router", "effectiveness", "results"}


@pytest.mark.slow
def test_hardly_a_number_in_a_table_comes_from_nowhere() -> None:
    cells: dict[int, list[Element]] = {}
    heads: dict[int, list[str]] = {}
    sourced = {id(each.up) for each in figures()} | {id(each) for each in figures()}
    nowhere = set()
    for each in page_made.seen().elements:
        if each.tag in ("td", "th"):
            cells.setdefault(id(each.up), []).append(each)
    for row in (each for each in page_made.seen().elements if each.tag == "tr"):
        own = [" ".join(cell.text.split()) for cell in cells[id(row)]]
        if row.within("thead"):
            heads[id(table_of(row))] = own
            continue
        for head, text, cell in zip(heads[id(table_of(row))], own, cells[id(row)], strict=True):
            if re.fullmatch(NUMBER, text) and id(cell) not in sourced:
                nowhere.add(head)
    assert nowhere <= COMPUTED


def table_of(row: Element) -> Element | None:
    above = row.up
    while above is not None and above.tag != "table":
        above = above.up
    return above


SEGMENT = st.text(st.characters(blacklist_characters='/"&<>~', blacklist_categories=("Cs", "Cc")), max_size=30)


@given(st.lists(st.lists(SEGMENT, min_size=1, max_size=6), max_size=30))
def test_a_shortened_origin_can_be_read_back(found: list[list[str]]) -> None:
    origins = ["/".join(["page#", *parts]) for parts in found] * 3
    document, parts = shortened("".join(f'<td data-from="{origin}">1</td>' for origin in origins))
    assert [whole(each, parts) for each in re.findall(r'data-from="([^"]*)"', document)] == origins
    assert len(document) + sum(map(len, parts)) <= sum(len(f'<td data-from="{origin}">1</td>') for origin in origins)
