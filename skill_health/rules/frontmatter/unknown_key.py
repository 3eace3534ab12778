"""The frontmatter has keys that no known host documents.

## What
Top-level keys that are neither in the specification nor an extension of Claude Code, Codex, Copilot, Cursor or
Gemini CLI, as of November 2026. One finding per skill lists them. Misspelled known keys have their own rule,
`misspelled-key`.

## Why
Hosts ignore such keys, and the reference validator rejects the skill for them: 5,570 of 13,551 public skills have at
least one. They do no harm where a tool of your own reads them, so that this is information.

## Bad
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
version: 1.2.0
author: Ada
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
metadata:
  version: "1.2.0"
  author: Ada
---
```

## Fix
Move the keys below `metadata`, which is meant for them.

## Source
SHOULD · Agent Skills specification, "metadata field" (additional properties not defined by the specification),
agentskills.io (2026-11); the reference validator skills-ref 0.1.1 refuses unexpected fields.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.skill import Skill
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._keys import KNOWN, meant
from skill_health.rules.frontmatter._shared import readable, shown

CODE = "FM026"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True
_NAMED = 8


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report the keys that nobody reads, in one finding."""
    matter = readable(skill)
    if matter is None:
        return
    unknown = [field for field in matter.fields if field.key not in KNOWN and meant(field.key) is None]
    if unknown:
        names = list(dict.fromkeys(shown(field.key, 40) for field in unknown))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        message = f"keys that no specification or known host defines: {', '.join(names[:_NAMED])}{more}"
        yield Hit(unknown[0].key_span, message, "Move what tools of your own read below metadata.")
