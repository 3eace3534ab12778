"""One output format per file; `load(name)` imports only the one that is asked for."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType


def names() -> list[str]:
    """The formats there are, sorted."""
    with os.scandir(os.path.dirname(__file__)) as entries:
        return sorted(e.name[:-3] for e in entries if e.name.endswith(".py") and not e.name.startswith("_"))


def load(name: str) -> ModuleType:
    """The module of a format; it has `render(report: Report, color: bool) -> str`."""
    return import_module(f"skill_health.formats.{name}")
