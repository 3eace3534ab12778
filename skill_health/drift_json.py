"""The drift report as JSON (core/schemas/drift.schema.json), for other programs."""

from __future__ import annotations

import json
from typing import Any

from skill_health.core.claim_dates import Review
from skill_health.drift import Drift, FindingDelta, NumberChange, SkillDrift
from skill_health.drift_sections import places
from skill_health.earlier import EarlierRuns
from skill_health.effect_history import Effects
from skill_health.effect_section import effect_record
from skill_health.history_line import HistoryLine
from skill_health.router_history import RoutingHistory
from skill_health.router_section import routing_record
from skill_health.today import TodayRun

SCHEMA = "skill-health/drift/1"


def render(
    drift: Drift,
    today: TodayRun,
    earlier: EarlierRuns,
    reasons: list[str],
    routing: RoutingHistory | None = None,
    effects: Effects | None = None,
) -> str:
    """The document as text: keys in a fixed order, ASCII only, no absolute path."""
    values = document(drift, today, earlier, reasons, routing, effects)
    return json.dumps(values, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def document(
    drift: Drift,
    today: TodayRun,
    earlier: EarlierRuns,
    reasons: list[str],
    routing: RoutingHistory | None = None,
    effects: Effects | None = None,
) -> dict[str, Any]:
    """The document as JSON values. `basis` says how much could be compared: nothing, the listing, all."""
    before, after, window = drift.before, drift.after, earlier.window
    return {
        "schema": SCHEMA,
        "run": _run(after),
        "before": _run(before) if before else None,
        "basis": "findings" if drift.full else "listing" if before else "nothing",
        "differences": list(earlier.differences),
        "passed": earlier.passed,
        "reasons": reasons,
        "mean": _change(NumberChange("mean", mean_before(earlier), after.summary.mean)),
        "same": {"skills": drift.same_n, **_change(drift.same)} if drift.same else None,
        "window": {
            "runs": window.n, "since": window.since or None, "median": window.median, "above": window.above,
            "equal": window.equal, "below": window.below,
        } if window else None,
        "skills": [_skill(skill, today) for skill in drift.skills if _moved(skill)],
        "added": list(drift.added),
        "removed": list(drift.removed),
        "renamed": [{"from": old, "to": new} for old, new in drift.renamed],
        "new": [_found(found) | {"places": _places(found, today)} for found in drift.new],
        "fixed": [_found(found) for found in drift.fixed],
        "rules": [{"code": change.name, **_change(change)} for change in drift.rules],
        "claims": None if after.stale is None else {
            "stale": [_claim(today.reviews[claim]) for claim in drift.stale],
            "reviewed": list(drift.reviewed),
            "due": [_claim(today.reviews[claim]) for claim in after.due or ()],
        },
        "descriptions": [skill.path for skill in drift.skills if skill.relisted],
        "router": routing_record(routing),
        "effectiveness": effect_record(effects),
        "problems": list(earlier.problems),
    }  # fmt: skip


def mean_before(earlier: EarlierRuns) -> float | None:
    """The collection's mean in the run that today's is compared with, where there is one."""
    if earlier.last:
        return earlier.last.summary.mean
    return earlier.plan.mean if earlier.plan else None


def _run(line: HistoryLine) -> dict[str, Any]:
    return {key: getattr(line, key) for key in ("time", "commit", "dirty", "version", "profile", "as_of")}


def _change(change: NumberChange) -> dict[str, Any]:
    return {"before": change.before, "after": change.after}


def _moved(skill: SkillDrift) -> bool:
    same = skill.score.before == skill.score.after and skill.flagged[0] == skill.flagged[1]
    return not same or bool(skill.parts or skill.counts or skill.relisted or skill.path != skill.was)


def _skill(skill: SkillDrift, today: TodayRun) -> dict[str, Any]:
    score = today.scores.get(skill.path)
    notes = {part.name: part.note for part in score.parts} if score else {}
    return {
        "path": skill.path, "was": skill.was, "name": skill.score.name, "score": _change(skill.score),
        "flagged": {"before": skill.flagged[0], "after": skill.flagged[1]},
        "components": [
            {
                "name": part.value.name, **_change(part.value), "note": notes.get(part.value.name, ""),
                "evidence": {"before": dict(part.before), "after": dict(part.after)},
            }
            for part in skill.parts
        ],
        "rules": [{"code": change.name, **_change(change)} for change in skill.counts],
    }  # fmt: skip


def _found(found: FindingDelta) -> dict[str, Any]:
    return {"skill": found.path, "key": found.key, "severity": found.severity, "code": found.code, "n": found.n}


def _places(found: FindingDelta, today: TodayRun) -> list[dict[str, Any]]:
    return [{"path": f.path, "line": f.line, "col": f.col, "message": f.message} for f in places(found, today)]


def _claim(review: Review) -> dict[str, Any]:
    return {
        "claim_id": review.claim_id, "owning_skill": review.owner, "path": review.record.path,
        "line": review.record.line, "reviewed": review.reviewed.isoformat(), "due": review.due.isoformat(),
        "overdue": review.overdue,
    }  # fmt: skip
