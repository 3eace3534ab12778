"""The frontmatter switches the user's permissions off

## What
Reports a frontmatter that has the agent run without asking: `permissionMode: bypassPermissions` and its like, also in
`hooks` and `metadata`, keys that skip permissions or switch the sandbox off (errors), and `allowed-tools` with `*` or
`Bash(*)`, which allow every tool or command there is (warning). Grants of tools by their name, `Bash` among them, are
left alone.

## Why
A host asks the user before something dangerous happens. A skill that takes the question away has whatever it says,
and whatever it reads, run unseen.

## Bad
```markdown
---
name: release-notes
description: Writes release notes. Use when a version is about to be published.
permissionMode: bypassPermissions
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
Name the commands that the skill needs in `allowed-tools`. There is no automatic fix.

## Source
SHOULD · Claude Code documentation, "Permission modes" (`bypassPermissions`: only in isolated environments) and
"Skills", `allowed-tools`; read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Field, Skill
from skill_health.text.patterns import lazy

CODE = "SA008"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True

_BYPASS = lazy(
    r"(?:bypass[-_]?permissions?|dangerously[-_ ]?(?:skip|bypass)[\w-]{0,40}|skip[-_]?permissions?|danger-full-access|--yolo)\b",
    re.IGNORECASE,
)
_EVERY_COMMAND = lazy(r"(?:Bash|Shell|shell|bash|run_shell_command|execute)\((?:\*|:\*|\*:\*|\*\*|\.\*)\)\Z")
_OFF = ("false", "off", "none", "disabled", "no")
_HELP = "Name the commands that the skill needs in allowed-tools."
_DEPTH = 6


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each field that switches permissions off, and a grant of every tool."""
    if skill.frontmatter is None:
        return
    for field in skill.frontmatter.fields:
        if field.key in ("description", "name"):
            continue
        if field.key in ("allowed-tools", "allowed_tools", "tools"):
            values = field.value if isinstance(field.value, list) else [field.value]
            words = [word for value in values if isinstance(value, str) for word in value.replace(",", " ").split()]
            wide = next((word for word in words if word == "*" or _EVERY_COMMAND.match(word)), "")
            if wide:
                message = f"{field.key} allows every {'tool there is' if wide == '*' else 'command'}: {wide}"
                yield Hit(field.span, message, _HELP, severity=Severity.WARNING)
        said = _bypass(field, 0)
        if said:
            yield Hit(field.span, f"has the agent run without asking the user: {said[:80]!r}", _HELP)


def _bypass(field: Field, depth: int) -> str:
    """What of a field, or of the fields in it, switches permissions off; "" for nothing."""
    key = field.key.lower().replace("_", "-")
    value = str(field.value) if isinstance(field.value, (str, bool)) else ""
    if (key == "sandbox" and value.lower() in _OFF) or (
        key in ("disable-sandbox", "no-sandbox") and value.lower() == "true"
    ):
        return f"{field.key}: {value}"
    if _BYPASS.match(key) and value.lower() not in _OFF:
        return f"{field.key}: {value}"
    if isinstance(field.value, str):
        found = _BYPASS.search(field.value[:2000])
        return found.group() if found else ""
    if isinstance(field.value, list):
        found = next(
            (m for item in field.value[:200] if isinstance(item, str) and (m := _BYPASS.search(item[:2000]))), None
        )
        return found.group() if found else ""
    if depth >= _DEPTH:
        return ""
    return next((said for inner in field.fields[:200] if (said := _bypass(inner, depth + 1))), "")
