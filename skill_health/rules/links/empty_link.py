"""Empty link: a link or image has no target.

## What
`[text]()` and `![text]()`: the parentheses are empty or contain only blanks. Left alone: brackets that follow a word
directly, as in `handlers[name]()`, which are code.

## Why
Something was meant to be filled in. The reader, human or agent, is promised a target and gets none.

## Bad
```markdown
See [the style guide]().
```

## Good
```markdown
See [the style guide](references/style.md).
```

## Fix
Give the link its target, or make it plain text. Not fixed automatically.

## Source
opinion · Every link is a promise; markdownlint has the same rule as MD042 (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._targets import span_of
from skill_health.skill.model import Skill

CODE = "LI009"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


# `handlers[name]()` in prose is code without its back-ticks.
_CODE = ("_", "]", ")")


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each link without a target."""
    for link in skill.body.links:
        if link.target.strip() or link.kind == "autolink":
            continue
        before = skill.lines[link.line - 1][: link.col - 1]
        if not (before[-1:].isalnum() or before[-1:] in _CODE):
            what = "image" if link.kind == "image" else "link"
            label = f' "{link.text}"' if link.text.strip() else ""
            yield Hit(span_of(link), f"the {what}{label} has no target", "add the target, or make it plain text")
