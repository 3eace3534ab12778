"""The file has more lines than the limit.

## What
SKILL.md has more lines than `limits.body-lines` (500). All lines of the file count, frontmatter included, as they do
for the hosts and the specification; the lines of bundled files do not. Up to 50 % over the limit is information, and is
left to `too-many-tokens` if the body also has too many tokens.

## Why
Once a skill is loaded its whole file stays in the context. In a benchmark of 87 tasks compact and standard skills
raised the pass rate by 19.0 and 21.5 points, the longest 5 % by 0.7.

## Bad
```markdown
# Deploying to every cloud
(one file of 812 lines: the procedure, the reference of four command lines and their error codes)
```

## Good
```markdown
# Deploying to every cloud
1. Choose the target; its commands are in `references/aws.md`, `references/azure.md` or `references/gcp.md`.
```

## Fix
Move what only some tasks need into files below `references/` and say in SKILL.md when to read each.

## Source
SHOULD · Agent Skills specification, "progressive disclosure" (under 500 lines), agentskills.io (2026-11);
SkillsBench, table 9 (2026).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.structure._size import far_too_long, tokens_beyond
from skill_health.skill.model import Skill, Span

CODE = "ST001"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a file that is longer than the limit, at the first line beyond it."""
    limits = context.config.limits
    limit = limits.body_lines
    far = far_too_long(skill, limit)
    if far or (len(skill.lines) > limit and not tokens_beyond(skill, limits.body_tokens)):
        yield Hit(
            Span(limit + 1, 1),
            f"{len(skill.lines):,} lines, the limit is {limit:,}",
            "Move what only some tasks need into references/ and say when to read it.",
            severity=None if far else Severity.INFO,
        )
