"""A registered claim is overdue for review

## What
A line of the claims registry whose source was last looked at (the later of `last_reviewed` and `retrieved_at`) more
days ago than its volatility allows: `volatility.high` (30), `volatility.medium` (90) or `volatility.low` (365) days.
"Ago" counts from today, or from the date given by `--as-of`.

## Why
Prices, model versions and benchmark results change in weeks. A number that was right when written keeps being repeated
with the same confidence.

## Bad
```json
{"claim_id": "claim-cache-price", "volatility": "high", "last_reviewed": "2026-01-10"}
```

## Good
```json
{"claim_id": "claim-cache-price", "volatility": "high", "last_reviewed": "2026-11-02"}
```

## Fix
Read the source again, correct the claim and the skills that cite it, then set `last_reviewed`. There is no automatic
fix.

## Source
opinion · This project; the default periods are the ones published with the first claims registry for skills
(2026-05).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.registries.records import reviews
from skill_health.rules._api import Corpus, CorpusContext, Hit, Severity
from skill_health.skill.model import Span

CODE = "CL004"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report claims past their due day, with the number of days."""
    for entry in reviews(context.registries, context.config.volatility, context.as_of):
        if entry.overdue > 0:
            verb = "reviewed" if entry.field == "last_reviewed" else "retrieved"
            days = f"{entry.overdue} day{'s' * (entry.overdue != 1)}"
            yield Hit(
                Span(entry.record.line, 1),
                f"{entry.claim_id} is {days} overdue: {verb} on {entry.reviewed.isoformat()}, "
                f"good for {entry.days} days at {entry.volatility} volatility",
                "Read the source again, correct the claim where it changed, and set last_reviewed.",
                entry.record.path,
            )
