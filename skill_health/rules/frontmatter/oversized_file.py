"""The file is too large to be a skill.

## What
SKILL.md is larger than 1 MiB (an error; its Markdown is not parsed), or contains a line too long to be hand-written
(information). Limits on the length of a readable skill are left to the structure family.

## Why
A host puts the whole file into the context when the skill fires. A mebibyte is about 260,000 tokens: more than most
models accept.

## Bad
```markdown
---
name: api-reference
description: The whole API. Use when calling it.
---
(two megabytes of generated JSON)
```

## Good
```markdown
---
name: api-reference
description: Finds the right API call. Use when calling the API.
---
Search `references/api.json` with `scripts/find.py`.
```

## Fix
Move the data to `references/` or `assets/`, and let the skill say how to search it.

## Source
SHOULD · Agent Skills specification, "Progressive disclosure" (under 5,000 tokens recommended), agentskills.io
(2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import defects, remedy
from skill_health.skill.model import Skill

CODE = "FM009"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
KINDS = {
    "oversized": "Move the data to references/ or assets/ and say how to search it.",
    "long-line": "Break the line, or move the data to a file beside SKILL.md.",
}


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report an oversized file or line."""
    for defect in defects(skill, KINDS):
        severity = Severity.INFO if defect.kind == "long-line" else None
        yield Hit(defect.span, defect.message, remedy(defect, KINDS), severity=severity)
