"""The parts of the fleet page that are tables: what is new, waivers, owners, and what repositories share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from skill_health.documents.fleet_run import (
    ChangedFinding,
    FleetNamesake,
    FleetOwner,
    FleetRun,
    FleetWaiver,
    NearCopy,
    RepositoryFindings,
    RuleTotal,
    SharedText,
    SkillPlace,
)
from skill_health.fleet.compare import severity_rank
from skill_health.fleet.render import place_text
from skill_health.page.figures import count, share, text_cell
from skill_health.page.model import NumberTable, Origins, PageCell, Tone
from skill_health.text.near import list_some

_MOST = 300
"""Rows of a list; the record has all."""
_MOST_PLACES = 6
SEVERITIES: Mapping[str, Tone] = {"error": "bad", "warning": "warn", "info": "unknown"}
"""The tone of a severity, the worst first."""
_STATES: Mapping[str, Tone] = {"expired": "bad", "unused": "warn", "unknown": "unknown", "active": "good"}
_FINDING = ("Finding", "Severity", "Where", "How many", "Owners")
_Item = TypeVar("_Item")
_Cells = tuple[PageCell, ...]


class FleetListing(NamedTuple):
    """A part that is one table: its id and title, what it is about, and how many rows are left out."""

    id: str
    title: str
    lead: str
    table: NumberTable
    more: int


def _listing(
    id_: str, title: str, lead: str, head: tuple[str, ...], every: Sequence[_Item], cells: Callable[[_Item], _Cells]
) -> FleetListing:
    rows = tuple(cells(each) for each in every[:_MOST])
    return FleetListing(id_, title, lead, NumberTable(head, rows), max(0, len(every) - _MOST))


def list_new(origins: Origins, run: FleetRun) -> Iterator[FleetListing]:
    """What is new in all repositories, where anything is."""
    new = [
        (each.name, one)
        for each in run.repositories
        if each.findings and each.findings.change
        for one in each.findings.change.new
    ]
    if new:
        new.sort(key=lambda item: severity_rank(item[1].severity))
        yield _listing(
            "new", "New findings", "What was not there when its repository was last checked, or was waived until now.",
            ("Repository", *_FINDING), new, lambda item: (text_cell(item[0]), *_finding(origins, item[1])),
        )  # fmt: skip


def list_others(origins: Origins, run: FleetRun) -> Iterator[FleetListing]:
    """Waivers, owners, and what repositories share: each part where there is something in it."""
    if run.waivers:
        ranked = sorted(run.waivers, key=lambda each: [*_STATES].index(each.status))
        yield _listing(
            "waivers", "Waivers",
            "An expired waiver hides nothing: fix what it was about, or give it another end. An unused one can go.",
            ("Rule", "State", "Until", "Findings", "Repository", "Skill", "Reason"), ranked,
            lambda each: _waiver(origins, each),
        )  # fmt: skip
    if any(each.name for each in run.owners):
        owners = sorted(
            run.owners, key=lambda each: (-each.new.error, -each.findings.error, -each.findings.warning, each.name)
        )
        yield _listing(
            "owners", "Owners", "By CODEOWNERS, else by the fleet file. What several answer for counts for each of them.",
            ("Owner", "Skills", "Errors", "Warnings", "New", "Repositories"), owners, lambda each: _owner(origins, each),
        )  # fmt: skip
    if run.copies:
        yield _listing(
            "copies", "Copies", "The same SKILL.md in several repositories, byte for byte.",
            ("Skill", "Where", "Other files"), run.copies, _copy,
        )  # fmt: skip
    if run.near:
        yield _listing(
            "near", "Near copies",
            "Different texts that share 70 % of their passages or more: of each the closest one in another repository.",
            ("Skill", "Here", "And here", "Passages in common, %"), run.near, lambda each: _near(origins, each),
        )  # fmt: skip
    if run.namesakes:
        yield _listing(
            "namesakes", "Namesakes", "One name for different texts: who installs both does not know which one runs.",
            ("Name", "Where"), run.namesakes, _namesake,
        )  # fmt: skip


def list_repository(origins: Origins, found: RepositoryFindings) -> Iterator[FleetListing]:
    """What has changed in one repository, and its findings by rule."""
    if found.change:
        for name, title, every in (("new", "New", found.change.new), ("fixed", "Fixed", found.change.fixed)):
            if every:
                ranked = sorted(
                    every, key=lambda each: (severity_rank(each.severity), each.skill, each.code, each.line)
                )
                yield _listing(name, title, "", _FINDING, ranked, lambda each: _finding(origins, each))
        moved = [(path, "added") for path in found.change.added] + [(path, "removed") for path in found.change.removed]
        if moved:
            yield _listing("skills", "Skills", "", ("Skill", "What"), moved, lambda item: (*map(text_cell, item),))
    if found.rules:
        head = ("Rule", "Severity", "Findings")
        yield _listing("rules", "Findings by rule", "", head, found.rules, lambda each: _rule(origins, each))


def _finding(origins: Origins, each: ChangedFinding) -> _Cells:
    return (
        text_cell(f"{each.code} {each.message}"), _severity(each.severity), text_cell(f"{each.path}:{each.line}"),
        count(origins, each, "n"), text_cell(list_some(each.owners) or "nobody"),
    )  # fmt: skip


def _severity(severity: str) -> PageCell:
    return PageCell(severity, severity, "", SEVERITIES[severity])


def _rule(origins: Origins, each: RuleTotal) -> _Cells:
    return text_cell(f"{each.code} {each.rule}"), _severity(each.severity), count(origins, each, "n")


def _waiver(origins: Origins, each: FleetWaiver) -> _Cells:
    return (
        text_cell(each.rule), PageCell(each.status, each.status, "", _STATES[each.status]), text_cell(each.until),
        count(origins, each, "findings"), text_cell(each.repository), text_cell(each.skill), text_cell(each.reason),
    )  # fmt: skip


def _owner(origins: Origins, each: FleetOwner) -> _Cells:
    return (
        text_cell(each.name or "nobody"), count(origins, each, "skills"), count(origins, each.findings, "error"),
        count(origins, each.findings, "warning"), PageCell(f"{each.new.total:,}", each.new.total, origins.of(each.new)),
        text_cell(list_some(each.repositories, _MOST_PLACES)),
    )  # fmt: skip


def _copy(each: SharedText) -> _Cells:
    words = {True: "the same", False: "differ", None: "not known"}
    return text_cell(each.places[0].name), text_cell(_places(each.places)), text_cell(words[each.whole])


def _near(origins: Origins, each: NearCopy) -> _Cells:
    places = text_cell(place_text(each.one)), text_cell(place_text(each.other))
    return (text_cell(each.one.name or each.one.path), *places, share(origins, each.shared))


def _namesake(each: FleetNamesake) -> _Cells:
    return text_cell(each.name), text_cell(_places(each.places))


def _places(places: Sequence[SkillPlace]) -> str:
    return list_some([*map(place_text, places)], _MOST_PLACES)
