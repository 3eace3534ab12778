"""What changed since the last page, and what to do next, as the page shows them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from skill_health.page.figures import MISSING, score
from skill_health.page.model import JsonNode, Page, PageCell, anchor
from skill_health.page.verdict.verdicts import due

_FIELDS = {
    "recall": "recall %",
    "recall_model": "routed by",
    "effect": "effect in points",
    "effect_verdict": "effect",
    "tokens": "listing tokens",
    "stale_claims": "stale claims",
}


@dataclass(frozen=True, slots=True)
class Named:
    """A skill by its name. `place` is its part of the page, "" where it has none or the name is not enough."""

    name: str
    place: str


@dataclass(frozen=True, slots=True)
class SkillChange:
    """A skill and what changed in it: the field, the cell before and the cell after."""

    skill: Named
    what: tuple[tuple[str, PageCell, PageCell], ...]


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything that changed since the page of the day `as_of`, which version `version` made.

    `other` says that this is another version than the one of now, which may judge otherwise.
    """

    as_of: str
    version: str
    other: bool
    added: tuple[Named, ...]
    removed: tuple[Named, ...]
    skills: tuple[SkillChange, ...]


@dataclass(frozen=True, slots=True)
class DueTask:
    """A step that is due, with the skills that it is for. `command` is "" where no command does it."""

    gap: str
    advice: str
    command: str
    skills: tuple[Named, ...]


def changes(page: Page) -> Changes | None:
    """What changed since the last page; None where this is the first."""
    told = page.own.get("changes")
    if told.value is None:
        return None
    present = {skill.value["path"] for skill in page.status["skills"]}
    since = told.get("since").value or {}
    return Changes(
        str(since.get("as_of", "")),
        str(since.get("version", "")),
        since.get("version") != page.version,
        tuple(_named(each, present) for each in told.get("added")),
        tuple(_named(each, present) for each in told.get("removed")),
        tuple(
            SkillChange(_named(each, present), tuple(_field(what) for what in each.get("what")))
            for each in told.get("skills")
        ),
    )


def tasks(page: Page) -> tuple[DueTask, ...]:
    """Every step that is due, once, in the order of the questions."""
    times = Counter(skill.value["name"] for skill in page.status["skills"])
    paths = {skill.value["name"]: skill.value["path"] for skill in page.status["skills"]}
    return tuple(
        DueTask(
            step.gap,
            step.advice,
            step.command,
            tuple(Named(name, anchor(paths[name]) if times[name] == 1 else "") for name in step.skills),
        )
        for step in due(page)
    )


def _named(each: JsonNode, present: set[str]) -> Named:
    """A skill that is told as its path, or as an object with a path and perhaps a name."""
    told = each.value if isinstance(each.value, dict) else {"path": each.value}
    path = str(told["path"])
    folder = path.rpartition("/")[0].rpartition("/")[2] or path
    return Named(str(told.get("name") or folder), anchor(path) if path in present else "")


def _field(what: JsonNode) -> tuple[str, PageCell, PageCell]:
    field = str(what["field"].value)
    before, after = _value(field, what["before"]), _value(field, what["after"])
    if before.text == after.text:
        # What differs must not look the same.
        before, after = _value(field, what["before"], 4), _value(field, what["after"], 4)
    return _FIELDS.get(field, field), before, after


def _value(field: str, told: JsonNode, digits: int = 0) -> PageCell:
    value = told.value
    if value is None or value == "":
        return PageCell(MISSING, None, told.origin)
    if isinstance(value, float):
        if field in ("recall", "effect"):
            sign = "+" if field == "effect" else ""
            return PageCell(f"{value * 100:{sign}.{digits or 1}f}", value * 100, told.origin)
        return PageCell(f"{value:.{digits}f}", value, told.origin) if digits else score(told)
    return PageCell(f"{value:,}" if isinstance(value, int) else str(value), value, told.origin)
