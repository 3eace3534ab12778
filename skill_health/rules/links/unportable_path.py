"""Unportable path: a link or path resolves only on some systems.

## What
Links of SKILL.md and paths in inline code that name an existing file of the skill with different letter case or with
backslashes.

## Why
macOS and Windows find `References/Guide.md` when the file is `references/guide.md`; Linux, where most agents run, does
not. Backslashes work on Windows only.

## Bad
```markdown
Read [the guide](References/Guide.md).
```

## Good
```markdown
Read [the guide](references/guide.md).
```

## Fix
Spell the path as the file is named. `--fix` does it (safe): the new path names the same file.

## Source
SHOULD · Agent Skills specification, "File references": relative paths from the skill root, agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.links._mentions import followed_links, path_mentions
from skill_health.rules.links._targets import span_of
from skill_health.skill.model import Skill, Span

CODE = "LI006"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each path that is spelled differently from its file."""
    for link, target, place, _ in followed_links(skill, context):
        if place.state == "spelled":
            source = skill.lines[link.line - 1]
            at = source.find(f"({target.path}", link.col - 1, link.end_col) + 1
            where = Span(link.line, at + 1, link.line, at + 1 + len(target.path)) if at else None
            yield _hit(span_of(link), target.path, place.actual, where)
    for found in path_mentions(skill, context):
        if found.code and found.state == "spelled":
            yield _hit(found.span, found.path, found.actual, found.span)


def _hit(span: Span, path: str, actual: str, where: Span | None) -> Hit:
    fix = Fix(f"spell the path as {actual}", (Edit(where, actual),), safe=True) if where is not None else None
    slashes = "\\" in path and path.replace("\\", "/") == actual
    reason = "backslashes work on Windows only" if slashes else "Linux tells upper and lower case apart"
    return Hit(span, f"{path} is named {actual} on disk; {reason}", f"write {actual}", fix=fix)
