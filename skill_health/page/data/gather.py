"""From a collection and its reports to everything that the page shows: read and joined here, drawn elsewhere."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from statistics import median
from typing import Any, Final

from skill_health.config.settings import Config
from skill_health.core.files import is_there, read_limited
from skill_health.core.forks import processors
from skill_health.core.strict_json import escape_surrogates, plain_values
from skill_health.daily.risks import read_last_rated
from skill_health.daily.today import check_today
from skill_health.discovery.changes import Revision
from skill_health.discovery.hosts import FULL, NAME_ONLY, OMITTED, TRUNCATED, Catalog, hosts, simulate
from skill_health.documents._foreign import read_record
from skill_health.documents._record import RecordType, map_values, record_values
from skill_health.documents.activation_history import read_activation_history
from skill_health.documents.activation_report import ActivationReport
from skill_health.documents.daily_run import DailyRun
from skill_health.documents.effect_configurations import CONFIGURATIONS, EffectConfigurations
from skill_health.documents.effect_report import EffectReport
from skill_health.documents.needs_report import NeedsReport
from skill_health.documents.page_data import (
    ClaimAges,
    CollectionSource,
    HostListing,
    PageData,
    PageState,
    SkillClaims,
    SkillListings,
)
from skill_health.documents.router_curve import CURVE, RouterCurve
from skill_health.documents.router_report import RouterReport
from skill_health.formats.json import build_lint_document
from skill_health.lint.pipeline import LintResult
from skill_health.needs.collection import KeptNeeds, needs_of_collection, needs_report
from skill_health.page.data.changes import changes, read_state, state, with_basis
from skill_health.page.data.histories import daily_history, effect_history, marks, router_history, trends
from skill_health.page.data.source import read_source
from skill_health.page.model import Page, SkillVerdict
from skill_health.page.verdict.answers import answer_questions
from skill_health.page.verdict.verdicts import due_skills, verdict
from skill_health.registries.records import Registries, Review, reviews
from skill_health.skill.measure import estimate_tokens
from skill_health.status.join import JoinedRecords, read_joined
from skill_health.status.next_steps import CommandBuilder
from skill_health.status.render import CollectionStatus, build_status_record


def claims(result: LintResult, paths: Sequence[str], config: Config, as_of: date) -> ClaimAges | None:
    """The ages of the claims; None where the collection has no registry of them.

    A claim belongs to the skill of its owner's name; where several skills share the name, to none of them.
    """
    registries = result.registries or Registries()
    if registries.claims is None:
        return None
    known = reviews(registries, config.volatility, as_of)
    times = Counter(facts["summary"]["name"] for facts in result.facts.values())
    owned: dict[str, list[Review]] = {}
    for each in known:
        owned.setdefault(each.owner, []).append(each)
    skills = {}
    for path in paths:
        name = result.facts[path]["summary"]["name"]
        own = owned.get(name, []) if times[name] == 1 else []
        middle = median(_age(each, as_of) for each in own) if own else None
        skills[escape_surrogates(path)] = SkillClaims(**_ages(own, config, as_of), median_days=middle)
    return ClaimAges(skills=skills, **_ages(known, config, as_of))


def _ages(own: Sequence[Review], config: Config, as_of: date) -> dict[str, Any]:
    return {
        "claims": len(own),
        "stale": sum(each.overdue > 0 for each in own),
        "due": sum(-config.daily.due_days <= each.overdue <= 0 for each in own),
        "oldest_days": max((_age(each, as_of) for each in own), default=None),
    }


def _age(each: Review, as_of: date) -> int:
    """Days since the last look; negative for a look that is dated later than the day that is judged."""
    return as_of.toordinal() - each.reviewed.toordinal()


def listing(result: LintResult, paths: Sequence[str], config: Config) -> SkillListings:
    """What hosts spend on listing the skills at `paths` and those that stand beside them.

    A host loads the skills of one folder together, so that there is one entry for each host and folder.
    """
    groups: dict[str, dict[str, Mapping[str, Any]]] = {}
    for path in sorted(result.facts):
        groups.setdefault(_group(path), {})[path] = result.facts[path]["summary"]
    asked, wanted = {_group(path) for path in paths}, set(paths)
    shown: list[HostListing] = []
    short: dict[str, list[str]] = {}
    for group, skills in sorted(groups.items()):
        listed = {path: own for path, own in skills.items() if not own["hidden"]}
        pairs = [(escape_surrogates(own["name"]), escape_surrogates(own["description"])) for own in listed.values()]
        for host in hosts(config.listing) if group in asked and pairs else ():
            catalog = simulate(pairs, host)
            shown.append(_entry(catalog, group))
            cut = (path for path, entry in zip(listed, catalog.skills, strict=True) if entry.state != FULL)
            short.setdefault(host.key, []).extend(escape_surrogates(path) for path in cut if path in wanted)
    tokens = {escape_surrogates(path): _tokens(result.facts[path]["summary"]) for path in paths}
    return SkillListings(
        hosts=tuple(shown), skills=tokens, short={key: tuple(sorted(found)) for key, found in short.items() if found}
    )


def _group(path: str) -> str:
    """The folder that holds the skill's folder."""
    return escape_surrogates(path.rpartition("/")[0].rpartition("/")[0] or ".")


