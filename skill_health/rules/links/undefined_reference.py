"""Undefined reference: a reference-style link has no definition.

## What
`[text][label]` in prose where no `[label]: target` exists in the file. Only this full form: `[label]` and `[label][]`
alone are ordinary brackets in most prose. Left alone: what follows a word directly, such as `matrix[i][j]`, labels
that are numbers, single letters or made up, and everything in code.

## Why
Markdown shows the brackets literally, and the intended target is nowhere in the file.

## Bad
```markdown
Read [the guide][guide] first.
```

## Good
```markdown
Read [the guide][guide] first.

[guide]: references/guide.md
```

## Fix
Add the definition, or write the target in parentheses. Not fixed automatically.

## Source
evidence · CommonMark 0.31.2, section 6.3: without a matching definition this is text (2024-01).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._targets import is_stand_in
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "LI010"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

_REFERENCE = lazy(r"(?<![\w\])\\!])\[([^\[\]\n]{2,200})\]\[([^\[\]\n]{2,100})\](?![\[(:\w])")


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each full reference that the parser left as text."""
    for prose in skill.body.prose:
        if "][" not in prose.plain:
            continue
        for match in _REFERENCE.finditer(prose.plain):
            text, label = match.group(1).strip(), match.group(2).strip()
            if len(label) < 2 or not text or not label[0].isalpha() or is_stand_in(label) or _grammar(text, label):
                continue
            line, col = skill.body.position(prose, match.start())
            yield Hit(
                Span(line, col, line, col + len(match.group())),
                f"no definition for the reference [{label}]",
                f"add a line [{label}]: target, or write [{text}](target)",
            )


def _grammar(text: str, label: str) -> bool:
    """Whether two brackets are slots to fill in, `[Company][Product]`, or arguments, `[OPTIONS][FILE]`."""
    return text.isupper() or label.isupper() or (text.istitle() and label.istitle() and " " not in text + label)
