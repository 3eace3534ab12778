"""What changed since the last page."""

from __future__ import annotations

from collections.abc import Mapping

from skill_health.documents.page_data import MovedSkill, NamedSkill, StateMove
from skill_health.page.drawing.drawn import Drawn
from skill_health.page.figures import MISSING, score_text
from skill_health.page.model import Page, PageCell, anchor

ORDER, TITLE = 10, "Changes"
_FIELDS = {
    "recall": "recall %",
    "recall_model": "routed by",
    "effect": "effect in points",
    "effect_verdict": "effect",
    "tokens": "listing tokens",
    "stale_claims": "stale claims",
}


def build(page: Page, _: Drawn) -> Mapping[str, object]:
    """What changed, skills with their parts of this page; `since` is None where there is no page before it."""
    told = page.own.changes
    if told is None:
        return {"since": None}
    present = {skill.path for skill in page.status.skills}
    return {
        "since": told.since,
        "is_other": told.since.version != page.version,
        "added": [_link(each, present) for each in told.added],
        "removed": [_link(each, present) for each in told.removed],
        "skills": [(_link(each, present), [_move(page, what) for what in each.what]) for each in told.skills],
    }


def _link(each: NamedSkill | MovedSkill, present: set[str]) -> tuple[str, str]:
    """The name of a skill, and the id of its part of the page, "" where it has none."""
    folder = each.path.rpartition("/")[0].rpartition("/")[2] or each.path
    return each.name or folder, anchor(each.path) if each.path in present else ""


def _move(page: Page, what: StateMove) -> tuple[str, PageCell, PageCell]:
    before, after = _cell(page, what, "before"), _cell(page, what, "after")
    if before.text == after.text:
        # What differs must not look the same.
        before, after = _cell(page, what, "before", 4), _cell(page, what, "after", 4)
    return _FIELDS.get(what.field, what.field), before, after


def _cell(page: Page, what: StateMove, name: str, digits: int = 0) -> PageCell:
    value, origin = getattr(what, name), page.origins.of(what, name)
    if value is None or value == "":
        return PageCell(MISSING, None, origin)
    if isinstance(value, float):
        if what.field in ("recall", "effect"):
            sign = "+" if what.field == "effect" else ""
            return PageCell(f"{value * 100:{sign}.{digits or 1}f}", value * 100, origin)
        return PageCell(f"{value:.{digits}f}" if digits else score_text(value), value, origin)
    return PageCell(f"{value:,}" if isinstance(value, int) else value, value, origin)
