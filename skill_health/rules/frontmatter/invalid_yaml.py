"""The frontmatter is not valid YAML.

## What
A strict YAML parser rejects the block: a bracket or quote that is never closed, text after a closing one, a value that
starts with a reserved character, a wrong indent, a tab used for indentation, aliases that expand into millions of
values, or absurdly deep nesting. The most common mistake, a colon in an unquoted value, has its own rule,
`unquoted-colon`.

## Why
Hosts read the block with a YAML parser. When that fails they skip the skill or drop every field of it, and most say so
only in a log.

## Bad
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
argument-hint: [version] [since]
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
argument-hint: "[version] [since]"
---
```

## Fix
Fix the line that the message names. `--fix` quotes the value where that alone makes the block valid (safe).

## Source
MUST · Agent Skills specification, "Frontmatter" ("YAML frontmatter"), agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.frontmatter._shared import defects, quote, remedy, spelled
from skill_health.skill.frontmatter import HANDLER
from skill_health.skill.model import Defect, Skill

CODE = "FM002"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (
    Fault.COLON_BELOW,
    Fault.RESERVED_START,
    Fault.DIRECTIVE_START,
    Fault.BROKEN_QUOTES,
    Fault.TEXT_AFTER_BRACKET,
    Fault.TAB_INDENT,
    Fault.BROKEN_YAML,
)
KINDS = {
    "yaml-error": "Put the value in quotes.",
    "tab-indent": "Indent with spaces.",
    "alias-bomb": "Write the values out instead of repeating anchors.",
    "too-deep": "Flatten the value; the specification has no nested fields beyond metadata.",
}
_CONTROL = ("control-character", "nul")


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report YAML that the parser could not read, unless a control character is the cause."""
    for defect in defects(skill, KINDS):
        if defect.kind == "yaml-error" and _is_control(skill, defect):
            continue
        fix = _quoted(skill, defect) if defect.kind == "yaml-error" else None
        yield Hit(defect.span, defect.message, remedy(defect, KINDS), fix=fix)


def _is_control(skill: Skill, defect: Defect) -> bool:
    last = skill.frontmatter.span.end_line if skill.frontmatter else 0
    return "control character" in defect.message and any(d.span.line <= last for d in defects(skill, _CONTROL))


def _quoted(skill: Skill, defect: Defect) -> Fix | None:
    """Quote the value on the line of the error, if that makes the block valid YAML."""
    matter = skill.frontmatter
    field = next((f for f in matter.fields if f.span.line == defect.span.line), None) if matter else None
    text = spelled(skill, field.span) if field else None
    if not matter or not field or not text or text[0] in "\"'" or " #" in text:
        return None
    block = list(skill.lines[matter.span.line - 1 : matter.span.end_line])
    at = field.span.line - matter.span.line
    block[at] = block[at][: field.span.col - 1] + quote(text)
    if not HANDLER.load("\n".join(block) + "\n").matter.valid:
        return None
    return Fix("quote the value", (Edit(field.span, quote(text)),), safe=True)
