"""What the next page compares with: the figures of each skill in short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skill_health.core.strict_json import escape_surrogates
from skill_health.page.data.changes import STATE
from skill_health.page.model import SkillVerdict
from skill_health.page.verdict.telling import effect_rank, route_rank
from skill_health.status.records import SkillRecord


def state(
    records: Mapping[str, SkillRecord],
    verdicts: Mapping[str, SkillVerdict],
    tokens: Mapping[str, int | None],
    claims: Mapping[str, Any] | None,
    as_of: str,
    version: str,
) -> dict[str, Any]:
    """The state of now, without what it is compared with. All mappings are by path. Simulated runs are left out."""
    skills = {}
    for path, record in sorted(records.items()):
        recall, effect = _recall(record), _effect(record)
        skills[path] = {
            "name": escape_surrogates(record.name),
            "verdict": verdicts[path].word,
            "score": record.health.score,
            **recall,
            **effect,
            "tokens": tokens[path],
            "stale_claims": claims["skills"][path]["stale"] if claims else None,
        }
    return {"schema": STATE, "as_of": as_of, "version": version, "skills": skills}


def _recall(record: SkillRecord) -> dict[str, Any]:
    every = [each for each in record.routing.models if not each.run.simulated and each.recall.value is not None]
    best = min(every, key=lambda one: route_rank(False, True, one.local, one.changed, one.run.trusted), default=None)
    if best is None:
        return {"recall": None, "recall_model": None}
    return {"recall": best.recall.value, "recall_model": escape_surrogates(best.run.model)}


def _effect(record: SkillRecord) -> dict[str, Any]:
    every = [each for each in record.effect.models if not each.simulated]
    last = min(every, key=lambda one: effect_rank(False, one.changed, one.verdict, bool(one.preliminary)), default=None)
    if last is None:
        return {"effect": None, "effect_verdict": None}
    return {"effect": last.delta.value, "effect_verdict": last.verdict}
