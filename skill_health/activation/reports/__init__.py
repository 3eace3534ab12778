"""One module for each format of a report: `render(report, look) -> str`, which sees nothing but the report."""

from __future__ import annotations

from types import ModuleType

from skill_health.bench import report_formats
from skill_health.documents.activation_report import ActivationReport

TABLES = ("figures", "skills", "requests", "confusion", "calibration")
"""The tables that CSV has, the first by default."""


def names() -> list[str]:
    """The formats that there are."""
    return report_formats.format_names(__path__)


def load(name: str) -> ModuleType:
    """The module of a format. Raises ModuleNotFoundError where there is none."""
    return report_formats.load_format(__name__, name)


def write_reports(folder: str, report: ActivationReport) -> list[str]:
    """Write report.json and report.md into the folder of a run; returns their paths. Raises UsageError."""
    return report_formats.write_reports(__name__, folder, report)
