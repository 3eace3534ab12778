"""The description is a leftover of YAML or of a template.

## What
The whole description is a block marker in quotes (`">"`, `"|-"`), a word such as `null`, `none`, `todo` or `tbd`, the
beginning of a template's placeholder (`[TODO: ...`), or a value that YAML does not read as text: a list, a mapping, a
number, a boolean, a date. An empty description is left to `missing-description`.

## Why
The file is valid and the skill is listed, with a description that says nothing. Codex rejects one that is not text.

## Bad
```markdown
---
name: release-notes
description: [TODO: Complete and informative explanation of what the skill does]
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
Write the description. `--fix` quotes a number, boolean or date (safe).

## Source
MUST · Agent Skills specification, "description field" (non-empty text), agentskills.io (2026-11); evidence for the
leftovers.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._leftovers import is_leftover
from skill_health.rules.frontmatter._shared import TAG_WORDS, quote_value, quoting, readable
from skill_health.skill.model import Skill

CODE = "FM015"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.DESCRIPTION_NOT_TEXT, Fault.DATE_DESCRIPTION, Fault.DESCRIPTION_COLLECTION)
_REMEDY = "Say what the skill does and when to use it."


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a description that is a leftover, or not text."""
    field = skill.field("description")
    if field is None or field.tag == "null" or readable(skill) is None:
        return
    if field.tag != "str":
        message = f"the description is {TAG_WORDS.get(field.tag, 'not text')} to YAML, not text"
        yield Hit(field.span, message, _REMEDY, fix=quoting(skill, field))
        return
    if is_leftover(field.value):
        yield Hit(field.span, f"the description is a leftover: {quote_value(field.value)}", _REMEDY)
