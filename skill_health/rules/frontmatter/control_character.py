"""The file contains a control character.

## What
A character below U+0020 other than tab and line ending, or U+007F to U+009F, anywhere in the file; the finding names
the first one. NUL has its own rule (`encoding`); invisible Unicode such as zero-width and bidirectional marks is left
to the leakage family.

## Why
People do not see it, but programs read it: YAML forbids these characters, so one in the frontmatter loses the skill (an
error); in the body, an escape character can rewrite what a terminal shows (a warning). They come from copying out of a
terminal or a PDF.

## Bad
```markdown
description: Colours the \\x1b[31moutput\\x1b[0m of a log. Use when reading logs.
```

## Good
```markdown
description: Colours the output of a log. Use when reading logs.
```

## Fix
Delete the characters. `--fix` deletes all of them (safe).

## Source
MUST · YAML 1.2.2, section 5.1 (printable characters only), for the frontmatter; opinion for the body (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.frontmatter._shared import defects, remedy
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "FM008"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.CONTROL_CHARACTER,)
KINDS = {"control-character": "Delete the character."}
_CONTROL = lazy("\x1b\\[[0-9;]{0,20}[A-Za-z]|[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+")


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report the first control character; in the frontmatter it is an error."""
    last = skill.frontmatter.span.end_line if skill.frontmatter else 0
    for defect in defects(skill, KINDS):
        severity = Severity.ERROR if defect.span.line <= last else None
        yield Hit(defect.span, defect.message, remedy(defect, KINDS), fix=_deletion(skill), severity=severity)


def _deletion(skill: Skill) -> Fix:
    edits = []
    for number, line in enumerate(skill.lines, 1):
        if not line.isprintable():
            for found in _CONTROL.finditer(line):
                edits.append(Edit(Span(number, found.start() + 1, number, found.end() + 1), ""))
    return Fix("delete the control characters", tuple(edits), safe=True)
