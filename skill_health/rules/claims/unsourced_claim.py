"""A figure is asserted without a source

## What
A sentence of the body that asserts a figure as a fact: a comparison ("3x faster", "40 % fewer tokens"), an effect
("reduces latency by 40 %", "costs cause 20-40 % of churn"), a share ("70 % of viewers leave"), a study with a number,
or a named benchmark with a result. It is sourced by a claim id (`claim-...`), a link, the path of a file, or a citation
("[1]", "(Author, 2024)", "arXiv:...") in the same paragraph, list item or table row, in the sentence that introduces
the list or table, or in a line "Source: ..." below it; for a claim in a heading, anywhere up to the next heading. A
link to a file that does not exist is no source. One finding per passage, and one for all rows of a table.

If the text names the source ("SRFT reports 32 %"), or the figure is a vendor's own ("up to 57 % savings", "10x faster"
under "What is NAME?"), the finding asks for the link only.

Left alone: code, instructions, parameters, thresholds, goals, conditions, questions, quoted speech, and sections and
columns named as examples, targets, criteria, budgets or the like.

## Why
An agent repeats what a skill tells it. A number that nobody can trace is repeated to users as a fact, and nobody
notices when it goes out of date.

## Bad
```markdown
Prompt caching cuts the cost of stable workloads by 90%.
```

## Good
```markdown
Prompt caching cuts the cost of stable workloads by 90% ([measured in March](references/caching.md)).
```

## Fix
Link the source, or cite the id of an entry in the claims registry; if there is none, say it without the number. There
is no automatic fix.

## Source
evidence · A health checker that divides cited by counted numbers rewards deleting numbers and counts parameters as
claims; this rule was drawn up by reading every figure in 529 public skills (2026-11). Many careful authors leave a rule
of thumb without a source, so it is information.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.claims._claims import Claim, claims
from skill_health.rules.claims._ids import claim_ids, known_ids
from skill_health.skill.model import Skill, Span

CODE = "CL001"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report passages without a link, a citation or a claim id. An unknown id is left to its own rule."""
    groups: dict[tuple[int, int], list[Claim]] = {}
    for claim in claims(skill, context):
        if not claim.cited and not claim.ids:
            groups.setdefault(_table(skill, claim), []).append(claim)
    for claims_here in groups.values():
        claim = next((claim for claim in claims_here if not claim.named), claims_here[0])
        others = len(claims_here) - 1
        more = f" (and in {others} more row{'s' * (others > 1)})" if others else ""
        span = Span(claim.line, claim.col, claim.line, claim.col + len(claim.figure))
        if claim.named:
            message = f'no link to the source of "{claim.quote}" in this {claim.where}{more}'
            yield Hit(span, message, "Add the link to whoever published the figure.")
        else:
            yield Hit(
                span,
                f'no source for "{claim.quote}" in this {claim.where}{more}',
                "Link the source or cite a claim id (claim-...) beside the figure, or say it without the figure.",
            )


def collect(skill: Skill, context: Context) -> dict[str, Any]:
    """How many claims the body makes, how many are sourced and how many have a known id, and every id cited."""
    found, known = claims(skill, context), known_ids(context.registries)
    return {
        "total": len(found),
        "sourced": sum(claim.cited or _known(claim, known) for claim in found),
        "with_id": sum(_known(claim, known) for claim in found),
        "ids": [[entry.name, entry.line, entry.col] for entry in claim_ids(skill)],
    }


def _known(claim: Claim, known: frozenset[str] | None) -> bool:
    return bool(claim.ids) if known is None else not known.isdisjoint(claim.ids)


def _table(skill: Skill, claim: Claim) -> tuple[int, int]:
    """The unit that is reported once: a whole table, else the claim itself."""
    if claim.where == "table row":
        for table in skill.body.tables:
            if table.line <= claim.line <= table.end_line:
                return table.line, 0
    return claim.line, claim.col
