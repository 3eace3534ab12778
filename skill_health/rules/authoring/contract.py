"""The complexity contract is no contract.

## What
The `metadata` of the frontmatter has one of `expected-tool-calls`, `expected-tokens`, `applies-to` and `fallback`, but
not all of them, or a number that is none. A skill without any is left alone. Opt-in.

## Why
The contract tells an agent when a recipe costs more than the task is worth, and what to do instead.

## Bad
```yaml
metadata:
  expected-tokens: about 60k
```

## Good
```yaml
metadata:
  expected-tool-calls: "20"
  expected-tokens: "60000"
  applies-to: PDF forms of at most 50 pages
  fallback: Fill single fields with scripts/fill_one.py
```

## Fix
Say all four; `skill-health draft contract RUN` drafts the numbers from what was measured.

## Source
evidence · SkillsBench, section 6, "Complexity-aware fallback paths for Skills" (2026).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.contract import find_contract_problems
from skill_health.skill.model import Skill

CODE = "AU009"
SEVERITY = Severity.INFO
SINCE = "0.2.0"
DEFAULT = False


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report what is wrong with it, where."""
    for problem in find_contract_problems(skill):
        yield Hit(problem.field.key_span, problem.message, "Say all four, the numbers as whole numbers.")
