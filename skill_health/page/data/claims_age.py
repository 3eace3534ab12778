"""How long ago somebody looked at the sources of claims, by skill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from statistics import median
from typing import Any

from skill_health.config.settings import Config
from skill_health.core.strict_json import escape_surrogates
from skill_health.lint.pipeline import LintResult
from skill_health.registries.records import Registries, Review, reviews


def claims(result: LintResult, paths: Sequence[str], config: Config, as_of: date) -> dict[str, Any] | None:
    """The part `claims` of the page's document; None where the collection has no registry of claims.

    A claim belongs to the skill of its owner's name; where several skills share the name, to none of them.
    """
    registries = result.registries or Registries()
    if registries.claims is None:
        return None
    known = reviews(registries, config.volatility, as_of)
    times = Counter(facts["summary"]["name"] for facts in result.facts.values())
    owned: dict[str, list[Review]] = {}
    for each in known:
        owned.setdefault(each.owner, []).append(each)
    skills = {}
    for path in paths:
        name = result.facts[path]["summary"]["name"]
        own = owned.get(name, []) if times[name] == 1 else []
        ages = [_age(each, as_of) for each in own]
        skills[escape_surrogates(path)] = _counts(own, config, as_of) | {"median_days": median(ages) if ages else None}
    return {"skills": skills, **_counts(known, config, as_of)}


def _counts(own: Sequence[Review], config: Config, as_of: date) -> dict[str, Any]:
    return {
        "claims": len(own),
        "stale": sum(each.overdue > 0 for each in own),
        "due": sum(-config.daily.due_days <= each.overdue <= 0 for each in own),
        "oldest_days": max((_age(each, as_of) for each in own), default=None),
    }


def _age(each: Review, as_of: date) -> int:
    """Days since the last look; negative for a look that is dated later than the day that is judged."""
    return as_of.toordinal() - each.reviewed.toordinal()
