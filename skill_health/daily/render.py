"""The drift report: short for a terminal, as Markdown, and as JSON (core/schemas/drift.schema.json)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from skill_health.daily.drift import Drift, FindingDelta, NumberChange, SkillDrift
from skill_health.daily.drift_report import DriftSection, effect_record, places, routing_record
from skill_health.daily.earlier import EarlierRuns
from skill_health.daily.history import HistoryLine
from skill_health.daily.today import TodayRun
from skill_health.documents.effect_history import Effects
from skill_health.documents.router_history import RoutingHistory
from skill_health.registries.records import Review
from skill_health.text.terminal import clean, markdown_text, paint

_MOST = 8
_DETAILS = 6
_WIDEST = 300
_BAD = {"Fell", "Newly flagged", "New findings", "Claims that became stale"}
_LONG = {"Findings by rule"}


def render_drift_text(
    head: Sequence[str], reasons: Sequence[str], collection: Sequence[str], parts: Sequence[DriftSection], color: bool
) -> str:
    """The run, the collection, the beginning of every section, and last the verdict, one line for each limit."""
    lines = [*map(_text, head), "", *(f"  {_text(line)}" for line in collection), ""]
    for section in parts:
        lines += _section(section, color)
    if reasons:
        lines += [f"{paint('drift:', 'red', color)} {_text(reason)}" for reason in reasons]
    else:
        lines.append(paint("no drift beyond the limits", "green", color))
    return "\n".join(lines) + "\n"


def _section(section: DriftSection, color: bool) -> Iterator[str]:
    title = f"{section.title} ({len(section.items)})"
    yield paint(_text(title), "yellow" if section.title in _BAD else "bold", color)
    for item in section.items[:_MOST]:
        yield f"  {_text(item.text)}"
        yield from (f"      {_text(detail)}" for detail in item.details[:_DETAILS])
        if len(item.details) > _DETAILS:
            yield f"      and {len(item.details) - _DETAILS} more"
    if len(section.items) > _MOST:
        yield f"  and {len(section.items) - _MOST} more"
    if section.note:
        yield f"  {_text(section.note)}"
    if section.command:
        yield f"  {section.command}"
    yield ""


def _text(text: str) -> str:
    return clean(text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…")


_MARKDOWN_MOST = 200
_MARKDOWN_WIDEST = 400


def render_drift_markdown(
    head: Sequence[str], reasons: Sequence[str], collection: Sequence[str], parts: Sequence[DriftSection]
) -> str:
    """A whole document: the run, the verdict, the collection, and every section. Each is given as plain text."""
    lines = ["# Skill health: drift", ""]
    for sentence in head:
        lines += [_markdown_text(sentence), ""]
    if reasons:
        lines += ["**Drift beyond the limits:**", "", *(f"- {_markdown_text(reason)}" for reason in reasons), ""]
    else:
        lines += ["No drift beyond the limits.", ""]
    lines += ["## Collection", "", *(f"- {_markdown_text(line)}" for line in collection), ""]
    for section in parts:
        lines += _markdown_section(section)
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown_section(section: DriftSection) -> Iterator[str]:
    yield f"## {_markdown_text(section.title)} ({len(section.items)})"
    yield ""
    for item in section.items[:_MARKDOWN_MOST]:
        yield f"- {_markdown_text(item.text)}"
        yield from (f"  - {_markdown_text(detail)}" for detail in item.details)
    if len(section.items) > _MARKDOWN_MOST:
        yield f"- and {len(section.items) - _MARKDOWN_MOST} more"
    yield ""
    if section.note:
        yield _markdown_text(section.note)
        yield ""
    if section.command:
        yield from ("```sh", section.command, "```", "")


def _markdown_text(text: str) -> str:
    shown = text if len(text) <= _MARKDOWN_WIDEST else text[: _MARKDOWN_WIDEST - 1] + "…"
    return markdown_text(shown).replace(" -&gt; ", " → ")


SCHEMA = "skill-health/drift/1"


def render_drift_json(
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
