"""The names by which runs of the router list the skills of a collection, for whoever reads what they left."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

from skill_health.core.plugins import Plugins


def names_now(root: str, facts: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """What a run of the router may call each skill, by the path of its SKILL.md: the best name first.

    That is the one by which hosts list it, with the plugin's before it, and after it the plain one where no other skill
    has that: runs of earlier versions listed it so. `facts` are those of a lint run.
    """
    plugins = Plugins(root)
    plain = {path: str(own["summary"]["name"]) for path, own in facts.items()}
    listed = {path: plugins.qualify(os.path.dirname(path), name) for path, name in plain.items()}
    often, times = Counter(listed.values()), Counter(plain.values())
    return {
        path: tuple(dict.fromkeys([listed[path]] * (often[listed[path]] == 1) + [name] * (times[name] == 1)))
        for path, name in plain.items()
    }


def texts_now(root: str, facts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The descriptions of the skills that are listed, by each of their names (see `names_now`)."""
    seen = {path: own for path, own in facts.items() if not own["summary"]["hidden"]}
    return {
        name: str(seen[path]["summary"]["description"])
        for path, names in names_now(root, seen).items()
        for name in names
    }
