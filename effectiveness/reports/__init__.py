"""One output format per file; `load(name)` imports only the one that is asked for.

A module has EXTENSION (".md"), and `render(report, look) -> str`, which sees nothing but the report.
"""

from __future__ import annotations

from types import ModuleType

from skill_health.bench import report_formats
from skill_health.bench.report_formats import format_names, load_format
from skill_health.documents.effect_report import EffectReport

TABLES = ("contrasts", "arms", "tasks", "contributions", "composition", "trials")
"""What a format that holds one table at a time can show; trials are no part of a report, see `csv_.trials`."""


def names() -> list[str]:
    """What the formats may be called, sorted."""
    return format_names(__path__)


def load(name: str) -> ModuleType:
    """The module of a format. Raises ModuleNotFoundError where there is none."""
    return load_format(__name__, name)


def write_reports(folder: str, report: EffectReport) -> list[str]:
    """Put report.json and report.md into the folder of a run; their paths. Raises UsageError where that fails."""
    return report_formats.write_reports(__name__, folder, report)
