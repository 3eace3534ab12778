"""The skill cites a claim id that is not in the registry

## What
A `claim-...` id in the body of a skill, if the collection has a claims registry without that id. Ids in HTML comments,
in back-ticks, in brackets and after `claim_id:` count; an id in running text counts only if it is a near miss of a
known one, because `claim-based` is an ordinary word. Code blocks are left alone, as are ids of broken registry lines
(which have their own finding). Reported once per id and skill.

## Why
The reader takes the id for a source. An id that leads nowhere is worse than none: the number looks checked and is
not.

## Bad
```markdown
Masking tool output saves about 60 % of the tokens `claim-masking-savngs`.
```

## Good
```markdown
Masking tool output saves about 60 % of the tokens `claim-masking-savings`.
```

## Fix
Correct the id, or add the entry to the registry. There is no automatic fix.

## Source
evidence · The best-known public health checker counts unknown ids as sources (2026-05).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.claims._ids import claim_ids, known_ids
from skill_health.skill.model import Skill, Span
from skill_health.text.near import nearest

CODE = "CL002"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

MAX_UNKNOWN = 50  # per skill, because each is compared with every known id


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report ids in the body that no line of the registry has."""
    known = known_ids(context.registries)
    if known is None:
        return
    first = {entry.name: entry for entry in reversed(claim_ids(skill)) if entry.name not in known}
    for entry in sorted(first.values(), key=lambda entry: (entry.line, entry.col))[:MAX_UNKNOWN]:
        near = nearest(entry.name, known, 0.85)
        if not near and not (entry.marked and entry.name.count("-") > 1):
            continue
        advice = (
            f"Did you mean {near}?"
            if near
            else "Add it to the claims registry, or cite the id of an entry that is there."
        )
        yield Hit(
            Span(entry.line, entry.col, entry.line, entry.col + len(entry.name)),
            f"{entry.name} is not in the claims registry",
            advice,
        )
