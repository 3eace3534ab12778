"""The frontmatter has keys that no known host documents.

## What
Top-level keys that are neither in the specification nor an extension of Claude (its apps and Claude Code), Codex,
Copilot, Cursor, Gemini CLI or OpenHands, as of November 2026. One finding per skill lists them. Misspelled known keys
have their own rule, `misspelled-key`.

## Why
These hosts ignore the keys, and the reference validator rejects the skill for them: about four in ten public skills
have at least one. They do no harm where another tool reads them (Hermes Agent has `author` and `platforms` at the top
level), so this is information. `version` is left alone: a template by Anthropic has it.

## Bad
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
author: Ada
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
metadata:
  author: Ada
---
```

## Fix
Move the keys below `metadata`, which is meant for them, unless a tool that you use reads them where they are.

## Source
SHOULD · Agent Skills specification, "metadata field" (additional properties not defined by the specification),
agentskills.io (2026-11); the reference validator skills-ref 0.1.1 refuses unexpected fields.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._keys import HOSTS, KNOWN, meant
from skill_health.rules.frontmatter._shared import quote_value, readable
from skill_health.skill.model import Skill

CODE = "FM026"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.UNKNOWN_KEY,)
_NAMED = 8
*_FIRST, _LAST = sorted(HOSTS)
_CHECKED = f"{', '.join(_FIRST)} or {_LAST}"


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report the keys that nobody reads, in one finding."""
    matter = readable(skill)
    if matter is None:
        return
    unknown = [field for field in matter.fields if field.key not in KNOWN and meant(field.key) is None]
    if unknown:
        names = list(dict.fromkeys(quote_value(field.key, 40) for field in unknown))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        message = f"keys that neither the specification nor {_CHECKED} defines: {', '.join(names[:_NAMED])}{more}"
        yield Hit(unknown[0].key_span, message, "Move them below metadata, unless a tool of yours reads them here.")
