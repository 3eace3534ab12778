"""The skill shows no example of any kind.

## What
SKILL.md has no fenced code block with anything in it and no section of examples or templates, and the folder bundles
nothing below `scripts/`, `assets/`, `templates/` or `examples/`. Opt-in: a skill about judgement may well need none.

## Why
Of the five patterns found in the ten skills that helped most, the first is an executable script with calibrated
defaults and the third an exact file format.

## Bad
```markdown
Write the changelog entry in the usual style.
```

## Good
````markdown
### Example
```markdown
- Fix: the importer no longer drops the last line of a CRLF file (#412).
```
````

## Fix
Show one input and the output that you want, or bundle the script that makes it.

## Source
evidence · SkillsBench, appendix F.4 (2026).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.measure import measure
from skill_health.skill.model import Skill, Span

CODE = "ST006"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a skill with prose but no example, template or script."""
    if not skill.body.prose:
        return
    measures = measure(skill)
    if not (measures.code_examples or measures.example_entries or measures.bundled or "examples" in measures.roles):
        at = Span(min(skill.body.first_line, len(skill.lines)), 1)
        yield Hit(at, "no example, template or script", "Show one input and the output that you want.")
