"""A code fence is never closed.

## What
A fenced code block has no closing fence of its own kind and length, so it runs to the end of the enclosing file, quote
or list item. An agent that reads the bare text may not mind, so it is information.

## Why
Everything after it is code: headings vanish, links are not links, instructions read as a sample. An inner fence with
as many marks as the outer one is the usual cause.

## Bad
````markdown
```
| Expectation | Severity |

### Best practices
- Test relationships too.
````

## Good
````markdown
```
make test
```

### Best practices
- Test relationships too.
````

## Fix
Close the fence where the code ends. Use four marks around a sample that contains fences itself.

## Source
evidence · CommonMark specification 0.31.2, "fenced code blocks" (2024-01).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill, Span

CODE = "ST007"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each fence that has no end, and how much it swallows."""
    for block in skill.body.blocks:
        if block.fenced and not block.closed:
            inside = block.end_line - block.line
            extent = f"the {inside} lines after it are code" if inside > 1 else "what comes after it is code"
            source = skill.lines[block.line - 1] if block.line <= len(skill.lines) else ""
            col = min((at for at in (source.find("```"), source.find("~~~")) if at >= 0), default=0) + 1
            message = f"this code fence is never closed: {extent}"
            yield Hit(Span(block.line, col), message, "Close it; use four marks around code that holds fences.")
