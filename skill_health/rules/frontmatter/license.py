"""The license field is not text.

## What
`license` is empty, or a value that YAML reads as a number, a boolean, a date, a list or a mapping.

## Why
Registries and hosts show the licence as text. Anything else is dropped or shown as raw data.

## Bad
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
license: [MIT, Apache-2.0]
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
license: MIT OR Apache-2.0
---
```

## Fix
Write the name of the licence, or of the file that holds it. `--fix` quotes a number, boolean or date (safe).

## Source
MUST · Agent Skills specification, "license field" (a name or a bundled file), agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import TAG_WORDS, quoting, readable
from skill_health.skill.model import Skill

CODE = "FM024"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a licence that is not text."""
    field = skill.field("license")
    if field is None or readable(skill) is None or (field.tag == "str" and field.value.strip()):
        return
    if field.tag in ("null", "str"):
        hint = "Name the licence, or remove the line."
        yield Hit(field.key_span, "license is empty", hint, severity=Severity.INFO)
    else:
        message = f"license is {TAG_WORDS.get(field.tag, 'not text')} to YAML, not text"
        yield Hit(field.span, message, "Write the name of the licence, or of its file.", fix=quoting(skill, field))
