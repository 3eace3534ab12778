"""The page over a fleet: the record and the history as one HTML document, of the parts of the page of a collection."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from skill_health.documents.fleet_line import FleetLine
from skill_health.documents.fleet_run import (
    ChangedFinding,
    FleetRepository,
    FleetRun,
    RepositoryFindings,
)
from skill_health.documents.skill_grades import SkillGrade
from skill_health.fleet.compare import severity_rank
from skill_health.fleet.page.listings import (
    SEVERITIES,
    FleetListing,
    list_new,
    list_others,
    list_repository,
)
from skill_health.fleet.render import STATUS, checked_of, headline, new_text, signed_score
from skill_health.page.figures import MISSING, count, score
from skill_health.page.model import GRADE_TONES, TONES, Origins, PageCell, Tone, anchor
from skill_health.text.near import list_some
from skill_health.text.numbers import count as count_of

_HERE = os.path.join(os.path.dirname(__file__), "templates")
_NOTHING = PageCell(MISSING)


class FleetTile(NamedTuple):
    """A tile of the first screen, and where it leads."""

    title: str
    link: str
    tone: Tone
    word: str
    text: str


@dataclass(frozen=True, slots=True)
class FleetRow:
    """A repository in the table."""

    name: str
    place: str
    grade: str
    tone: Tone
    status: str
    owners: str
    source: str
    skills: PageCell
    score: PageCell
    change: PageCell
    since: str
    errors: PageCell
    warnings: PageCell
    new: PageCell
    fixed: PageCell
    why: str
    waived: PageCell
    baselined: PageCell
    ignored: PageCell


@dataclass(frozen=True, slots=True)
class FleetPart:
    """What is known of a repository, below the table."""

    name: str
    place: str
    grade: str
    tone: Tone
    source: str
    error: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[FleetListing, ...]
    notes: tuple[str, ...]


def render_fleet(run: FleetRun, lines: Sequence[FleetLine], plain: bool = False) -> str:
    """The whole document; `lines` are those of the history, oldest first, this run's included.

    Pure but for the templates that are read: the same record and history give the same bytes. A `plain` page has
    everything in its HTML. Raises UsageError where the extra that it needs is not installed.
    """
    from skill_health.fleet.page.picture import draw_findings
    from skill_health.page.drawing import palette
    from skill_health.page.html import open_environment, pack, policy, read_asset, with_data
    from skill_health.page.sections._load import section_style

    environment = open_environment((_HERE,))
    origins = Origins({"fleet": run, "fleet-history": tuple(lines)})
    rows, parts = (
        [_row(origins, each, _owners(run, each.name)) for each in run.repositories],
        [_part(origins, each) for each in run.repositories],
    )
    style = environment.get_template("fleet.css").render()
    style = palette.style() + read_asset("page.css") + section_style("skills") + style
    script = read_asset("page.js")
    first, rest = list(list_new(origins, run)), list(list_others(origins, run))
    facets = _facets(run)
    need = _by_need(run)
    counts = Counter(row.grade for row in rows)
    row_html = environment.get_template("fleet_row.html")
    part_html = environment.get_template("fleet_part.html")
    document = environment.get_template("fleet.html").render(
        run=run, headline=headline(run), tiles=_tiles(run), failed=[each for each in run.repositories if not each.findings],
        rows=[rows[at] for at in need], parts=[parts[at] for at in need], few=len(parts) <= _FEW, listings_first=first,
        listings=rest, pictures=draw_findings(origins, run, lines), style=style, script=script,
        policy=policy(style, script), mode="plain" if plain else "script",
        grades=[(each.value, GRADE_TONES[each], counts[each.value]) for each in SkillGrade if counts[each.value]],
        links=_links(run, first, rest),
        **{f"{name}s": [(each, f"{each or 'nobody'} ({len(at):,})") for each, at in own.items()] for name, own in facets.items()},
    )  # fmt: skip
    if plain:
        return with_data(document, None)
    made = [row_html.render(row=row) for row in rows] + [part_html.render(part=part) for part in parts]
    listed, packed = pack(made)
    return with_data(
        document,
        {
            "list": listed, "rows": packed[: len(rows)], "parts": packed[len(rows) :], "tables": {}, "keys": _keys(rows, need),
            "facets": facets, "grades": [row.grade for row in rows], "paths": [row.name for row in rows],
            "places": [row.place for row in rows], "few": len(parts) <= _FEW, "noun": ["repository", "repositories"],
        },
    )  # fmt: skip


_FEW = 12


def _links(run: FleetRun, first: Sequence[FleetListing], rest: Sequence[FleetListing]) -> list[tuple[str, str]]:
    """The ids of the parts in their order, and what the navigation calls them."""
    return [
        *([("reasons", "Why it fails")] if run.reasons else []),
        *([("failed", "Not checked")] if run.total.failed else []),
        ("overview", "Repositories"),
        *((each.id, each.title) for each in first),
        ("trends", "Trends"),
        *((each.id, each.title) for each in rest),
        ("skills", "Repository by repository"),
        *([("notes", "Notes")] if run.notes else []),
    ]


def _tiles(run: FleetRun) -> tuple[FleetTile, ...]:
    total = run.total
    new, found = total.new, total.findings
    active = sum(each.status == "active" for each in run.waivers)
    fixed = f"{count_of(total.fixed.total, 'finding')} fixed, in {total.compared:,} of {total.repositories:,} compared."
    return (
        FleetTile(
            "Repositories", "failed" if total.failed else "overview", "bad" if total.failed else "good",
            f"{total.failed:,} not checked" if total.failed else "all checked",
            f"{checked_of(total)}: {total.linted:,} linted now, {total.unchanged:,} unchanged.",
        ),
        FleetTile(
            "New since last time", "new" if new.total else "overview",
            "unknown" if not total.compared else "bad" if new.error else "warn" if new.warning else "good",
            new_text(total) if total.compared else "not known", fixed if total.compared else "Nothing to compare with yet.",
        ),
        FleetTile(
            "Findings", "overview", "bad" if found.error else "warn" if found.warning else "good",
            count_of(found.error, "error"),
            f"{count_of(found.warning, 'warning')} and {found.info:,} of information, in {count_of(total.skills, 'skill')}.",
        ),
        FleetTile(
            "Waivers", "waivers" if run.waivers else "overview",
            "warn" if total.expired or total.unused else "good" if run.waivers else "unknown",
            f"{total.expired:,} expired" if total.expired else f"{total.unused:,} unused" if total.unused
            else f"{active:,} active" if run.waivers else "none",
            f"{count_of(total.waived, 'finding')} waived by {count_of(active, 'waiver')}.",
        ),
        FleetTile(
            "Shared", next((name for name in ("copies", "near", "namesakes") if getattr(run, name)), "overview"),
            "warn" if run.copies or run.near or run.namesakes else "good",
            f"{len(run.copies) + len(run.near):,} shared", f"{len(run.copies):,} copied to several repositories, "
            f"{len(run.near):,} nearly the same, {count_of(len(run.namesakes), 'name')} for different skills.",
        ),
    )  # fmt: skip


def _grade(each: FleetRepository) -> SkillGrade:
    return each.findings.grade if each.findings else SkillGrade.NOT_MEASURED


def _by_need(run: FleetRun) -> list[int]:
    """The places of the repositories: what could not be checked first, then the worst."""

    def need(at: int) -> tuple[int, int, int, int, str]:
        each = run.repositories[at]
        found = each.findings
        if found is None:
            return -1, 0, 0, 0, each.name
        new = sum(one.n for one in found.change.new if one.severity == "error") if found.change else 0
        return TONES.index(GRADE_TONES[found.grade]), -new, -found.counts.error, -found.counts.warning, each.name

    return sorted(range(len(run.repositories)), key=need)


def _row(origins: Origins, each: FleetRepository, owners: str) -> FleetRow:
    found, grade, trend = each.findings, _grade(each), each.trend
    basic = {
        "name": each.name, "place": _place(each), "grade": grade.value, "tone": GRADE_TONES[grade],
        "status": STATUS[each.status], "owners": owners or each.owner, "source": each.source,
    }  # fmt: skip
    numbers = "skills score change errors warnings new fixed waived baselined ignored".split()
    if found is None:
        return FleetRow(**basic, **dict.fromkeys(numbers, _NOTHING), since="", why="")  # type: ignore[arg-type]
    change = _NOTHING
    if trend and trend.score is not None and trend.score_before is not None:
        by = trend.score - trend.score_before
        change = PageCell(signed_score(by), by, origins.of(trend, "score"))
    new, fixed = (_sum(origins, found, name) for name in ("new", "fixed"))
    return FleetRow(
        **basic, skills=count(origins, found, "skills"), score=score(origins, found, "score"), change=change,  # type: ignore[arg-type]
        since=trend.since if trend else "", errors=count(origins, found.counts, "error"),
        warnings=count(origins, found.counts, "warning"), new=new, fixed=fixed, why=found.incomparable,
        waived=count(origins, found, "waived"), baselined=count(origins, found, "baselined"),
        ignored=count(origins, found, "ignored"),
    )  # fmt: skip


def _owners(run: FleetRun, name: str) -> str:
    return list_some([each.name for each in run.owners if each.name and name in each.repositories])


def _place(each: FleetRepository) -> str:
    return anchor(f"{each.name}")


def _sum(origins: Origins, found: RepositoryFindings, name: str) -> PageCell:
    if found.change is None:
        return _NOTHING
    every: tuple[ChangedFinding, ...] = getattr(found.change, name)
    n = sum(each.n for each in every)
    worst = min((each.severity for each in every), key=severity_rank, default="info")
    tone: Tone | Literal[""] = SEVERITIES[worst] if name == "new" and worst != "info" else ""
    return PageCell(f"{n:,}", n, origins.of(found.change, name), tone)


def _keys(rows: Sequence[FleetRow], need: Sequence[int]) -> dict[str, list[float | None]]:
    """What each column sorts by, in the order of the rows."""
    places = {at: place for place, at in enumerate(need)}
    names = sorted(range(len(rows)), key=lambda at: rows[at].name.casefold())
    by_name = {at: place for place, at in enumerate(names)}

    def values(name: str) -> list[float | None]:
        found = (getattr(row, name).value for row in rows)
        return [value if isinstance(value, int | float) else None for value in found]

    return {
        "verdict": [places[at] for at in range(len(rows))], "skill": [by_name[at] for at in range(len(rows))],
        "skills": values("skills"), "score": values("score"), "errors": values("errors"), "warnings": values("warnings"),
        "new": values("new"), "hidden": values("waived"),
    }  # fmt: skip


def _facets(run: FleetRun) -> dict[str, dict[str, list[int]]]:
    """The places of the repositories by owner and by rule."""
    at = {each.name: place for place, each in enumerate(run.repositories)}
    rules: dict[str, set[int]] = {}
    for each in run.repositories:
        for rule in each.findings.rules if each.findings else ():
            rules.setdefault(rule.code, set()).add(at[each.name])
    return {
        "owner": {each.name: [at[name] for name in each.repositories] for each in run.owners if each.name},
        "rule": {code: sorted(rules[code]) for code in sorted(rules)},
    }


def _part(origins: Origins, each: FleetRepository) -> FleetPart:
    found, grade = each.findings, _grade(each)
    facts = [("Source", each.source)]
    facts += [
        (name, value)
        for name, value in (("Branch", each.branch), ("Folder", each.folder), ("Owner", each.owner))
        if value
    ]
    if each.last:
        facts.append(("Last linted", f"{each.last[:16].replace('T', ' ')} UTC"))
    tables: list[FleetListing] = []
    if found:
        dirty = {True: ", with changes that are not committed", False: "", None: ""}[found.dirty]
        facts.append(("Commit", f"{found.commit[:12]}{dirty}" if found.commit else "none"))
        facts.append(("Configuration", found.configured or "the defaults"))
        facts.append(("Skills", ", ".join(one.grade.predicate(one.skills) for one in found.grades) or "none"))
        if found.incomparable:
            facts.append(("Since last time", f"not known: {found.incomparable}"))
        tables = list(list_repository(origins, found))
    return FleetPart(
        each.name, _place(each), grade.value, GRADE_TONES[grade], each.source, each.error, tuple(facts), tuple(tables),
        found.notes if found else (),
    )  # fmt: skip
