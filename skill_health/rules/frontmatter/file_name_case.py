"""The file is not named exactly SKILL.md.

## What
The skill's file is named `skill.md`, `Skill.md` or another spelling of SKILL.md. If its metadata is for OpenClaw, which
takes any spelling, it is information.

## Why
Hosts look for `SKILL.md`. On macOS and Windows any case matches, so the skill works for its author; on Linux, in
containers and in CI it does not exist. Codex compares the name exactly everywhere. 35 of 13,551 public skills have this
fault.

## Bad
```markdown
skills/release-notes/skill.md
```

## Good
```markdown
skills/release-notes/SKILL.md
```

## Fix
Rename the file. `--fix` does it (safe).

## Source
MUST · Agent Skills specification, "Directory structure" (SKILL.md), agentskills.io (2026-11); the reference validator
skills-ref 0.1.1 also reads skill.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Fix, Hit, Severity
from skill_health.skill.model import Skill, Span

CODE = "FM027"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.LOWER_CASE_FILE, Fault.OTHER_CASE_FILE)
# The host, and what it was called before.
_OPENCLAW = frozenset(("openclaw", "clawdbot", "moltbot"))


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a file name in another case."""
    if skill.file_name != "SKILL.md" and skill.file_name.lower() == "skill.md":
        fix = Fix("rename the file to SKILL.md", safe=True, rename=(skill.path, "SKILL.md"))
        message = f"the file is named {skill.file_name}, hosts look for SKILL.md"
        severity = Severity.INFO if _is_for_openclaw(skill) else None
        yield Hit(Span(1, 1), message, "Rename the file to SKILL.md.", fix=fix, severity=severity)


def _is_for_openclaw(skill: Skill) -> bool:
    metadata = skill.field("metadata")
    return metadata is not None and any(field.key in _OPENCLAW for field in metadata.fields)