def _entry(catalog: Catalog, group: str) -> HostListing:
    host = catalog.host
    return HostListing(
        key=host.key, title=host.title, group=group, unit=host.unit, limit=host.limit if host.limit > 0 else None,
        wanted=catalog.wanted, used=catalog.used, shown_tokens=catalog.tokens, skills=len(catalog.skills),
        full=catalog.count(FULL), truncated=catalog.count(TRUNCATED), name_only=catalog.count(NAME_ONLY),
        omitted=catalog.count(OMITTED),
    )  # fmt: skip


def _tokens(own: Mapping[str, Any]) -> int | None:
    if own["hidden"]:
        return None
    return estimate_tokens(f"- {own['name']}: {' '.join(own['description'].split())}\n")


REPORT = "report.json"
_MOST_RUNS = 40
_MOST_WORDS = 200
_MOST_REPORT, _MOST_ALL = 48 << 20, 96 << 20
"""Bytes of one report and of all of a kind: read, they take ten times as many in memory."""


def router_reports(folder: str, status: CollectionStatus) -> tuple[tuple[RouterReport, ...], tuple[str, ...]]:
    """The reports of the router's runs that the status uses, the latest first, and what could not be read."""
    runs = ((each.time, each.run_id) for each in (status.routed.models if status.routed else ()))
    return _reports(folder, "router", runs, RouterReport, lambda report: report.run.run_id)


def effect_reports(folder: str, status: CollectionStatus) -> tuple[tuple[EffectReport, ...], tuple[str, ...]]:
    """The reports of the effectiveness benchmark's runs, likewise."""
    found = status.effects
    runs = (
        [*((each.time, each.run_id) for each in found.lines), *((each.time, each.run_id) for each in found.composed)]
        if found
        else []
    )
    return _reports(folder, "effectiveness", runs, EffectReport, lambda report: report.run_id)


def activation_reports(folder: str) -> tuple[tuple[ActivationReport, ...], tuple[str, ...]]:
    """The reports of the activation runs that are the last of an agent, and what could not be read."""
    history = read_activation_history(folder)
    runs = ((line.time, line.run_id) for line in history.lines)
    found, notes = _reports(folder, "activation", runs, ActivationReport, lambda report: report.run_id)
    return found, (*history.problems, *notes)


