"""One output format per file; `load(name)` imports only the one that is asked for.

A module has EXTENSION (".md"), and `render(report, look) -> str`, which sees nothing but the report.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

TABLES = ("leaderboard", "skills", "prompts", "confusion")
"""What a format that holds one table at a time can show."""

Report = Mapping[str, Any]
_SHORT = {"md": "markdown"}


class RenderOptions(NamedTuple):
    """How to show a report, as far as a format cares: in colour, how many columns wide, and which of TABLES."""

    color: bool = False
    width: int = 100
    table: str = TABLES[0]


PLAIN = RenderOptions()


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
