"""Plug-ins: the modules of a folder, by name; a leading underscore marks a helper.

They are found by `os.scandir`: `pkgutil` takes as long to load as a cached lint takes to run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

LONGEST_NAME = 200


def plugin_names(folders: Iterable[str]) -> list[str]:
    """The names of the plug-ins below the `__path__` of a package, sorted."""
    names = set()
    for folder in folders:
        with os.scandir(folder) as entries:
            names |= {entry.name[:-3] for entry in entries if entry.name.endswith(".py") and entry.name[0] != "_"}
    return sorted(names)


def quote_name(name: str) -> str:
    """Quote, for a message, what a user gave as the name of a plug-in."""
    return repr(name[:LONGEST_NAME])
