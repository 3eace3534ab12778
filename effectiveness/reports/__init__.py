"""One output format per file; `load(name)` imports only the one that is asked for.

A module has EXTENSION (".md"), and `render(report, look) -> str`, which sees nothing but the report.
"""

from __future__ import annotations

import os
from types import ModuleType

from skill_health.bench.report_formats import Report, format_names, load_format

TABLES = ("contrasts", "arms", "tasks", "trials")
"""What a format that holds one table at a time can show; trials are no part of a report, see `csv_.trials`."""


def names() -> list[str]:
    """What the formats may be called, sorted."""
    return format_names(__path__)


def load(name: str) -> ModuleType:
    """The module of a format. Raises ModuleNotFoundError where there is none."""
    return load_format(__name__, name)


def write_reports(folder: str, report: Report) -> list[str]:
    """Put report.json and report.md into the folder of a run; their paths. Raises UsageError where that fails."""
    from skill_health.core.files import write_text

    written = []
    for name in ("json", "markdown"):
        module = load(name)
        path = os.path.join(folder, f"report{module.EXTENSION}")
        write_text(path, module.render(report))
        written.append(path)
    return written
