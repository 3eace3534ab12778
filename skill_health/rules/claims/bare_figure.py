"""A figure without a source that may be a claim

## What
Every percentage, multiple, duration, number of tokens, amount of money and "as of" date that is neither sourced nor
recognisably an instruction, a threshold, a condition, a goal or an example, and that the rule for asserted figures
leaves alone. Opt-in: in real skills most of these are parameters or rules of thumb. One finding per paragraph, list
item or table row.

## Why
For collections that want every number traced: benchmarks in tables, prices, salaries, running times.

## Bad
```markdown
| Seed stage | 15-20 % growth a month |
```

## Good
```markdown
| Seed stage | 15-20 % growth a month ([survey 2026](references/growth.md)) |
```

## Fix
Link the source, cite a claim id, or say it without the number. Not done by `--fix`.

## Source
opinion · This project; measured on 529 public skills (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.core.skill import Skill, Span
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.claims._assertion import sentence, stated
from skill_health.rules.claims._claims import claims
from skill_health.rules.claims._figures import Figure
from skill_health.rules.claims._passages import column, extent, sources
from skill_health.rules.claims._places import Place, place_quote, places

CODE = "CL009"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = False

MAX_HITS = 200
_AS_OF = re.compile(r"\bas of (?:[A-Z][a-z]{2,9} )?(?:19|20)\d\d\b", re.IGNORECASE)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Stated figures and dates in passages that carry no source and assert nothing more strongly."""
    body = skill.body
    asserted = {(claim.line, claim.col) for claim in claims(skill)}
    found: dict[int, Place] = {}
    for place in (*places(skill), *_dates(skill)):
        prose = body.prose[place.index]
        if prose.unit not in found and stated(prose.plain, place.figure):
            found[prose.unit] = place
    known = sources(skill) if found else None
    for place in list(found.values())[:MAX_HITS]:
        line, col = column(body, place.index, place.figure.start)
        lines = extent(body, place.index)
        if known and (line, col) not in asserted and not known.cited(lines) and not known.ids_in(lines):
            yield Hit(
                Span(line, col, line, col + place.figure.end - place.figure.start),
                f'a figure without a source: "{place_quote(body, place)}"',
                "Link the source, cite a claim id (claim-...), or say it without the figure.",
            )


def _dates(skill: Skill) -> Iterator[Place]:
    for index, prose in enumerate(skill.body.prose):
        for match in _AS_OF.finditer(prose.plain) if "s of" in prose.plain else ():
            yield Place(index, Figure("date", *match.span()), False, *sentence(prose.plain, *match.span()))
