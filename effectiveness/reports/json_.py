"""The whole report as canonical JSON, ASCII only: for other programs, and to compare byte by byte."""

from __future__ import annotations

from skill_health.bench.report_formats import PLAIN, RenderOptions, Report, render_json

EXTENSION = ".json"


def render(report: Report, look: RenderOptions = PLAIN) -> str:
    """Sorted keys, two spaces, a new line at the end."""
    return render_json(report)
