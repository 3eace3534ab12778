"""The description is longer than 1,024 characters.

## What
The description, as YAML reads it, has more than 1,024 characters. Shorter descriptions are never reported here;
truncation by hosts is left to the routing family.

## Why
Copilot CLI does not load such a skill, Claude's upload refuses it, and the reference validator rejects it; Codex cuts
the description. 11 of 13,551
public skills exceed the limit.

## Bad
```markdown
---
name: release-notes
description: Writes release notes. (a thousand more characters)
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
Move details to the body: the description decides only whether the skill is loaded.

## Source
MUST · Agent Skills specification, "description field" (1-1024 characters), agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import readable
from skill_health.skill.model import Skill

CODE = "FM016"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.LONG_DESCRIPTION,)
MAX_LENGTH = 1024


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a description beyond the limit of the specification."""
    field = skill.field("description")
    if field is None or field.tag != "str" or len(field.value) <= MAX_LENGTH or readable(skill) is None:
        return
    message = f"the description has {len(field.value):,} characters, {MAX_LENGTH:,} are allowed"
    yield Hit(field.span, message, "Keep what decides whether to load the skill; move the rest to the body.")
