"""Template text was never filled in.

## What
Prose outside code that is a placeholder by its form: a paragraph, list item, heading or cell that is, begins or ends
with `TODO`, `TBD`, `FIXME` or `TBC` as a marker; "lorem ipsum dolor"; the brackets of the usual templates
(`[TODO: ...]`, `[insert ... here]`, `<your text here>`); "Replace this with your ...", "Add your content here", "This
is a placeholder for ...". Text that merely speaks of such markers ("remove TODO comments", "the todo list") is left
alone, and so are a skill whose name or description speaks of todos, and the description, which has its own rule.

## Why
The agent takes it for an instruction, or learns nothing where the author meant to say something.

## Bad
```markdown
### Gotchas
TODO: collect these.
```

## Good
```markdown
### Gotchas
- Page numbers start at 0 in v2 and at 1 in v1.
```

## Fix
Write the text or remove the placeholder.

## Source
evidence · the template that Anthropic's skill-creator writes, github.com/anthropics/skills (2026-11). What
is left of a template and what is one is often for the author to say, so it is information.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Prose, Skill, Span
from skill_health.text.patterns import lazy

CODE = "ST009"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True
_HINTS = (
    "TODO", "TBD", "FIXME", "TBC", "orem ipsum dolor", " here", "eplace this ", "eplace with ", "lace the following ",
    "is a placeholder",
)  # fmt: skip
_NOUN = r"(?:text|content|contents|instructions?|description|details?|examples?|steps?|section|documentation)"
_MARK = lazy(
    # the whole of a paragraph, or a marker at its beginning or end
    r"\A\W{0,4}(?:TODO|TBD|FIXME|TBC)(?:\W{0,3}\Z|\s*:|\s*\(|\s+[-\u2013\u2014]\s)"
    r"|:\s*\W{0,3}(?:TODO|TBD|TBC)\W{0,3}\Z"
    r"|[\[<{](?:TODO|TBD|FIXME)\b[^\]>}\n]{0,200}[\]>}]"
    r"|(?i:lorem ipsum dolor)"
    rf"|(?i:[\[<{{](?:insert|add|put|write|enter|your|describe) [^\]>}}\n]{{0,60}}\bhere[\]>}}])"
    rf"|(?i:\A\W{{0,4}}replace (?:this|the following) {_NOUN}?\s?(?:with|by) (?:your|the actual|actual|real)\b)"
    rf"|(?i:\A\W{{0,4}}replace with (?:your|the actual|actual|real) (?:\w{{1,20}} )?{_NOUN}\b)"
    rf"|(?i:\A\W{{0,4}}(?:add|insert|write|put) (?:your|the) (?:\w{{1,20}} )?{_NOUN} here\b)"
    rf"|(?i:\A\W{{0,4}}(?:your|some) {_NOUN} (?:goes |go )?here\b)"
    r"|(?i:\Athis is a placeholder\b)"
)
_QUOTES = "\"'`\u201c\u2018\u00ab"


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report the first placeholder of each run of prose."""
    hints = [hint for hint in _HINTS if hint in skill.text]
    if not hints:
        return
    about = (skill.name + skill.description).lower()
    for prose in skill.body.prose:
        plain = prose.plain
        for hint in hints:
            if hint in plain:
                break
        else:
            continue
        match = _MARK.search(plain)
        if match is None or _quoted(plain, match) or ("TODO" in match[0] and ("todo" in about or _state(prose, match))):
            continue
        start = match.start() + len(match[0]) - len(match[0].lstrip(" :\n"))
        line, col = skill.body.position(prose, start)
        text = " ".join(prose.text[start : match.end()].split())
        yield Hit(
            Span(line, col, line, col + len(text)),
            f"a placeholder was never filled in: '{text[:60]}'",
            "Write the text or remove the placeholder.",
        )


def _quoted(text: str, match: re.Match[str]) -> bool:
    """Whether the match is in quotation marks, so that the text is about placeholders."""
    before = text[match.start() - 1 : match.start()] if match.start() else ""
    return any(mark and mark in _QUOTES for mark in (before, match[0].lstrip("*_ ")[:1]))


def _state(prose: Prose, match: re.Match[str]) -> bool:
    """Whether "TODO" is all that a heading or a cell says: it may be the name of a state or a column."""
    return prose.kind != "paragraph" and not match[0].strip("*_ ").removeprefix("TODO")
