"""One output format per file; `load(name)` imports only the one that is asked for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from skill_health.core.plugins import plugin_names


def names() -> list[str]:
    """The formats there are, sorted."""
    return plugin_names(__path__)


def load(name: str) -> ModuleType:
    """The module of a format; it has `render(report: Report, color: bool) -> str`."""
    return import_module(f"skill_health.formats.{name}")
