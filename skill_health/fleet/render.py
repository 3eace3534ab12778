"""A run over a fleet as blocks: text for a terminal, and a summary in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from skill_health.documents.fleet_run import (
    ChangedFinding,
    FleetOwner,
    FleetRepository,
    FleetRun,
    FleetTotal,
    FleetTrend,
    NearCopy,
    SkillPlace,
    WaiverStatus,
)
from skill_health.fleet.compare import severity_rank
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock
from skill_health.text.near import list_some
from skill_health.text.numbers import NOTHING, count, with_interval

_MOST = 60
"""Entries of a list; the record has all."""
_PLACES = 4
STATUS = {"checked": "linted", "unchanged": "unchanged", "failed": "not checked"}
"""What a status is called."""


def fleet_blocks(run: FleetRun) -> Iterator[Block]:
    """The verdict first, then what needs somebody, then the rest."""
    yield TitleBlock(run.title, 1)
    yield Sentence(headline(run), strong=True)
    if run.reasons:
        yield Items([*run.reasons], most=_MOST)
    failed = [f"{each.name}: {each.error}{_last(each)}" for each in run.repositories if each.findings is None]
    if failed:
        yield TitleBlock(f"Not checked ({len(failed)})", 3)
        yield Items(failed, most=_MOST)
    yield TitleBlock("Repositories", 3)
    yield Table(
        ("repository", "owner", "skills", "score", "errors", "warnings", "new", "fixed", "waived", "since", ""),
        [_row(each) for each in run.repositories],
        most=_MOST,
    )
    yield from _changes("New findings", [(each.name, new) for each, new in _pairs(run, "new")])
    yield from _changes("Fixed findings", [(each.name, old) for each, old in _pairs(run, "fixed")])
    yield from _waivers(run)
    yield from _owners(run.owners)
    yield from _shared(run)
    notes = [f"{each.name}: {note}" for each in run.repositories if each.findings for note in each.findings.notes]
    if run.notes or notes:
        yield TitleBlock("Notes", 3)
        yield Items([*run.notes, *notes], most=20)
    yield Sentence(f"{run.time}, skill-health {run.version}; fails on {run.fail_on.value}")


def headline(run: FleetRun) -> str:
    """One sentence on the whole."""
    total = run.total
    parts = [
        f"{count(total.skills, 'skill')} in {checked_of(total)}",
        f"{count(total.findings.error, 'error')} and {count(total.findings.warning, 'warning')}",
        new_text(total),
    ]
    if total.expired:
        parts.append(f"{count(total.expired, 'waiver')} expired")
    verdict = "Fails" if run.reasons else "Incomplete" if total.failed else "Passes"
    return f"{verdict}: {', '.join(parts)}."


def checked_of(total: FleetTotal) -> str:
    """How many repositories are known, and of how many."""
    known = total.repositories - total.failed
    of = f"{known:,} of " if total.failed else ""
    return f"{of}{total.repositories:,} {'repository' if total.repositories == 1 else 'repositories'}"


def new_text(total: FleetTotal) -> str:
    """How many findings are new, or that nothing could be compared."""
    if not total.compared:
        return "nothing to compare with yet"
    new = total.new
    told = [
        count(n, f"new {word}") for n, word in ((new.error, "error"), (new.warning, "warning"), (new.info, "info")) if n
    ]
    return ", ".join(told) or "nothing new"


def change_text(trend: FleetTrend | None) -> str:
    """How the score has moved, and since when."""
    if trend is None or trend.score is None or trend.score_before is None:
        return NOTHING
    return f"{signed_score(trend.score - trend.score_before)} since {trend.since[:10]}"


def signed_score(value: float) -> str:
    """A difference of scores; one that rounds to nothing has no sign."""
    text = f"{value:+.2f}"
    return "0.00" if float(text) == 0 else text


def place_text(place: SkillPlace) -> str:
    """Where a skill is."""
    return f"{place.repository}: {place.path}"


def _last(each: FleetRepository) -> str:
    return f" (last linted {each.last[:10]})" if each.last else ""


def _row(each: FleetRepository) -> tuple[str, ...]:
    found = each.findings
    if found is None:
        return each.name, each.owner, *[NOTHING] * 8, STATUS[each.status]
    change = found.change
    return (
        each.name, each.owner, f"{found.skills:,}", NOTHING if found.score is None else f"{found.score:.2f}",
        f"{found.counts.error:,}", f"{found.counts.warning:,}", _number(change.new if change else None),
        _number(change.fixed if change else None), f"{found.waived:,}", change_text(each.trend), STATUS[each.status],
    )  # fmt: skip


def _number(found: Sequence[ChangedFinding] | None) -> str:
    return NOTHING if found is None else f"{sum(each.n for each in found):,}"


def _pairs(run: FleetRun, name: str) -> Iterator[tuple[FleetRepository, ChangedFinding]]:
    for each in run.repositories:
        if each.findings and each.findings.change:
            yield from ((each, one) for one in getattr(each.findings.change, name))


def _changes(title: str, found: Sequence[tuple[str, ChangedFinding]]) -> Iterator[Block]:
    if not found:
        return
    yield TitleBlock(f"{title} ({sum(each.n for _, each in found):,})", 3)
    ranked = sorted(found, key=lambda item: severity_rank(item[1].severity))
    yield Items([finding_text(name, each) for name, each in ranked[:_MOST]])
    yield from _more(found, "findings")


def finding_text(name: str, each: ChangedFinding) -> str:
    """A finding on one line."""
    owners = f" ({', '.join(each.owners)})" if each.owners else ""
    times = f" ×{each.n}" if each.n > 1 else ""
    return f"{each.severity} {each.code} {name}: {each.path}:{each.line}: {each.message}{times}{owners}"


def _waivers(run: FleetRun) -> Iterator[Block]:
    if not run.waivers:
        return
    yield TitleBlock("Waivers", 3)
    yield Table(
        ("rule", "repository", "skill", "until", "findings", "", "reason"),
        [
            (each.rule, each.repository, each.skill, each.until, f"{each.findings:,}", each.status, each.reason)
            for each in sorted(run.waivers, key=lambda each: get_args(WaiverStatus).index(each.status))
        ],
    )


def _owners(owners: Sequence[FleetOwner]) -> Iterator[Block]:
    if not any(each.name for each in owners):
        return
    yield TitleBlock("Owners", 3)
    ranked = sorted(owners, key=lambda each: (-each.new.error, -each.findings.error, each.name))
    yield Table(
        ("owner", "repositories", "skills", "errors", "warnings", "new"),
        [
            (
                each.name or "nobody", f"{len(each.repositories):,}", f"{each.skills:,}", f"{each.findings.error:,}",
                f"{each.findings.warning:,}", f"{each.new.total:,}",
            )
            for each in ranked
        ],
        most=12,
    )  # fmt: skip


def _shared(run: FleetRun) -> Iterator[Block]:
    if run.copies:
        yield TitleBlock(f"The same skill in several repositories ({len(run.copies):,})", 3)
        whole = {True: "", False: "; other files differ", None: "; other files cannot be compared"}
        yield Items([f"{_list(each.places)}{whole[each.whole]}" for each in run.copies[:_MOST]])
        yield from _more(run.copies, "groups")
    if run.near:
        yield TitleBlock(f"Nearly the same skill in two repositories ({len(run.near):,})", 3)
        yield Items([near_text(each) for each in run.near[:_MOST]])
        yield from _more(run.near, "pairs")
    if run.namesakes:
        yield TitleBlock(f"Different skills of the same name ({len(run.namesakes):,})", 3)
        yield Items([f"{each.name}: {_list(each.places)}" for each in run.namesakes[:_MOST]])
        yield from _more(run.namesakes, "names")


def near_text(each: NearCopy) -> str:
    """Two near copies on one line."""
    share = with_interval(each.shared, ".0f", unit=" %")
    return f"{place_text(each.one)}; {place_text(each.other)}: {share} of their passages, n {each.shared.n:,}"


def _list(places: Sequence[SkillPlace]) -> str:
    return list_some([*map(place_text, places)], _PLACES)


def _more(every: Iterable[object], what: str) -> Iterator[Block]:
    rest = len(list(every)) - _MOST
    if rest > 0:
        yield Sentence(f"{rest:,} more {what} are in the record.")
