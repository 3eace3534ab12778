"""There are no instructions after the frontmatter.

## What
Nothing but headings and comments follows the frontmatter. A file without readable frontmatter is left to the
frontmatter family.

## Why
A host loads the skill, and the agent learns nothing but its name.

## Bad
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
---
# Release notes
```

## Good
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
---
# Release notes
1. List the merged pull requests since the last tag.
```

## Fix
Write the instructions, or remove the skill.

## Source
evidence · Agent Skills specification, "body content", agentskills.io (2026-11): the body is what an agent is given.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill, Span

CODE = "ST014"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a body without instructions."""
    if skill.frontmatter is None or any(defect.kind == "unclosed-frontmatter" for defect in skill.defects):
        return
    body = skill.body
    commented = {n for comment in body.comments for n in range(comment.line, comment.end_line + 1)}
    titles = {heading.line for heading in body.headings}
    for number, line in enumerate(skill.lines[body.first_line - 1 :], body.first_line):
        text = line.strip()
        if text and number not in titles and number not in commented and text.strip("=-"):
            return
    first = min(titles, default=1)
    yield Hit(Span(first, 1), "no instructions follow the frontmatter", "Write them, or remove the skill.")
