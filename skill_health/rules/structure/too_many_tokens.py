"""The body is likely to take more tokens than the limit.

## What
The text after the frontmatter is estimated at more tokens than `limits.body-tokens` (5,000). No tokenizer is used:
the estimate lies within 14 % of each of four tokenizers for nine in ten English files. A body that is over by more
than 50 % is a warning, one that is over by less is information. A file that is over `limits.body-lines` by more than
50 % is left to `too-many-lines`.

## Why
The whole body is read each time the skill is loaded, and stays in the context. Wide tables and long lines reach the
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

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.structure._size import MARGIN, far_too_long, tokens_beyond
from skill_health.skill.model import Skill, Span

CODE = "ST002"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a body whose estimated tokens are over the limit."""
    limits = context.config.limits
    tokens = 0 if far_too_long(skill, limits.body_lines) else tokens_beyond(skill, limits.body_tokens)
    if tokens:
        yield Hit(
            Span(min(skill.body.first_line, len(skill.lines)), 1),
            f"the body takes about {tokens:,} tokens (estimated), the limit is {limits.body_tokens:,}",
            "Move tables, listings and rare cases into references/.",
            severity=None if tokens > limits.body_tokens * MARGIN else Severity.INFO,
        )
