"""Absolute target: a link leads to a path of one machine.

## What
Link and image targets that start at the file system's root, at a home folder or at a drive (`/Users/...`, `~/...`,
`C:\\...`) and `file:` addresses. Only link targets count: paths in prose and code, such as `/etc/hosts` or `~/.config`,
are what skills talk about. Targets like `/docs/...` count too: a skill has no web site root to resolve them against.

## Why
The path exists on the author's machine at best. A skill's own files are reached by relative paths on any machine.

## Bad
```markdown
See [the guide](/Users/sam/skills/forms/references/guide.md).
```

## Good
```markdown
See [the guide](references/guide.md).
```

## Fix
Write the path relative to SKILL.md, or the full address where a web page is meant. Not fixed automatically.

## Source
SHOULD · Agent Skills specification, "File references": relative paths from the skill root, agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._targets import is_stand_in, read_target, span_of
from skill_health.skill.model import Skill

CODE = "LI008"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each absolute target once, where it is first linked to."""
    seen: set[str] = set()
    for link in skill.body.links:
        target = read_target(link.target)
        if target.kind != "absolute" or target.path in seen or is_stand_in(target.path):
            continue
        seen.add(target.path)
        inside = target.path.rpartition(f"/{skill.folder_name}/")[2] if skill.folder_name in target.path else ""
        known = inside in skill.files
        yield Hit(
            span_of(link),
            f"link to {target.path}, a path that other machines do not have",
            f"write {inside}" if known else "write the path relative to this file, or the full address of the page",
        )
