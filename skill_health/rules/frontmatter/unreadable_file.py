"""SKILL.md cannot be read, or is empty.

## What
SKILL.md is a directory, a pipe, a symbolic link to nothing, to itself or out of the repository, a file without read
permission, a file that needs more memory or depth to check than there is, or a file without any content. A link that
leads out is not followed, so what it leads to is in no output.

## Why
The folder looks like a skill but is not one: no host lists it. A dangling link is the usual remnant of a skill that was
moved; it works on the author's machine and nowhere else.

## Bad
```markdown
skills/release-notes/SKILL.md -> ../../../old/release-notes/SKILL.md
```

## Good
```markdown
skills/release-notes/SKILL.md
```

## Fix
Put a regular, readable file there, or remove the folder.

## Source
MUST · Agent Skills specification, "Directory structure" (a skill contains, at a minimum, a SKILL.md file),
agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import reported
from skill_health.skill.model import Skill

CODE = "FM006"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.UNREADABLE, Fault.NO_FRONTMATTER)
KINDS = {
    "unreadable": "Make the file readable.",
    "directory": "Replace the directory by a file named SKILL.md.",
    "dangling": "Point the link at an existing file, or replace it by the file.",
    "loop": "Replace the link by the file.",
    "outside": "Replace the link by the file, or name the folder it leads to.",
    "uncheckable": "Move its data to references/ or assets/, and untangle what is nested.",
    "empty-file": "Write the skill, or remove its folder.",
}


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a SKILL.md with nothing to read."""
    return reported(skill, KINDS)
