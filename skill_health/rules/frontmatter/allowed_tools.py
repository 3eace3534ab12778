"""The allowed-tools field cannot be read as a list of tools.

## What
`allowed-tools` is neither text nor a list of text values, or a tool's parentheses do not match, as in `Bash(git:*`
(warnings), or it is empty (information). Spaces, commas and YAML lists all pass, because hosts accept all three; tool
names are not checked.

## Why
The field grants permissions. If it cannot be read, the grants are lost and the skill stops halfway to ask for
permission.

## Bad
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
allowed-tools: Bash(git log:* Read
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
allowed-tools: Bash(git log:*) Read
---
```

## Fix
Write the tools on one line, separated by spaces, each with both parentheses; or remove the field.

## Source
MUST · Agent Skills specification, "allowed-tools field" (a space-separated string of tools), agentskills.io
(2026-11); lists and commas: Claude Code documentation, "Skills", frontmatter reference (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import TAG_WORDS, quote_value, readable
from skill_health.skill.model import Skill

CODE = "FM023"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True
_REMEDY = "Write the tools on one line, separated by spaces: Bash(git log:*) Read"


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report an allowed-tools field without readable tools."""
    field = skill.field("allowed-tools")
    if field is None or readable(skill) is None:
        return
    value = field.value
    if field.tag == "null" or (field.tag in ("str", "seq") and not value):
        yield Hit(field.key_span, "allowed-tools is empty", "Name the tools, or remove it.", severity=Severity.INFO)
    elif field.tag not in ("str", "seq"):
        yield Hit(field.span, f"allowed-tools is {TAG_WORDS.get(field.tag, 'not text')}, not a list of tools", _REMEDY)
    elif field.tag == "seq" and not all(isinstance(item, str) for item in value):
        odd = next(item for item in value if not isinstance(item, str))
        yield Hit(
            field.span, f"allowed-tools holds an entry that is not text: {quote_value(str(odd))}", "Quote the entry."
        )
    else:
        odd = next((item for item in ([value] if field.tag == "str" else value) if not _balanced(item)), None)
        if odd is not None:
            yield Hit(field.span, f"allowed-tools has parentheses that do not match: {quote_value(odd)}", _REMEDY)


def _balanced(text: str) -> bool:
    if text.count("(") != text.count(")"):
        return False
    depth = 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return True
