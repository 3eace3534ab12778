"""The body is likely to take more tokens than the limit.

## What
The text after the frontmatter is estimated at more tokens than `limits.body-tokens` (5,000). No tokenizer is used:
the estimate lies within 14 % of each of four tokenizers for nine in ten English files. A body that is over by more
than that is a warning, one that is over by less is information. A file that has too many lines already is left to
that rule.

## Why
The body is read whole each time the skill is loaded, and stays in the context. Wide tables and long lines reach the
limit long before they reach 500 lines.

## Bad
```markdown
| code | meaning | cause | remedy | since | seen in |
(400 rows of error codes)
```

## Good
```markdown
Look the error code up in `references/errors.md`: search for the code, do not read the file.
```

## Fix
Move tables, listings and rare cases into files below `references/`.

## Source
SHOULD · Agent Skills specification, "progressive disclosure" (under 5,000 tokens), agentskills.io (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.measure import estimate_tokens
from skill_health.core.skill import Skill, Span
from skill_health.rules._api import Context, Hit, Severity

CODE = "ST002"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True
# How far the estimate may be off, see estimate_tokens.
ERROR = 0.14


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a body whose estimated tokens are over the limit."""
    limits = context.config.limits
    most = len(skill.text) * (0.6 if skill.text.isascii() else 1)
    if len(skill.lines) > limits.body_lines or most <= limits.body_tokens:
        return
    first = skill.body.first_line
    tokens = estimate_tokens("\n".join(skill.lines[first - 1 :]))
    if tokens > limits.body_tokens:
        yield Hit(
            Span(min(first, len(skill.lines)), 1),
            f"the body takes about {tokens:,} tokens (estimated), the limit is {limits.body_tokens:,}",
            "Move tables, listings and rare cases into references/.",
            severity=None if tokens * (1 - ERROR) > limits.body_tokens else Severity.INFO,
        )
