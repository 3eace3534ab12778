"""The name differs from the folder's.

## What
`name` is valid and is not the name of the directory that holds SKILL.md. If SKILL.md is in the root that is being
checked, the directory's name may be that of a checkout, and the finding is information.

## Why
The specification wants them equal, and hosts rely on it: Cline and the ADK do not load such a skill, VS Code warns,
and Claude Code calls plugin skills by their folder, so that the declared name leads nowhere. 1,225 of 13,551 public
skills differ.

## Bad
```markdown
skills/notes/SKILL.md
---
name: release-notes
```

## Good
```markdown
skills/release-notes/SKILL.md
---
name: release-notes
```

## Fix
Change one or the other. `--unsafe-fixes` sets the name to the folder's; if that is not a valid name, it renames the
folder. Unsafe, because links and users may go by either.

## Source
MUST · Agent Skills specification, "name field" ("must match the parent directory name"), agentskills.io (2026-11);
evidence: issue reports against cline/cline 11268 and microsoft/vscode 300455 (2026).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.frontmatter._names import normalised, problems, spelling
from skill_health.rules.frontmatter._shared import quote_value, readable
from skill_health.skill.model import Field, Skill

CODE = "FM013"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.OTHER_NAME,)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a valid name that is not the folder's."""
    field = skill.field("name")
    if field is None or field.tag != "str" or not skill.folder_name or readable(skill) is None:
        return
    name = normalised(field.value.strip())
    if name == normalised(skill.folder_name) or problems(name):
        return
    message = f"the name '{quote_value(name)}' differs from the folder '{quote_value(skill.folder_name)}'"
    hint = f"Set the name to '{quote_value(skill.folder_name)}' or rename the folder to '{quote_value(name)}'."
    severity = None if skill.folder else Severity.INFO
    yield Hit(field.span, message, hint, fix=_fix(skill, field, name), severity=severity)


def _fix(skill: Skill, field: Field, name: str) -> Fix | None:
    if not problems(skill.folder_name):
        if field.span.line != field.span.end_line:
            return None
        return Fix("set the name to the folder's", (Edit(field.span, spelling(skill.folder_name, field.style)),))
    return Fix("rename the folder", rename=(skill.folder, name)) if skill.folder else None
