"""The frontmatter has keys that no known host documents.

## What
Top-level keys that are neither in the specification nor an extension of Claude (its apps and Claude Code), Codex,
Copilot, Cursor, Gemini CLI, OpenClaw, OpenCode or OpenHands, as of November 2026. One finding per skill lists them.
Misspelled known keys have their own rule, `misspelled-key`. Where the skills are for a specification (`hosts =
["agentskills"]`), every key beyond its own is an error.

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
from skill_health.hosts._choice import choose_hosts
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._keys import KNOWN, SPECIFICATION, meant
from skill_health.rules.frontmatter._shared import quote_value, readable
from skill_health.skill.model import Skill

CODE = "FM026"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.UNKNOWN_KEY,)
_NAMED = 8


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report the keys that nobody reads, in one finding."""
    matter = readable(skill)
    if matter is None:
        return
    choice = choose_hosts(context.config, skill.path)
    strict = choice.certain and any(Fault.UNKNOWN_KEY in host.skips for host in choice.hosts)
    unknown = [field for field in matter.fields if _is_unknown(field.key, strict)]
    if unknown:
        names = list(dict.fromkeys(quote_value(field.key, 40) for field in unknown))
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        where = "the specification does not define" if strict else "neither the specification nor a known host defines"
        message = f"keys that {where}: {', '.join(names[:_NAMED])}{more}"
        yield Hit(unknown[0].key_span, message, "Move them below metadata, unless a tool of yours reads them here.")


def _is_unknown(key: str, strict: bool) -> bool:
    """Whether nobody defines a key; strictly, whether the specification does not."""
    return key not in SPECIFICATION if strict else key not in KNOWN and meant(key) is None
