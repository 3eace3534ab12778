"""Shared by the reports of both benchmarks: a format is a module that renders one JSON-safe mapping.

It has EXTENSION (".md"), and `render(report, look) -> str`, which sees nothing but the report.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from skill_health.core.files import write_text
from skill_health.core.plugins import plugin_names
from skill_health.text.terminal import table_line

Report = Any
Row = Mapping[str, Any]
_SHORT = {"md": "markdown"}
_FORMULA = ("=", "+", "-", "@", "'")


class RenderOptions(NamedTuple):
    """How to show a report: colour, columns, which table (""), and whether in ASCII only."""

    color: bool = False
    width: int = 100
    table: str = ""
    ascii: bool = False


PLAIN = RenderOptions()


def format_names(folders: Iterable[str]) -> list[str]:
    """The names of the formats in the folders of a package, sorted."""
    return sorted([*(name.rstrip("_") for name in plugin_names(folders)), *_SHORT])


def load_format(package: str, name: str) -> ModuleType:
    """Import the module of a format. Raises ModuleNotFoundError if there is none."""
    stem = _SHORT.get(name, name)
    try:
        return import_module(f"{package}.{stem}")
    except ModuleNotFoundError:
        # A module named like one of the standard library ends in an underscore.
        return import_module(f"{package}.{stem}_")


def write_reports(package: str, folder: str, report: Report) -> list[str]:
    """Write report.json and report.md to the folder of a run; returns their paths. Raises UsageError if that fails."""
    written = []
    for name in ("json", "markdown"):
        module = load_format(package, name)
        path = os.path.join(folder, f"report{module.EXTENSION}")
        write_text(path, module.render(report))
        written.append(path)
    return written


def render_csv(head: Sequence[str], rows: Iterable[Row]) -> str:
    """A table as in RFC 4180, but with LF line endings: an empty cell is an unknown value.

    Text that a spreadsheet would read as a formula gets a leading apostrophe.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, head, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(value) for key, value in row.items()})
    return out.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if not isinstance(value, str):
        return value
    shown = table_line(value)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown


# Two characters that XML cannot hold and that are neither controls nor halves of a pair.
_NEVER = str.maketrans({"\ufffe": "\\ufffe", "\uffff": "\\uffff"})


def junit_document(suites: Iterable[str]) -> str:
    """JUnit XML of these suites."""
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', "<testsuites>", *suites, "</testsuites>"]) + "\n"


def junit_suite(name: str, cases: Sequence[str], created: str | None, said: str) -> str:
    """A suite of cases, with what they do not say; `created` is a time in UTC, None where it is not known."""
    failures, skipped = (sum(f"<{word}" in case for case in cases) for word in ("failure", "skipped"))
    when = f" timestamp={xml_attribute(created.removesuffix('Z'))}" if created else ""
    head = (
        f'<testsuite name={xml_attribute(name)} tests="{len(cases)}" failures="{failures}" errors="0" '
        f'skipped="{skipped}"{when}>'
    )
    return "\n".join([head, *cases, f"<system-out>{xml_text(said)}</system-out>", "</testsuite>"])


def xml_text(text: str) -> str:
    """Text between tags."""
    return escape("\n".join(map(_safe, text.split("\n"))))


def xml_attribute(text: str) -> str:
    """A value in its quotes."""
    return quoteattr(_safe(text))


def _safe(text: str) -> str:
    return table_line(text).translate(_NEVER)
