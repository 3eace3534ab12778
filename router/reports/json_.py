"""The whole report as canonical JSON, ASCII only: for other programs, and to compare byte by byte."""

from __future__ import annotations

from skill_health.bench.report_formats import PLAIN, RenderOptions
from skill_health.documents._record import encode_record
from skill_health.documents.router_report import RouterReport

EXTENSION = ".json"


def render(report: RouterReport, look: RenderOptions = PLAIN) -> str:
    """Sorted keys, two spaces, a new line at the end."""
    return encode_record(report)
