"""A section is empty.

## What
A heading is followed directly by another of the same or a higher level, or by the end of the file. A heading with
subsections is not empty, and neither is one followed by a comment. Opt-in.

## Why
It is a template that was never filled in, text that was moved and left its title behind, or an accidental heading.

## Bad
```markdown
### Security
### Examples
```

## Good
```markdown
### Security
The token is read from the environment and never printed.

### Examples
```

## Fix
Write the section or remove its heading.

## Source
opinion · skill-health, 2026-11: seen in 4 of 529 public skills, each time because a line that was meant as a comment
(`# SECURITY: ...`) is a heading.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill, Span

CODE = "ST015"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each heading with nothing below it; a body of nothing but headings is left to another rule."""
    body = skill.body
    if not body.blocks and all(prose.kind == "heading" for prose in body.prose):
        return
    for at, section in enumerate(body.sections):
        following = body.headings[at + 1] if at + 1 < len(body.headings) else None
        if following is not None and following.level > section.heading.level:
            continue
        # The line after a heading may be the underline of a Setext one.
        if not any(line.strip("=- \t") for line in skill.lines[section.line : section.end_line]):
            heading = section.heading
            message = f"the section '{heading.title}' is empty"
            yield Hit(Span(heading.line, heading.col), message, "Write it or remove its heading.")
