"""The skill bundles no script that its text says how to run.

## What
No executable file of the skill (`.py`, `.sh`, `.js`, `.ps1` ...) stands in a command of SKILL.md, in a block or
inline. Opt-in: a skill about judgement needs none.

## Why
A script with defaults that work is done the same way every time, and costs an agent one call instead of a rewrite.
Two of the ten tasks that gained most had one.

## Bad
```markdown
Replay the trace against the cache and find the size that gives the best hit rate.
```

## Good
```markdown
Run `python scripts/replay.py trace.csv`. Its defaults (block 16, LRU) fit traces of chat servers.
```

## Fix
Bundle the script, and write the command that runs it with its defaults.

## Source
evidence · SkillsBench, appendix F.4 (2026).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.authoring import find_script
from skill_health.skill.model import Skill, Span

CODE = "AU001"
SEVERITY = Severity.INFO
SINCE = "0.2.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report its absence."""
    if skill.body.prose and find_script(skill) is None:
        at = Span(min(skill.body.first_line, len(skill.lines)), 1)
        yield Hit(
            at, "no script that the text says how to run", "Bundle one, and write its command with defaults that work."
        )
