"""One output format per file; `load(name)` imports only the one that is asked for.

A module has EXTENSION (".md"), and `render(report, look) -> str`, which sees nothing but the report.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

TABLES = ("contrasts", "arms", "tasks", "trials")
"""What a format that holds one table at a time can show; trials are no part of a report, see `csv_.trials`."""

Report = Mapping[str, Any]
_SHORT = {"md": "markdown"}


class EffectRenderOptions(NamedTuple):
    """How to show a report, as far as a format cares: colour, columns, which of TABLES, and whether in ASCII only."""

    color: bool = False
    width: int = 100
    table: str = TABLES[0]
    ascii: bool = False


PLAIN = EffectRenderOptions()


def names() -> list[str]:
    """What the formats may be called, sorted."""
    with os.scandir(os.path.dirname(__file__)) as entries:
        own = (entry.name for entry in entries if entry.name.endswith(".py") and entry.name[0] != "_")
        return sorted([*(name[:-3].rstrip("_") for name in own), *_SHORT])


def load(name: str) -> ModuleType:
    """The module of a format. Raises ModuleNotFoundError where there is none."""
    stem = _SHORT.get(name, name)
    try:
        return import_module(f"{__name__}.{stem}")
    except ModuleNotFoundError:
        # What is named like a module of the standard library ends in an underscore.
        return import_module(f"{__name__}.{stem}_")


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
