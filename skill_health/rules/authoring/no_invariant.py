"""The skill states nothing that must hold.

## What
SKILL.md has no condition that a result could be checked by: no "must equal", "at most", "never exceeds", "verify that
all". Opt-in.

## Why
An agent that knows what must hold finds its own mistakes. In three of the ten tasks that gained most the skill said
what the tests assert.

## Bad
```markdown
Assign the jobs to machines.
```

## Good
```markdown
Assign the jobs to machines. No two jobs on one machine may overlap, and no job may start before its predecessor ends:
verify that every row of the plan keeps both.
```

## Fix
Say what must be true of every right result, so that it can be checked.

## Source
evidence · SkillsBench, appendix F.4 (2026).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.authoring import find_invariant
from skill_health.skill.model import Skill, Span

CODE = "AU004"
SEVERITY = Severity.INFO
SINCE = "0.2.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report its absence."""
    if skill.body.prose and find_invariant(skill) is None:
        at = Span(min(skill.body.first_line, len(skill.lines)), 1)
        yield Hit(at, "nothing is stated that must hold of a result", "Say what must be true of every right result.")
