"""The whole report as canonical JSON, ASCII only: for other programs, and to compare byte by byte."""

from __future__ import annotations

from skill_health.effectiveness.reports import PLAIN, EffectRenderOptions, Report
from skill_health.router.reports import json_

EXTENSION = json_.EXTENSION


def render(report: Report, look: EffectRenderOptions = PLAIN) -> str:
    """Sorted keys, two spaces, a new line at the end."""
    text: str = json_.render(report)
    return text
