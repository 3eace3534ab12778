"""The skill does not show the form of its result.

## What
No block of SKILL.md stands below words such as format, template, schema, output or report. Opt-in.

## Why
What is checked is often the form: a key that is named otherwise fails as surely as a wrong value.

## Bad
```markdown
Write the parts of the scene to a JSON file.
```

## Good
````markdown
Write `parts.json` in this format:
```json
{"parts": [{"name": "wheel", "parent": "axle", "vertices": 128}]}
```
````

## Fix
Show the result as it must be, with names and units.

## Source
evidence · SkillsBench, appendix F.4 (2026).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.authoring import find_format
from skill_health.skill.model import Skill, Span

CODE = "AU003"
SEVERITY = Severity.INFO
SINCE = "0.2.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report its absence."""
    if skill.body.prose and find_format(skill) is None:
        at = Span(min(skill.body.first_line, len(skill.lines)), 1)
        yield Hit(at, "no block shows the form of the result", "Show the result as it must be, with names and units.")
