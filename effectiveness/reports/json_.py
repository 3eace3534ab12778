"""The whole report as canonical JSON, ASCII only: for other programs, and to compare byte by byte."""

from __future__ import annotations

import json

from skill_health.effectiveness.reports import PLAIN, EffectRenderOptions, Report

EXTENSION = ".json"


def render(report: Report, look: EffectRenderOptions = PLAIN) -> str:
    """Sorted keys, two spaces, a new line at the end."""
    return json.dumps(report, indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False) + "\n"
