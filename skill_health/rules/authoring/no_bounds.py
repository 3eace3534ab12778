"""The skill does not say where it ends.

## What
A procedure of general words, with hardly an inline name or command, and neither the description nor SKILL.md says
what the skill is not for, when not to use it, or what alone it is for. Opt-in.

## Why
A generic recipe displaces what the model would have done better by itself: three of the tasks that lost did so.

## Bad
```markdown
Translate the file line by line.
```

## Good
```markdown
Translate the file line by line. Not for code that uses macros: write that anew.
```

## Fix
Say what the skill is not for.

## Source
evidence · SkillsBench, appendix F.3 (2026). Of 50 public skills that it was not written on, it was right in 0 of 4:
docs/quality.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.authoring import find_unbounded
from skill_health.skill.model import Skill

CODE = "AU007"
SEVERITY = Severity.INFO
SINCE = "0.2.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report where it shows."""
    if at := find_unbounded(skill):
        yield Hit(at, "nothing says what the skill is not for", "Say when not to use it, or what alone it is for.")
