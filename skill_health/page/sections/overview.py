"""The one table over all skills: a row each, the most in need first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from skill_health.page.figures import MISSING, Mark, count, effect_marks, points, route_marks, score, share
from skill_health.page.model import JsonNode, Page, PageCell, SkillVerdict, anchor
from skill_health.page.verdict.ranking import effect_first, routed_first

_UNKNOWN = SkillVerdict("not judged", "unknown", 1, "")


@dataclass(frozen=True, slots=True)
class MeasuredFigure:
    """A figure with what it was measured by, the word that was made of it, and its marks."""

    cell: PageCell
    model: str
    word: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class OverviewComponent:
    """A component of the score: its name, its value from 0 to 1, and why it is not full.

    `tenths` is the value in tenths for a bar; None where the component does not apply to the skill.
    """

    name: str
    cell: PageCell
    note: str
    tenths: int | None


@dataclass(frozen=True, slots=True)
class OverviewRow:
    """A skill in the table. `place` is the name of its part of the page, `need` sorts by verdict, the worst first.

    `twin` says that another skill has the same name, so that the path has to tell them apart.
    """

    path: str
    place: str
    name: str
    twin: bool
    verdict: SkillVerdict
    need: int
    score: PageCell
    parts: tuple[OverviewComponent, ...]
    found: tuple[tuple[str, PageCell], ...]
    change: PageCell
    since: str
    routing: MeasuredFigure | None
    effect: MeasuredFigure | None
    tokens: PageCell
    oldest: PageCell
    stale: PageCell
    claims: PageCell


def rows(page: Page) -> tuple[OverviewRow, ...]:
    """The rows of the table: by verdict, the worst first, and by path among equals."""
    names = Counter(skill.value["name"] for skill in page.status["skills"])
    scored = {entry.value["path"]: entry for entry in page.lint.get("skills")}
    found = [_row(page, skill, scored, names) for skill in page.status["skills"]]
    return tuple(sorted(found, key=lambda row: (row.need, row.path)))


def _row(page: Page, skill: JsonNode, scored: Mapping[str, JsonNode], names: Counter[str]) -> OverviewRow:
    path, name = skill.value["path"], skill.value["name"]
    verdict = page.verdicts.get(path, _UNKNOWN)
    entry = scored.get(path, JsonNode({}, ""))
    trend = page.own.get("trends").get(path)
    claims = page.own.get("claims").get("skills").get(path)
    health = skill["health"]
    return OverviewRow(
        path,
        anchor(path),
        name,
        names[name] > 1,
        verdict,
        verdict.need,
        score(health["score"]),
        tuple(_part(each) for each in entry.get("components")),
        tuple((word, count(health[word])) for word in ("errors", "warnings") if health[word]),
        _change(trend.get("change")),
        str(trend.get("since").value or ""),
        _routing(skill),
        _effect(skill),
        count(page.own.get("listing").get("skills").get(path)),
        count(claims.get("oldest_days")),
        count(claims.get("stale")),
        count(claims.get("claims")),
    )


def _part(each: JsonNode) -> OverviewComponent:
    value = each["value"].value
    cell = score(each["value"])
    return OverviewComponent(
        str(each["name"].value), cell, str(each.get("note").value or ""), None if value is None else round(value * 10)
    )


def _change(change: JsonNode) -> PageCell:
    """A difference of scores; one that rounds to nothing has no sign."""
    value = change.value
    if value is None:
        return PageCell(MISSING, None, change.origin)
    text = f"{value:+.2f}"
    return PageCell("0.00" if float(text) == 0 else text, value, change.origin)


def _routing(skill: JsonNode) -> MeasuredFigure | None:
    """Routing by the model that tells most: a real one of the skill as it is now, and of those the best."""
    best = routed_first(skill["routing"]["models"])
    if best is None:
        return None
    return MeasuredFigure(share(best["recall"]), str(best["model"].value), "", route_marks(best.value))


def _effect(skill: JsonNode) -> MeasuredFigure | None:
    """The effect that the verdict rests on: a real one of the skill as it is now, where there is one."""
    last = effect_first(skill["effect"]["models"])
    if last is None:
        return None
    word = str(last["verdict"].value)
    return MeasuredFigure(points(last["delta"]), str(last["model"].value), word, effect_marks(last.value))
