"""A frontmatter key is a misspelling of a known one.

## What
An unknown key differs from a known one only by case, underscores, camel case or a letter or two: `allowed_tools`,
`descripton`, `Name`, `licence`, `user-invokable`. The known keys are those of the specification and of Claude Code,
Codex, Copilot, Cursor and Gemini CLI, as of November 2026. If the right key is there as well, nothing is lost, and the
finding is information.

## Why
Hosts silently ignore unknown keys. The tools are not granted, the skill is listed without its description, the command
stays callable: the opposite of what the file says.

## Bad
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
allowed_tools: Read
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
allowed-tools: Read
---
```

## Fix
Rename the key. `--fix` does it (safe) unless the right key exists as well.

## Source
evidence · the hosts' own loaders and documentation, listed in `_keys.py` (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.frontmatter._keys import KNOWN, meant
from skill_health.rules.frontmatter._shared import quote_value, readable, spelled
from skill_health.skill.model import Skill

CODE = "FM025"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each key that is nearly a known one."""
    matter = readable(skill)
    if matter is None:
        return
    keys = [field.key for field in matter.fields]
    for field in matter.fields:
        known = meant(field.key) if field.key not in KNOWN else None
        if known is None:
            continue
        fix = None
        if known not in keys and keys.count(field.key) == 1 and spelled(skill, field.key_span):
            fix = Fix(f"rename the key to {known}", (Edit(field.key_span, known),), safe=True)
            keys.append(known)
        key = quote_value(field.key, 40)
        if fix is None and known in keys:
            message = f"no host reads the key '{key}'; '{known}' is there as well"
            yield Hit(field.key_span, message, "Remove the line.", severity=Severity.INFO)
        else:
            yield Hit(field.key_span, f"no host reads the key '{key}'; '{known}' is meant", f"Write {known}.", fix=fix)
