"""The file is too large to be a skill.

## What
Errors: SKILL.md is larger than 1 MiB, and its Markdown is not parsed; brackets are nested more than 100 deep in it,
and the links of that paragraph are not checked; 10,000 files or more stand beside it, and the rest of them is not
checked. Information: a line is too long to be hand-written. Limits on the length of a readable skill are left to the
structure family.

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

from skill_health.discovery.corpus import MAX_FILES
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import defects, remedy
from skill_health.skill.model import Skill, Span

CODE = "FM009"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
KINDS = {
    "oversized": "Move the data to references/ or assets/ and say how to search it.",
    "deep-markup": "Close the brackets, or put the text into a code block.",
    "long-line": "Break the line, or move the data to a file beside SKILL.md.",
}


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report an oversized file or line."""
    for defect in defects(skill, KINDS):
        severity = Severity.INFO if defect.kind == "long-line" else None
        yield Hit(defect.span, defect.message, remedy(defect, KINDS), severity=severity)
    if len(skill.files) >= MAX_FILES:
        message = f"{MAX_FILES:,} files or more stand beside it: only {MAX_FILES:,} of them were checked"
        yield Hit(Span(1, 1), message, "Move the files out of the skill, or exclude their folder.")
