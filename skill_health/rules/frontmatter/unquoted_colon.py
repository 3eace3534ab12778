"""A colon in an unquoted value breaks the frontmatter.

## What
The value of a field is unquoted and contains a colon followed by a space (or ends with a colon). YAML reads that colon
as the start of another `key: value` and rejects the whole block. The other rules go on with the intended value.

## Why
This is the most common way to lose a skill: 73 of the 86 YAML errors in 13,551 public skills. Copilot CLI, Antigravity
and the installer `skills` skip the skill, mostly silently. Gemini CLI, Claude Code, Codex 0.169 and OpenCode
repair such a value, so the skill works for its author and disappears for others.

## Bad
```markdown
---
name: release-notes
description: Writes release notes: features, fixes, thanks. Use when a version is about to be published.
---
```

## Good
```markdown
---
name: release-notes
description: "Writes release notes: features, fixes, thanks. Use when a version is about to be published."
---
```

## Fix
Put the value in quotes. `--fix` does it (safe); if the value also contains ` #`, which YAML would read as a comment,
the fix is unsafe.

## Source
MUST · Agent Skills specification, "Frontmatter" ("YAML frontmatter"), agentskills.io (2026-11); evidence: issue
reports against mattpocock/skills 908, BuilderIO/skills 38, pbakaus/impeccable 102, google-gemini/gemini-cli 16345
(2026).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.frontmatter._shared import defects, quote, remedy
from skill_health.skill.model import Skill

CODE = "FM003"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.COLON_IN_VALUE, Fault.COLON_IN_LATER_LINE)
KINDS = {"colon-trap": "Put the value in quotes."}


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each value with an unquoted colon, with the quoted value as its fix."""
    fields = skill.frontmatter.fields if skill.frontmatter else ()
    for defect in defects(skill, KINDS):
        field = next((field for field in fields if field.span.line == defect.span.line), None)
        fix = None
        if field is not None and isinstance(field.value, str):
            safe = " #" not in field.value
            fix = Fix("quote the value", (Edit(field.span, quote(field.value)),), safe=safe)
        yield Hit(defect.span, defect.message, remedy(defect, KINDS), fix=fix)
