"""One output format per file; `load(name)` imports only the one asked for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from skill_health.core.plugins import plugin_names


def names() -> list[str]:
    """The names of all formats, sorted."""
    return plugin_names(__path__)


def load(name: str) -> ModuleType:
    """Load the module of a format, which has `render(report: Report, color: bool) -> str`."""
    return import_module(f"skill_health.formats.{name}")
