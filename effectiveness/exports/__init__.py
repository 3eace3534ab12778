"""The trials of a run in the forms of other tools, one form a file.

A module whose name does not begin with an underscore is a form. It has TITLE, and `export(run, trials, read)`, which
yields what to write (ExportedFile) and what of a trial is left out (ExportGap). A name of the standard library ends in
an underscore.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from skill_health.core.plugins import plugin_names
from skill_health.effectiveness.exports._api import ExportFormat


def export_names() -> list[str]:
    """What the forms may be called, sorted."""
    return sorted(name.rstrip("_") for name in plugin_names(__path__))


def load_export(name: str) -> ExportFormat:
    """The module of a form. Raises StopIteration where there is none."""
    module = next(each for each in plugin_names(__path__) if each.rstrip("_") == name)
    return cast(ExportFormat, import_module(f"{__name__}.{module}"))
