"""A figure rests only on weak evidence

## What
A passage that asserts a figure and cites claim ids of the registry, all of which have the evidence strength
`anecdotal` or `derived`, without a link or a citation beside them. Opt-in.

## Why
A calculated or once-observed number reads like a measured one. The reader should be able to tell which it is.

## Bad
```markdown
Handing over by file cuts rework by 40 % `claim-file-handoff`.      (anecdotal)
```

## Good
```markdown
In one project, handing over by file cut rework by about 40 % `claim-file-handoff`; see [the log](references/log.md).
```

## Fix
Find a primary or secondary source, link to what is available, or say in words how weak it is. There is no automatic
fix.

## Source
opinion · This project; the strengths are those of the published claims registry (2026-05).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.claims._claims import claims
from skill_health.skill.model import Skill, Span

CODE = "CL005"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = False

_WEAK = ("anecdotal", "derived")


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report claims whose only sources are weak entries of the registry."""
    if not context.registries.claims or "claim-" not in skill.text:
        return
    strengths = {str(r.data["claim_id"]): str(r.data["evidence_strength"]) for r in context.registries.claims}
    for claim in claims(skill, context):
        known = {name: strengths[name] for name in claim.ids if name in strengths}
        if claim.cited or not known or not set(known.values()) <= set(_WEAK):
            continue
        name = min(known)
        yield Hit(
            Span(claim.line, claim.col, claim.line, claim.col + len(claim.figure)),
            f'"{claim.quote}" rests on {known[name]} evidence only ({name})',
            "Add a primary or secondary source, or say in words how the number was found.",
        )
