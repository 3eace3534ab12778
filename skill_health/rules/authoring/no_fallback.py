"""A tool is required, and nothing said for when it fails.

## What
SKILL.md requires something ("must use", "requires", "always run", prerequisites) and nowhere says what to do where
that is missing or fails, nor what goes wrong otherwise. Opt-in.

## Why
Agents inherit the faults of a tool that they cannot debug: three of the tasks that lost did so.

## Bad
```markdown
Always use Suricata's Lua detector.
```

## Good
```markdown
Use Suricata's Lua detector. If `suricata -T` fails, check the rule with `--engine-analysis`, then match by content.
```

## Fix
Say how to tell that the tool fails, and what to do then.

## Source
evidence · SkillsBench, appendix F.3 (2026). Of 50 public skills that it was not written on, it was right in 2 of 8:
docs/quality.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.authoring import find_brittle
from skill_health.skill.model import Skill

CODE = "AU008"
SEVERITY = Severity.INFO
SINCE = "0.2.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report where it shows."""
    if at := find_brittle(skill):
        yield Hit(
            at,
            "a tool is required, and nothing said for when it fails",
            "Say how to tell that it fails, and what to do then.",
        )
