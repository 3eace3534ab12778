"""The description contains something that Claude's upload treats as an XML tag.

## What
`<` followed by a letter, a slash or an exclamation mark, up to the next `>`: `<example>`, `<br/>`, and also
placeholders such as `<name>` and type parameters such as `List<String>`, since the upload does not tell them apart.
Comparison signs (`a < b`), arrows (`<-`) and a `<` that is never closed are left alone.

## Why
Descriptions are put into the system prompt between XML tags. Claude's skill upload and plugin catalogue therefore
refuse a description with tags in it, placeholders included; other hosts accept it.

## Bad
```markdown
---
name: release-notes
description: Writes release notes for <version>. Use when a version is about to be published.
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes for a version. Use when a version is about to be published.
---
```

## Fix
Name the thing without angle brackets, or use square ones.

## Source
MUST · Anthropic, "Agent Skills: skill structure", description ("cannot contain XML tags"), platform.claude.com
(2026-11); evidence: issue reports against anthropics/claude-code 80469, vercel-labs/agent-skills 214,
shoelace-style/webawesome 2558, Unity-Technologies/skills 63 (2026).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import quote_value, readable
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

CODE = "FM017"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True
_TAG = lazy(r"<(?:/?[A-Za-z]|!)[^<>]{0,200}>")


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report the tags of the description in one finding."""
    field = skill.field("description")
    if field is None or field.tag != "str" or "<" not in field.value or readable(skill) is None:
        return
    tags = list(dict.fromkeys(found.group() for found in _TAG.finditer(field.value)))
    if tags:
        named = ", ".join(quote_value(tag, 30) for tag in tags[:3]) + (
            f" and {len(tags) - 3} more" if len(tags) > 3 else ""
        )
        message = f"the description holds {named}; Claude's skill upload refuses XML tags"
        yield Hit(field.span, message, "Write it without angle brackets.")
