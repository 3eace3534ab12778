"""A folder among skills has no SKILL.md

## What
A folder right in a folder `skills` that holds files and, unlike at least two thirds of the folders beside it, no
SKILL.md at any depth. Folders that begin with `_` or `.`, or are called shared, common, scripts, references, assets or
the like, are left alone.

## Why
No host loads it as a skill. The file was forgotten, renamed or ignored.

## Bad
```text
skills/add-note/README.md
```

## Good
```text
skills/add-note/SKILL.md
```

## Fix
Add the SKILL.md, or move the folder. There is no automatic fix.

## Source
MUST · Agent Skills specification: a skill is a folder with a SKILL.md (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.boundary import upward
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Repository, above
from skill_health.skill.model import Span

CODE = "RP036"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True


_OTHERS = frozenset(
    "shared common lib libs scripts references reference assets resources docs data tests test evals templates template examples "
    "utils tools config configs images src include includes partials helpers core bin hooks agents commands workflows overlays "
    "archive archived deprecated drafts schemas rules licenses licences".split()
)


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each such folder once."""
    holding = {folder for skill in repository.skills for folder in upward(skill)}
    beside: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for path in repository.files:
        parts = path.split("/")
        for n in range(len(parts) - 2):
            if parts[n] == "skills":
                folder = "/".join(parts[: n + 2])
                first.setdefault(folder, path)
    for folder, path in first.items():
        name = folder.rpartition("/")[2]
        if folder not in holding and name.lower() not in _OTHERS and name[0] not in "_.":
            beside.setdefault(above(folder, 1), []).append(path)
    for home, paths in beside.items():
        skills = sum(above(skill, 1) == home for skill in repository.skills)
        if skills >= 2 * len(paths):
            for path in paths:
                folder = "/".join(path.split("/")[: home.count("/") + 2])
                message = f"{folder} has no SKILL.md, as the {skills} folders beside it have"
                yield Hit(Span(1, 1), message, "add it, or move the folder", path)
