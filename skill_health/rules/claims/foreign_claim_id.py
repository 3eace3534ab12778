"""The skill cites a claim that another skill owns

## What
A claim id whose registry entry names another skill as its owner. Reported once per id and skill.

## Why
Worth knowing, not wrong: two skills may rely on one finding. But only the owner's maintainer reviews it, so when the
finding changes, the other skill keeps the old number.

## Bad
```markdown
Swap the order of both answers `claim-judge-position-bias`.      (owned by another skill)
```

## Good
```markdown
Swap the order of both answers; see the skill `judge-design` for why.
```

## Fix
Point to the owner instead of repeating the number, or make the skill that needs it most the owner. There is no
automatic fix.

## Source
opinion · This project; the registry's field `owning_skill` says who reviews a claim (2026-05).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.claims._ids import claim_ids
from skill_health.skill.model import Skill, Span

CODE = "CL003"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report known ids in the body whose owner is another skill."""
    if not context.registries.claims or "claim-" not in skill.text:
        return
    owners = {str(record.data["claim_id"]): str(record.data["owning_skill"]) for record in context.registries.claims}
    seen: set[str] = set()
    for entry in claim_ids(skill):
        owner = owners.get(entry.name, skill.name)
        if owner in (skill.name, skill.folder_name) or entry.name in seen:
            continue
        seen.add(entry.name)
        yield Hit(
            Span(entry.line, entry.col, entry.line, entry.col + len(entry.name)),
            f'{entry.name} belongs to the skill "{owner}"',
            "Point to that skill instead, or change owning_skill in the registry.",
        )
