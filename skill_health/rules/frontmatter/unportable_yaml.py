"""The frontmatter uses YAML that hosts read differently.

## What
Anchors and aliases (`&name`, `*name`), and keys that YAML does not read as text: `1:`, `yes:`, `2026-01-01:`.

## Why
Hosts use different YAML parsers. The reference validator's dialect has no anchors and rejects the file; a key that
is a number or a boolean is dropped by one host and breaks the JSON of another.

## Bad
```markdown
---
name: release-notes
description: &about Writes release notes. Use when a version is about to be published.
metadata:
  summary: *about
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
Write the value out, or quote the key.

## Source
SHOULD · Agent Skills specification, "Frontmatter" (plain fields and a string map), agentskills.io (2026-11); the
reference validator skills-ref 0.1.1 disallows anchors.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import reported
from skill_health.skill.model import Skill

CODE = "FM005"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.ANCHOR,)
KINDS = {
    "alias": "Write the value out in each place.",
    "non-string-key": "Quote the key.",
}


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report anchors, aliases and keys that are not text."""
    return reported(skill, KINDS)
