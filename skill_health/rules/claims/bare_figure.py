"""A figure without a source that may be a claim

## What
Every percentage, multiple, duration, number of tokens, amount of money and "as of" date that is neither sourced nor
recognisably an instruction, a threshold, a condition, a goal or an example, and is not reported by `unsourced-claim`.
Opt-in: in real skills most of these are parameters or rules of thumb. One finding per paragraph, list item or table
row.

## Why
For collections that want every number traced: benchmarks in tables, prices, salaries, running times.

## Bad
```markdown
| Seed stage | 15-20 % growth a month |
```

## Good
```markdown
| Seed stage | 15-20 % growth a month ([survey 2026](references/growth.md)) |
```

## Fix
Link the source, cite a claim id, or say it without the number. There is no automatic fix.

## Source
opinion · This project; measured on 529 public skills (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill, Span

CODE = "CL009"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report figures and dates in passages that have no source and assert no claim."""
    # Imported here because the rule is opt-in and its regular expressions take a while to compile.
    from skill_health.rules.claims._bare import bare

    for line, col, length, quote in bare(skill, context):
        yield Hit(
            Span(line, col, line, col + length),
            f'a figure without a source: "{quote}"',
            "Link the source, cite a claim id (claim-...), or say it without the figure.",
        )
