"""A heading skips a level.

## What
A heading is more than one level below the heading before it, such as `####` after `##`. Going back up by any number
of levels is fine, and so is a file that begins below level 1. Opt-in.

## Why
Outlines, tables of contents and tools that cut a file at its headings put the section in the wrong place.

## Bad
```markdown
### Workflow
##### Build
```

## Good
```markdown
### Workflow
#### Build
```

## Fix
Use the next level down.

## Source
opinion · markdownlint, rule MD001 "heading-increment" (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill, Span

CODE = "ST008"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each heading that is more than one level below the one before."""
    for before, heading in pairwise(skill.body.headings):
        if heading.level > before.level + 1:
            message = f"level {heading.level} follows level {before.level}"
            yield Hit(Span(heading.line, heading.col), message, f"Make it level {before.level + 1}.")
