"""Missing skill: a link leads to another skill that does not exist.

## What
Links of SKILL.md of the forms `../other/SKILL.md`, `../other/` and `skills/other/` whose target does not exist, once
per target. If a skill of that name is nearby, the help gives the path to it.

## Why
A hand-off between skills works only if the other one can be found. When a collection is flattened, split or renamed,
all such links break at once.

## Bad
```markdown
For tables, use [the table skill](../../data/csv-tables/SKILL.md).
```

## Good
```markdown
For tables, use [the table skill](../csv-tables/SKILL.md).
```

## Fix
Correct the path, or name the skill without a link. `--fix --unsafe-fixes` writes the path of the skill found nearby.

## Source
evidence · 50 of the 90 skills of one public collection link to siblings at their former places (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath

from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.links._intent import broken_links
from skill_health.rules.links._mentions import FollowedLink
from skill_health.rules.links._targets import name_absence, span_of
from skill_health.skill.model import Skill, Span

CODE = "LI011"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

# Where a skill of that name may have moved to, relative to the skill that links to it.
_PLACES = ("..", "../..", "../skills", "../../skills", "../../..", "../../../skills")


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each missing skill once, where it is first linked to."""
    missing: dict[str, list[FollowedLink]] = {}
    for entry in broken_links(skill, context):
        if entry.skill:
            missing.setdefault(entry.target.path, []).append(entry)
    for path, entries in missing.items():
        name, span = entries[0].skill, span_of(entries[0].link)
        again = f" ({len(entries)} links in this file)" if len(entries) > 1 else ""
        message = f"link to the skill {name}: {path} {name_absence(entries[0].place.path, context)}{again}"
        actual = _elsewhere(name, skill, context)
        if actual:
            yield Hit(span, message, f"write {actual}", fix=_fix(entries, path, actual, skill))
        else:
            yield Hit(span, message, f"correct the path, or name {name} without a link")


def _elsewhere(name: str, skill: Skill, context: Context) -> str:
    """The path to a nearby skill of this name, relative to the skill's folder, or ""."""
    for place in _PLACES:
        candidate = f"{place}/{name}/SKILL.md"
        full = normpath(skill.path_of(candidate))
        if full != skill.path and context.exists(full):
            return candidate
    return ""


def _fix(entries: list[FollowedLink], path: str, actual: str, skill: Skill) -> Fix | None:
    edits = []
    for link, *_ in entries:
        at = skill.lines[link.line - 1].find(f"({path}", link.col - 1, link.end_col) + 2
        if at > 1:
            edits.append(Edit(Span(link.line, at, link.line, at + len(path)), actual))
    return Fix(f"link to {actual}", tuple(edits)) if edits else None
