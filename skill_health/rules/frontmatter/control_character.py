"""The file contains a control character.

## What
A character below U+0020 other than tab and line ending, or U+007F to U+009F, anywhere in the file; the findings name
the first one below and the first one above. NUL has its own rule (`encoding`); invisible Unicode such as zero-width and
bidirectional marks is left to the leakage family.

## Why
People do not see it, but programs read it: YAML forbids these characters, so one in the frontmatter loses the skill (an
error); in the body, an escape character can rewrite what a terminal shows (a warning). They come from copying out of a
terminal or a PDF. Those from U+0080 on are what is left of letters and quotation marks that were read in the wrong
encoding and saved again.

## Bad
```markdown
description: Colours the \\x1b[31moutput\\x1b[0m of a log. Use when reading logs.
```

## Good
```markdown
description: Colours the output of a log. Use when reading logs.
```

## Fix
`--fix` deletes characters below U+0080 (safe). Those above are never deleted, as with them the text they stand for
would be lost: `--unsafe-fixes` turns text that was read as Windows-1252 or ISO 8859-1 back (`donâ€™t` to `don’t`),
once or several times, if that leaves none of them in the file; otherwise there is no fix.

## Source
MUST · YAML 1.2.2, section 5.1 (printable characters only), for the frontmatter; opinion for the body (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.frontmatter._shared import defects
from skill_health.skill.model import Skill, Span
from skill_health.text.mojibake import misread_spans
from skill_health.text.patterns import lazy

CODE = "FM008"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.CONTROL_CHARACTER,)
KIND = "control-character"
_LOW = lazy("\x1b\\[[0-9;]{0,20}[A-Za-z]|[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]+")
_HIGH = lazy("[\x80-\x9f]")


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report the first control character below U+0080 and the first above; in the frontmatter it is an error."""
    for defect in defects(skill, (KIND,)):
        yield _hit(skill, defect.span, defect.message)
        other = _first(skill, _LOW if _is_high(skill, defect.span) else _HIGH)
        if other is not None:
            char = skill.lines[other.line - 1][other.col - 1]
            yield _hit(skill, other, f"control character U+{ord(char):04X}")


def _hit(skill: Skill, span: Span, message: str) -> Hit:
    last = skill.frontmatter.span.end_line if skill.frontmatter else 0
    severity = Severity.ERROR if span.line <= last else None
    if not _is_high(skill, span):
        return Hit(span, message, "Delete the character.", fix=_deletion(skill), severity=severity)
    fix = _decoding(skill)
    help_ = f"Text was read in the wrong encoding: {_example(fix)}." if fix else "Write what stood there, or delete it."
    return Hit(span, message, help_, fix=fix, severity=severity)


def _is_high(skill: Skill, span: Span) -> bool:
    return skill.lines[span.line - 1][span.col - 1 : span.col] >= "\x80"


def _first(skill: Skill, pattern: re.Pattern[str]) -> Span | None:
    for number, line in enumerate(skill.lines, 1):
        if not line.isprintable() and (found := pattern.search(line)):
            return Span(number, found.start() + 1, number, found.start() + 2)
    return None


def _deletion(skill: Skill) -> Fix:
    edits = []
    for number, line in enumerate(skill.lines, 1):
        if not line.isprintable():
            for found in _LOW.finditer(line):
                edits.append(Edit(Span(number, found.start() + 1, number, found.end() + 1), ""))
    return Fix("delete the control characters", tuple(edits), safe=True)


def _decoding(skill: Skill) -> Fix | None:
    """All that was misread turned back; None where a control character would be left."""
    edits = []
    for number, line in enumerate(skill.lines, 1):
        at = 0
        for start, end, was in () if line.isascii() else misread_spans(line):
            if _HIGH.search(was) or _HIGH.search(line, at, start):
                return None
            edits.append(Edit(Span(number, start + 1, number, end + 1), was))
            at = end
        if _HIGH.search(line, at):
            return None
    return Fix("turn back what was read in the wrong encoding", tuple(edits))


def _example(fix: Fix) -> str:
    was = fix.edits[0].text
    return f"it was {was}" if len(fix.edits) == 1 else f"the first of {len(fix.edits)} places was {was}"
