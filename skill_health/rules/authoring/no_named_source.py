"""The skill names no source to look things up in.

## What
SKILL.md names no address to fetch, no endpoint and no official document or source of truth. Opt-in.

## Why
Where facts come from decides whether they are right: skills that named the source and how it must be parsed turned
tasks from 2 % to 69 % and from 0 % to 82 %.

## Bad
```markdown
Look up the gauge's yearly peaks.
```

## Good
```markdown
Fetch `https://waterservices.usgs.gov/nwis/peak?site=ID`. Lines that begin with `#` are comments, the first row
after them is the head, the second has widths.
```

## Fix
Name the address, file or document, and what is odd about its form.

## Source
evidence · SkillsBench, appendix F.4 (2026).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.authoring import find_source
from skill_health.skill.model import Skill, Span

CODE = "AU002"
SEVERITY = Severity.INFO
SINCE = "0.2.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report its absence."""
    if skill.body.prose and find_source(skill) is None:
        at = Span(min(skill.body.first_line, len(skill.lines)), 1)
        yield Hit(
            at,
            "no source is named to look things up in",
            "Name the address, file or document, and what is odd about its form.",
        )