def _reports(
    folder: str,
    benchmark: str,
    runs: Iterable[tuple[str, str]],
    kind: type[RecordType],
    run_of: Callable[[RecordType], str | None],
) -> tuple[tuple[RecordType, ...], tuple[str, ...]]:
    found: list[RecordType] = []
    notes: list[str] = []
    latest = list(dict.fromkeys(run for _, run in sorted(runs, reverse=True)))
    room = _MOST_ALL
    for run in latest[:_MOST_RUNS]:
        size, report = _report(os.path.join(folder, benchmark, run, REPORT), kind, room)
        room -= size
        problem = report if isinstance(report, str) else "is that of another run" if run_of(report) != run else ""
        if isinstance(report, str) or problem:
            notes.append(f"{benchmark}/{run}/{REPORT} {problem}: its figures are not shown")
        else:
            found.append(report)
    if len(latest) > _MOST_RUNS:
        notes.append(f"of {len(latest)} runs of {benchmark} the last {_MOST_RUNS} are shown in full")
    return tuple(found), tuple(notes)


def _report(path: str, kind: type[RecordType], room: int) -> tuple[int, RecordType | str]:
    """The bytes of a report that were read, and the report or what is wrong with it."""
    try:
        raw = read_limited(path, min(_MOST_REPORT, room))
    except OSError as error:
        return 0, "is not there" if isinstance(error, FileNotFoundError) else "cannot be read"
    if raw is None:
        return 0, "is too large"
    try:
        return len(raw), read_record(raw, kind)
    except ValueError as error:
        return len(raw), f"is damaged or breaks its schema ({str(error)[:_MOST_WORDS]})"


def saved_configurations(folder: str) -> tuple[EffectConfigurations | None, tuple[str, ...]]:
    """The configurations that were saved in a folder of reports, and what is wrong with them; None where none were."""
    path = os.path.join(folder, CONFIGURATIONS)
    if not is_there(path, links=False):
        return None, ()
    _, found = _report(path, EffectConfigurations, _MOST_REPORT)
    if isinstance(found, str):
        return None, (f"{CONFIGURATIONS} {found}: its figures are not shown",)
    return found, ()


def saved_curve(folder: str) -> tuple[RouterCurve | None, tuple[str, ...]]:
    """The router's curve that was saved in a folder of reports, and what is wrong with it; None where none was."""
    path = os.path.join(folder, CURVE)
    if not is_there(path, links=False):
        return None, ()
    _, found = _report(path, RouterCurve, _MOST_REPORT)
    if isinstance(found, str):
        return None, (f"{CURVE} {found}: its figures are not shown",)
    return found, ()


SCHEMA: Final = "skill-health/page/1"
TITLE = "Skill health"
_MOST_STATE = 4 << 20


def read_page(
    paths: Sequence[str],
    root: str,
    config: Config,
    as_of: date,
    folder: str,
    jobs: int,
    use_cache: bool,
    base: str = "",
    last: str = "",
    title: str = TITLE,
    kept: KeptNeeds | None = None,
) -> Page:
    """Everything that is known of the skills that `paths` name.

    `folder` holds the reports, `base` is the folder that the page is written to, and `last` the page that is to be
    replaced, from which the state to compare with is read ("" for none). What skills need is not
    looked for again as far as it is `kept`. Raises UsageError as `lint` does, and for
    a history that cannot be read; whatever the histories, the reports and the last page hold costs a note at most.
    """
    asked = [os.path.relpath(os.path.realpath(path), root).replace(os.sep, "/") for path in paths]
    joined = read_joined(paths, root, config, as_of, folder, jobs, use_cache, read_last_rated(folder)[0])
    # Seen from the root, commands are the same on any machine and from any folder that the page is made in.
    status = replace(joined.status, place=CommandBuilder(tuple(asked)))
    histories = (daily_history(folder), router_history(folder), effect_history(folder))
    (history, _), (routes, _), (helped, _) = histories
    reports = (router_reports(folder, status), effect_reports(folder, status), activation_reports(folder))
    (router, _), (effects, _), (activation, _) = reports
    configurations, unread = saved_configurations(folder) if folder else (None, ())
    curve, bent = saved_curve(folder) if folder else (None, ())
    old, wrong = _last_state(last) if last else (None, ())
    source = read_source(root)
    title = source.name or title if title == TITLE else title
    verdicts = {escape_surrogates(each.path): verdict(each, status.place) for each in status.records}
    answers = answer_questions(status, joined.report, config, effects)
    own = _own(joined, asked, config, as_of, history, verdicts, answers, title, old, source)
    further = [note for _, some in (*histories, *reports) for note in some]
    return Page(
        title=title,
        version=status.version,
        as_of=as_of.isoformat(),
        status=map_values(build_status_record(status), plain_values),
        lint=map_values(build_lint_document(joined.report), plain_values),
        history=history,
        router_history=routes,
        effect_history=helped,
        router=router,
        effects=effects,
        own=own,
        verdicts=verdicts,
        answers=answers,
        due=due_skills(status, joined.report),
        notes=tuple(
            dict.fromkeys(escape_surrogates(note) for note in (*status.notes, *further, *unread, *bent, *wrong))
        ),
        folder=os.path.abspath(folder) if folder else "",
        base=os.path.abspath(base) if base else "",
        configurations=configurations,
        needs=_needs(joined, jobs, kept),
        activation=activation,
        curve=curve,
        lost=status.lost,
    )


