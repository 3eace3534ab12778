"""The file mixes line endings.

## What
Some lines end with CRLF, others with LF or CR. A file that uses CRLF throughout is left alone.

## Why
Diffs show lines that did not change, and a parser that looks for `---\\n` may miss one of the two fences.

## Bad
```markdown
---\\r\\n
name: release-notes\\n
```

## Good
```markdown
---\\n
name: release-notes\\n
```

## Fix
Convert the file with the editor, or let git do it: `* text=auto` in `.gitattributes`.

## Source
opinion · the specification does not say; hosts differ in how they split lines (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import reported
from skill_health.skill.model import Skill

CODE = "FM010"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.LONE_CARRIAGE_RETURNS,)
KINDS = {"mixed-newlines": "Use one line ending throughout the file."}


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report mixed line endings."""
    return reported(skill, KINDS)
