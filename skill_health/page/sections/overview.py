"""The one table over all skills: a row each, the most in need first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from skill_health.documents.caveats import FoundCaveat, find_effect_caveats, find_skill_caveats
from skill_health.documents.lint_report import LintedSkill, ScoreComponent
from skill_health.documents.skill_grades import SkillGrade
from skill_health.documents.skill_record import SkillRecord
from skill_health.page.drawing.drawn import Drawn
from skill_health.page.figures import MISSING, count, points, score, share
from skill_health.page.model import Page, PageCell, SkillVerdict, anchor
from skill_health.page.verdict.ranking import effect_first, routed_first

ORDER, TITLE = 20, "Skills in a table"
_UNKNOWN = SkillVerdict(SkillGrade.NOT_MEASURED, "", 1, "")
_NOTHING = PageCell(MISSING)


@dataclass(frozen=True, slots=True)
class MeasuredFigure:
    """A figure with what it was measured by, the word that was made of it, and its marks."""

    cell: PageCell
    model: str
    word: str
    marks: tuple[FoundCaveat, ...]


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
    """A skill in the table. `place` is the name of its part of the page.

    `twin` says that another skill has the same name, so that the path has to tell them apart.
    """

    path: str
    place: str
    name: str
    twin: bool
    verdict: SkillVerdict
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


def build(page: Page, _: Drawn) -> Mapping[str, object]:
    """The rows of the table."""
    return {"rows": rows(page)}


def rows(page: Page) -> tuple[OverviewRow, ...]:
    """The rows of the table: by verdict, the worst first, and by path among equals."""
    names = Counter(skill.name for skill in page.status.skills)
    scored = {entry.path: entry for entry in page.lint.skills}
    skills = {skill.path: skill for skill in page.status.skills}
    return tuple(_row(page, skills[path], scored.get(path), names) for path in page.by_need())


def _row(page: Page, skill: SkillRecord, linted: LintedSkill | None, names: Counter[str]) -> OverviewRow:
    path, health, origins, own = skill.path, skill.health, page.origins, page.own
    verdict = page.verdicts.get(path, _UNKNOWN)
    trend = own.trends.get(path)
    claims = own.claims.skills.get(path) if own.claims else None
    tokens = own.listing.skills.get(path)
    return OverviewRow(
        path,
        anchor(path),
        skill.name,
        names[skill.name] > 1,
        verdict,
        score(origins, health, "score"),
        tuple(_part(page, each) for each in (linted.components if linted else ())),
        tuple((word, count(origins, health, word)) for word in ("errors", "warnings") if getattr(health, word)),
        _change(trend.change, origins.of(trend, "change")) if trend else _NOTHING,
        trend.since or "" if trend else "",
        _routing(page, skill),
        _effect(page, skill),
        PageCell(MISSING if tokens is None else f"{tokens:,}", tokens, origins.of(own.listing, "skills", path)),
        *((count(origins, claims, name) if claims else _NOTHING) for name in ("oldest_days", "stale", "claims")),
    )


def _part(page: Page, each: ScoreComponent) -> OverviewComponent:
    tenths = None if each.value is None else round(each.value * 10)
    return OverviewComponent(each.name, score(page.origins, each, "value"), each.note, tenths)


def _change(value: float | None, origin: str) -> PageCell:
    """A difference of scores; one that rounds to nothing has no sign."""
    if value is None:
        return PageCell(MISSING, None, origin)
    text = f"{value:+.2f}"
    return PageCell("0.00" if float(text) == 0 else text, value, origin)


def _routing(page: Page, skill: SkillRecord) -> MeasuredFigure | None:
    """Routing by the model that tells most: a real one of the skill as it is now, and of those the best."""
    best = routed_first(skill.routing.models)
    if best is None:
        return None
    return MeasuredFigure(share(page.origins, best.recall), best.model, "", find_skill_caveats(best))


def _effect(page: Page, skill: SkillRecord) -> MeasuredFigure | None:
    """The effect that the verdict rests on: a real one of the skill as it is now, where there is one."""
    last = effect_first(skill.effect.models)
    if last is None:
        return None
    return MeasuredFigure(points(page.origins, last.delta), last.model, last.verdict, find_effect_caveats(last))
