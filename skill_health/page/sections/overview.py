"""The one table over all skills: a row each, the most in need first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skill_health.documents.caveats import FoundCaveat, find_effect_caveats, find_skill_caveats
from skill_health.documents.lint_report import LintedSkill, ScoreComponent
from skill_health.documents.skill_grades import SkillGrade
from skill_health.documents.skill_record import SkillRecord
from skill_health.page.drawing.drawn import Drawn
from skill_health.page.figures import MISSING, count, points, score, share
from skill_health.page.model import GRADE_TONES, Page, PageCell, SkillVerdict, Tone, anchor
from skill_health.page.verdict.ranking import effect_first, routed_first
from skill_health.page.verdict.rules import count_rules

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


_OPTIONAL = {"trend": "Trend", "routing": "Routing", "effect": "Effect", "listing": "Listing", "claims": "Claims"}
_MOST_OWNERS = 300


@dataclass(frozen=True, slots=True)
class SkillTable:
    """The table: its rows, the columns that anything was measured for, and those that were `folded` away.

    `grades` are the verdicts that there are, with their tone and number. By `rules`, `owners` and `hosts` rows can be
    chosen: each is a value with its text, and `facets` has the places of the rows, in the order of paths, by it.
    """

    rows: tuple[OverviewRow, ...]
    columns: tuple[str, ...]
    folded: tuple[str, ...]
    grades: tuple[tuple[str, Tone, int], ...]
    rules: tuple[tuple[str, str], ...]
    owners: tuple[tuple[str, str], ...]
    hosts: tuple[tuple[str, str], ...]
    facets: Mapping[str, Mapping[str, Sequence[int]]]


def build(page: Page, _: Drawn) -> Mapping[str, object]:
    """The table."""
    every = rows(page)
    known = {
        "trend": any(row.change.value is not None for row in every), "routing": any(row.routing for row in every),
        "effect": any(row.effect for row in every), "listing": any(row.tokens.value is not None for row in every),
        "claims": any(row.oldest.value is not None for row in every),
    }  # fmt: skip
    counts = Counter(row.verdict.grade for row in every)
    facets = _facets(page)
    titles = {each.key: each.title for each in page.own.listing.hosts}
    named = {
        name: tuple((value, f"{titles.get(value, value)} ({len(found):,})") for value, found in own.items())
        for name, own in facets.items()
    }
    table = SkillTable(
        every, ("verdict", "skill", "lint", *(name for name in known if known[name]), "next"),
        tuple(title for name, title in _OPTIONAL.items() if not known[name]),
        tuple((each.value, GRADE_TONES[each], counts[each]) for each in SkillGrade if counts[each]),
        named["rule"], named["owner"], named["host"], facets,
    )  # fmt: skip
    return {"table": table}


def _facets(page: Page) -> dict[str, dict[str, list[int]]]:
    """The places of the skills by rule, by the folder that holds them, and by the host that lists them in part."""
    places = {each.path: at for at, each in enumerate(page.status.skills)}
    by_rule: dict[str, set[int]] = {}
    for each in count_rules(page):
        by_rule.setdefault(each.code, set()).update(places[path] for path in each.skills)
    owners: dict[str, list[int]] = {}
    for path, at in places.items():
        owners.setdefault(path.rpartition("/")[0].rpartition("/")[0] or ".", []).append(at)
    if not 1 < len(owners) <= _MOST_OWNERS:
        owners = {}
    short = page.own.listing.short
    return {
        "rule": {code: sorted(by_rule[code]) for code in sorted(by_rule)},
        "owner": {name: owners[name] for name in sorted(owners)},
        "host": {key: [places[path] for path in short[key] if path in places] for key in sorted(short)},
    }


def sort_keys(table: SkillTable, page: Page) -> dict[str, list[float | None]]:
    """What each column sorts by, in the order of the paths; None for what is missing."""
    at = {row.path: row for row in table.rows}
    ordered = [at[skill.path] for skill in page.status.skills]
    need = {row.path: place for place, row in enumerate(table.rows)}
    by_name = {path: place for place, path in enumerate(sorted(at, key=lambda path: (_natural(at[path].name), path)))}

    def value(cell: PageCell | None) -> float | None:
        return cell.value if cell is not None and isinstance(cell.value, int | float) else None

    return {
        "verdict": [need[row.path] for row in ordered],
        "skill": [by_name[row.path] for row in ordered],
        "lint": [value(row.score) for row in ordered],
        "trend": [value(row.change) for row in ordered],
        "routing": [value(row.routing.cell if row.routing else None) for row in ordered],
        "effect": [value(row.effect.cell if row.effect else None) for row in ordered],
        "listing": [value(row.tokens) for row in ordered],
        "claims": [value(row.oldest) for row in ordered],
    }


def _natural(name: str) -> list[tuple[int, int, str]]:
    """A name as people sort it: without regard to case, numbers by their size."""
    parts = re.split(r"([0-9]+)", name.casefold())
    return [(1, int(part), "") if at % 2 else (0, 0, part) for at, part in enumerate(parts)]


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
