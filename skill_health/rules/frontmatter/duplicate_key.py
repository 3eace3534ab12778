"""A frontmatter key occurs twice.

## What
The same key appears on two lines of the frontmatter, at the top level or inside `metadata`. The finding names both.

## Why
YAML forbids it. Strict parsers reject the whole block, and with it the skill (js-yaml, serde_yaml, the reference
validator); lenient ones silently keep the last value, so editing the first one changes nothing.

## Bad
```markdown
---
name: release-notes
description: Writes release notes.
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
Keep one of the two. There is no automatic fix, because only the author knows which.

## Source
MUST · YAML 1.2.2, section 3.2.1.1 ("mapping keys must be unique"); the reference validator skills-ref 0.1.1 refuses
such a file (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import reported
from skill_health.skill.model import Skill

CODE = "FM004"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.DUPLICATE_KEY, Fault.DUPLICATE_NAME)
KINDS = {"duplicate-key": "Keep one of the two lines."}


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each repeated key."""
    return reported(skill, KINDS)
