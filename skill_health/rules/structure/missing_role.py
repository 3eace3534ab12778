"""The skill leaves out one of the things that make a skill work.

## What
No section, under any of its usual titles, covers one of the topics that the default profile looks for: when to use the
skill, the workflow, its boundaries (when not to use it, what it does not cover), and how to verify the result. "When to
use" and the boundaries may be in the description instead, and numbered steps count as a workflow under any title.
Gotchas and examples have rules of their own. Opt-in: nearly half of good public skills have no section on boundaries or
verification.

## Why
Skills gain most where they spell out a procedure, and the three ways in which skills made agents worse share one
cause: a single correct procedure without boundaries, fallbacks and checks.

## Bad
```markdown
# Database migrations
Migrations are an important part of every release.
```

## Good
```markdown
### When not to use
Not for a database without transactional DDL; there, take a dump first.

### Workflow
1. Write the reverse migration first.

### Verification
Apply, revert and apply again on a copy; the schema dump is the same after the first and the last step.
```

## Fix
Add the section. An honest line is better than a template.

## Source
evidence · SkillsBench, 5.1.3 and appendix F.3 (13 of 87 tasks got worse); A Framework for Evaluating Agentic Skills
at Scale, 5.4 (2026-06).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.measure import measure
from skill_health.skill.model import Skill, Span

CODE = "ST004"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = False
_WANTED = {
    "when_to_use": ("when to use it", "Say in the description when to load the skill."),
    "workflow": ("what to do step by step", "Number the steps."),
    "boundaries": ("when not to use it", "Say what the skill does not cover and what to do instead."),
    "verification": ("how to verify the result", "Name the command or the observation that shows that it worked."),
}


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each topic that no section covers."""
    if not skill.body.prose:
        return
    there = measure(skill).roles
    for role, (what, remedy) in _WANTED.items():
        if role not in there:
            yield Hit(Span(min(skill.body.first_line, len(skill.lines)), 1), f"the skill does not say {what}", remedy)
