"""The name contains a word that Claude's skill upload reserves.

## What
The name contains `anthropic` or `claude`.

## Why
Anthropic's hosts reserve the two words for their own skills: an upload to claude.ai or the API refuses the name. Skills
that live in a repository work all the same, so this is information.

## Bad
```markdown
---
name: claude-release-notes
description: Writes release notes. Use when a version is about to be published.
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
---
```

## Fix
Choose another name if the skill is to be uploaded.

## Source
MUST · Anthropic, "Agent Skills: skill structure", name ("cannot contain reserved words"), platform.claude.com
(2026-11); the Agent Skills specification has no such rule.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill

CODE = "FM028"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True
_RESERVED = ("anthropic", "claude")


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a reserved word in the name."""
    field = skill.field("name")
    if field is None or not isinstance(field.value, str):
        return
    word = next((word for word in _RESERVED if word in field.value.lower()), None)
    if word:
        message = f"the name holds '{word}', which Claude's skill upload reserves"
        yield Hit(field.span, message, "Choose another name if the skill is to be uploaded to Claude.")
