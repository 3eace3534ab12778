"""A long procedure has no short way for simple cases.

## What
SKILL.md has a procedure of six steps or more in 150 lines or more, and nowhere says what may be skipped, what is
optional, or how a simple case goes. Opt-in.

## Why
Heavy pipelines crowd out simpler ways that would do: three of the tasks that lost did so.

## Bad
```markdown
1. Model the plant.
2. Identify its parameters.
3. Set up the solver.
4. Tune the horizon.
5. Simulate.
```

## Good
```markdown
For a plant with one input, skip steps 2 to 4 and use the PID values below.
```

## Fix
Mark what is optional, and say how a simple case goes.

## Source
evidence · SkillsBench, appendix F.3 (2026). Of 50 public skills that it was not written on, it was right in 2 of 10:
docs/quality.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.authoring import find_heavy
from skill_health.skill.model import Skill

CODE = "AU006"
SEVERITY = Severity.INFO
SINCE = "0.2.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report where it shows."""
    if at := find_heavy(skill):
        yield Hit(
            at,
            "a long procedure of six steps or more has no short way",
            "Mark what is optional, and say how a simple case goes.",
        )
