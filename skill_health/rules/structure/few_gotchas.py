"""A gotchas section lists hardly any.

## What
The skill has a gotchas section under one of its usual titles (gotchas, pitfalls, common mistakes, troubleshooting,
caveats, anti-patterns, limitations ...), and all such sections together list fewer than 3 entries: list items, numbered
or not, subheadings, table rows or paragraphs with a bold label. A skill without such a section is left alone, and so is
one that writes its gotchas as plain paragraphs. Opt-in.

## Why
A model cannot know what goes wrong in practice. One or two entries are often a template that was never filled in.

## Bad
```markdown
### Gotchas
- Be careful.
```

## Good
```markdown
### Gotchas
- `--dry-run` still creates the lock file; remove it afterwards.
- Page numbers start at 0 in v2 and at 1 in v1.
- An expired token answers 404, not 401.
```

## Fix
Add what has gone wrong lately, or fold the section into the step that it belongs to.

## Source
opinion · Benchmark Architecture Plan, stage 1, "gotcha_count, target >= 3" (2026-05).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill, Span
from skill_health.skill.sections import entries, governing, outermost, roles_of

CODE = "ST005"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = False
TARGET = 3


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report the first gotchas section if all of them together list something, but too little."""
    tagged = [(section, roles_of(section.heading.title)) for section in governing(skill.body)]
    sections = list(outermost(tagged, "gotchas"))
    count = sum(entries(skill.body, section) for section in sections)
    if sections and 0 < count < TARGET:
        heading = sections[0].heading
        message = f"'{heading.title}' lists {count} of at least {TARGET} expected entries"
        yield Hit(
            Span(heading.line, heading.col), message, "Add what has gone wrong lately, or fold the section into a step."
        )
