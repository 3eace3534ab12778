"""The compatibility field is not text of 1 to 500 characters.

## What
`compatibility` is longer than 500 characters or is a list or mapping (errors), or is empty or a value that YAML reads
as a number, a boolean or a date (warnings).

## Why
Hosts show the field to the user or the model, as text of at most that length. The reference validator rejects anything
longer.

## Bad
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
compatibility: 3.11
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
compatibility: Requires Python 3.11 and git
---
```

## Fix
Shorten the text, or write one sentence. `--fix` quotes a number, boolean or date (safe).

## Source
MUST · Agent Skills specification, "compatibility field" (1-500 characters), agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import TAG_WORDS, quoting, readable
from skill_health.skill.model import Skill

CODE = "FM021"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.LONG_COMPATIBILITY, Fault.COMPATIBILITY_COLLECTION)
MAX_LENGTH = 500


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a compatibility field that is not a short text."""
    field = skill.field("compatibility")
    if field is None or readable(skill) is None:
        return
    if field.tag in ("seq", "map"):
        message = f"compatibility is {TAG_WORDS[field.tag]}, not text"
        yield Hit(field.span, message, "Write one sentence, such as: Requires Python 3.11 and git")
    elif field.tag == "null" or not str(field.value).strip():
        yield Hit(field.key_span, "compatibility is empty", "Remove the line.", severity=Severity.WARNING)
    elif field.tag != "str":
        message = f"compatibility is {TAG_WORDS.get(field.tag, 'not text')} to YAML, not text"
        yield Hit(field.span, message, "Quote the value.", fix=quoting(skill, field), severity=Severity.WARNING)
    elif len(field.value) > MAX_LENGTH:
        message = f"compatibility has {len(field.value):,} characters, {MAX_LENGTH} are allowed"
        yield Hit(field.span, message, "Keep the requirements; move the rest to the body.")
