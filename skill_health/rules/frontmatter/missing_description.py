"""The skill has no description.

## What
`description` is absent or empty; a block value (`>` or `|`) with no text below it is empty, too.

## Why
The description is all that a host shows the model before the skill is loaded. Without one the skill cannot be chosen;
the specification requires it and the reference validator refuses the skill.

## Bad
```markdown
---
name: release-notes
description:
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
MUST · Agent Skills specification, "description field", agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import readable
from skill_health.skill.model import Skill

CODE = "FM014"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.NO_DESCRIPTION, Fault.NULL_DESCRIPTION, Fault.BLANK_DESCRIPTION)
_REMEDY = "Say what the skill does and when to use it, in at most 1,024 characters."


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a description that is absent or blank."""
    matter = readable(skill)
    if matter is None:
        return
    field = matter.get("description")
    if field is None:
        if not any(entry.key.strip().lower() == "description" for entry in matter.fields):
            yield Hit(matter.span, "the frontmatter has no description", _REMEDY)
    elif field.tag == "null" or (field.tag == "str" and not str(field.value).strip()):
        yield Hit(field.key_span, "the description is empty", _REMEDY)
