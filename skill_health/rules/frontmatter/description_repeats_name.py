"""The description says no more than the name.

## What
Every word of the description occurs in the skill's name, filler words such as "the", "skill" or "expert" aside:
`api-design-reviewer` described as "API Design Reviewer".

## Why
The host shows name and description side by side. A description that repeats the name adds nothing to route by: neither
what the skill does nor when to use it.

## Bad
```markdown
---
name: release-notes
description: Release Notes
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes from merged pull requests. Use when a version is about to be published.
---
```

## Fix
Say what the skill does and when to use it.

## Source
SHOULD · Agent Skills specification, "description field" ("specific keywords that help agents identify relevant
tasks"), agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._names import repeats
from skill_health.rules.frontmatter._shared import quote_value, readable
from skill_health.skill.model import Skill

CODE = "FM020"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a description that repeats the name."""
    field = skill.field("description")
    if field is None or field.tag != "str" or not repeats(field.value, skill.name) or readable(skill) is None:
        return
    message = f"the description says no more than the name: {quote_value(field.value)}"
    yield Hit(field.span, message, "Say what the skill does and when to use it.")