def _needs(joined: JoinedRecords, jobs: int, kept: KeptNeeds | None) -> NeedsReport:
    """What the skills of the page need, and no others."""
    shown = {each.path for each in joined.status.records}
    entries = [each for each in joined.result.entries if each.path in shown]
    # One that keeps what it found lives on with threads of its own, which a fork would cut in two.
    found = needs_of_collection(joined.result.root, entries, 1 if kept else jobs or processors(), kept)
    return map_values(needs_report(found), plain_values)


def _last_state(last: str) -> tuple[PageState | None, tuple[str, ...]]:
    """The state that the last page keeps. What it holds goes into this page again, so it may not be of any length."""
    old, wrong = read_state(last)
    if old is None or len(json.dumps(record_values(old))) <= _MOST_STATE:
        return old, wrong
    return None, ("the state in the last page is too long: what has changed since is not known",)


def _own(
    joined: JoinedRecords,
    asked: Sequence[str],
    config: Config,
    as_of: date,
    history: Sequence[DailyRun],
    verdicts: Mapping[str, SkillVerdict],
    answers: Mapping[int, SkillVerdict],
    title: str,
    old: PageState | None,
    source: CollectionSource,
) -> PageData:
    """What only the page knows."""
    records = {escape_surrogates(each.path): each for each in joined.status.records}
    skills = [each.path for each in joined.status.records]
    now = _line(joined, asked, config, as_of)
    listed = listing(joined.result, skills, config)
    aged = claims(joined.result, skills, config, as_of)
    day, version = as_of.isoformat(), joined.status.version
    kept = with_basis(state(records, verdicts, listed.skills, aged, day, version), old)
    return PageData(
        schema=SCHEMA,
        version=version,
        title=title,
        as_of=day,
        source=source,
        descriptions={
            escape_surrogates(path): escape_surrogates(str(joined.result.facts[path]["summary"]["description"]))
            for path in skills
        },
        listing=listed,
        claims=aged,
        trends=trends(history, now),
        marks=marks(history, now.paths, config.daily.max_drop),
        verdicts={path: each.record for path, each in verdicts.items()},
        answers={str(question): each.record for question, each in answers.items()},
        changes=changes(kept),
        state=kept,
    )


def _line(joined: JoinedRecords, asked: Sequence[str], config: Config, as_of: date) -> DailyRun:
    """The line that a daily run of now would write; findings that a baseline knows are among it there too."""
    time = f"{as_of.isoformat()}T00:00:00Z"
    line = check_today(joined.whole, joined.result, config, as_of, time, asked, Revision()).line
    return map_values(line, plain_values)


def render(page: Page) -> str:
    """The document as text: keys in a fixed order, ASCII only, no absolute path."""
    return json.dumps(record_values(page.own), indent=1, ensure_ascii=True, allow_nan=False) + "\n"
