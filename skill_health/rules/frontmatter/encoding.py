"""The file is not plain UTF-8.

## What
SKILL.md begins with a byte-order mark, is UTF-16, or contains NUL bytes or bytes that are not valid UTF-8.

## Why
Hosts look for `---` as the first three characters of a UTF-8 text. After a byte-order mark they do not find it, and
the skill disappears without a message (reported for at least six hosts in 2026). Windows PowerShell and Notepad
write such files by default.

## Bad
```markdown
\\xef\\xbb\\xbf---
name: release-notes
```

## Good
```markdown
---
name: release-notes
```

## Fix
Save the file as "UTF-8 without BOM". `--fix` removes a byte-order mark (safe); the other cases need the editor that
wrote the file.

## Source
evidence · issue reports against deer-flow 5587, agentscope 2732, crewAI 7538, openhanako 2225, SkillEvaluator 91
and himarket 190 (2026-03 to 2026-09); the reference validator skills-ref 0.1.1 reads UTF-8 and compares the first
characters.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Edit, Fix, Hit, Severity
from skill_health.rules.frontmatter._shared import defects, remedy
from skill_health.skill.model import Skill, Span

CODE = "FM007"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.BYTE_ORDER_MARK, Fault.NOT_UTF8, Fault.UTF16)
KINDS = {
    "bom": "Save the file as UTF-8 without a byte-order mark.",
    "utf-16": "Save the file as UTF-8.",
    "invalid-utf8": "Replace the broken characters and save the file as UTF-8.",
    "nul": "Remove the NUL bytes; this may be a binary file under the wrong name.",
}


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report what keeps the bytes from being plain UTF-8."""
    for defect in defects(skill, KINDS):
        fix = None
        if defect.kind == "bom":
            fix = Fix("remove the byte-order mark", (Edit(Span(1, 0, 1, 1), ""),), safe=True)
        yield Hit(defect.span, defect.message, remedy(defect, KINDS), fix=fix)
