"""States of repositories -> what is new in each, who answers for it, and what several of them share. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from skill_health.daily.drift import compare
from skill_health.documents.daily_run import DailyRun
from skill_health.documents.drift_report import FindingChange
from skill_health.documents.fleet_file import GivenWaiver
from skill_health.documents.fleet_line import FleetLine
from skill_health.documents.fleet_run import (
    ChangedFinding,
    FleetNamesake,
    FleetOwner,
    NearCopy,
    RepositoryChange,
    SeverityCounts,
    SharedText,
    SkillPlace,
)
from skill_health.documents.fleet_state import FleetSkill, FleetState, KeptFinding
from skill_health.fleet.sketch import find_near, unpack_sketch
from skill_health.fleet.waivers import apply_waivers
from skill_health.rules._api import Severity
from skill_health.rules.routing._groups import name_key

States = Mapping[str, FleetState]
"""The states of repositories by their names, without what waivers hide."""
_NAME = 200


def find_change(
    name: str, known: FleetState, now: FleetState, waivers: Sequence[GivenWaiver], last: FleetLine
) -> RepositoryChange:
    """What has changed in a repository since its last run: from what was `known` then, made by the same rules.

    Waivers are off `now` already. A finding that one hid then and hides no longer is new: nobody has been told of it.
    """
    before = apply_waivers(name, known, waivers, last.as_of).state
    drift = compare(_as_run(before), _as_run(now))
    return RepositoryChange(
        since=last.time, new=tuple(_changes(drift.new, now)), fixed=tuple(_changes(drift.fixed, before)),
        added=drift.added, removed=drift.removed,
    )  # fmt: skip


def _as_run(state: FleetState) -> DailyRun:
    """The run of a state with the findings that the state has left."""
    keys: dict[str, list[str]] = defaultdict(list)
    for finding in state.findings:
        keys[finding.skill].append(finding.key)
    skills = {path: replace(own, findings=tuple(sorted(keys.get(path, ())))) for path, own in state.run.skills.items()}
    return replace(state.run, skills=skills, other=tuple(sorted(keys.get("", ()))))


def _changes(found: Iterable[FindingChange], state: FleetState) -> Iterator[ChangedFinding]:
    """The findings with where the first of them is."""
    first: dict[tuple[str, str], KeptFinding] = {}
    for finding in state.findings:
        first.setdefault((finding.skill, finding.key), finding)
    for each in found:
        own = first[each.skill, each.key]
        skill = state.skills.get(each.skill)
        yield ChangedFinding(
            severity=own.severity, code=own.code, rule=own.rule, skill=own.skill, path=own.path, line=own.line,
            message=own.message, n=each.n, owners=skill.owners if skill else (),
        )  # fmt: skip


def count_findings(severities: Iterable[tuple[str, int]]) -> SeverityCounts:
    """How many there are of each severity."""
    counts: Counter[str] = Counter()
    for severity, n in severities:
        counts[severity] += n
    return SeverityCounts(error=counts["error"], warning=counts["warning"], info=counts["info"])


def sum_counts(counts: Iterable[SeverityCounts]) -> SeverityCounts:
    """Their sum."""
    every = list(counts)
    return SeverityCounts(
        error=sum(each.error for each in every), warning=sum(each.warning for each in every),
        info=sum(each.info for each in every),
    )  # fmt: skip


def find_fleet_owners(states: States, changes: Mapping[str, RepositoryChange]) -> tuple[FleetOwner, ...]:
    """Who answers for what, in the order of the names; what nobody answers for comes first, under no name."""
    skills: Counter[str] = Counter()
    homes: defaultdict[str, set[str]] = defaultdict(set)
    found: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    new: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for name, state in states.items():
        for own in state.skills.values():
            for owner in own.owners or ("",):
                skills[owner] += 1
                homes[owner].add(name)
        for finding in state.findings:
            skill = state.skills.get(finding.skill)
            for owner in (skill.owners if skill else ()) or ("",):
                homes[owner].add(name)
                found[owner].append((finding.severity, 1))
        for each in changes[name].new if name in changes else ():
            for owner in each.owners or ("",):
                new[owner].append((each.severity, each.n))
    return tuple(
        FleetOwner(
            name=owner, repositories=tuple(sorted(homes[owner])), skills=skills[owner],
            findings=count_findings(found[owner]), new=count_findings(new[owner]),
        )
        for owner in sorted(homes)
    )  # fmt: skip


def find_copies(states: States) -> tuple[SharedText, ...]:
    """Skills of several repositories whose SKILL.md is the same, each group once, by their first places."""
    found = []
    for places in _groups(states, lambda skill, _: skill.text):
        wholes = {states[each.repository].skills[each.path].whole for each in places}
        found.append(SharedText(places=places, whole=None if None in wholes else len(wholes) == 1))
    return tuple(found)


def find_namesakes(states: States) -> tuple[FleetNamesake, ...]:
    """Names that several repositories have for different texts. Case and Unicode form are ignored, as by hosts."""
    found = []
    for places in _groups(states, lambda _, name: name_key(name)):
        texts = {states[each.repository].skills[each.path].text for each in places}
        if len(texts) > 1 or None in texts:
            found.append(FleetNamesake(name=places[0].name, places=places))
    return tuple(found)


def _groups(states: States, key: Callable[[FleetSkill, str], str | None]) -> Iterator[tuple[SkillPlace, ...]]:
    """Skills of the same key that are in more than one repository."""
    found: defaultdict[str, list[SkillPlace]] = defaultdict(list)
    for place, skill in _places(states):
        if own := key(skill, place.name):
            found[own].append(place)
    for places in found.values():
        if len({each.repository for each in places}) > 1:
            yield tuple(places)


def _places(states: States) -> Iterator[tuple[SkillPlace, FleetSkill]]:
    """Every skill, in the order of the repositories and paths."""
    for name in sorted(states):
        state = states[name]
        for path in sorted(state.skills):
            own = state.run.skills.get(path)
            yield SkillPlace(repository=name, path=path, name=own.name[:_NAME] if own else ""), state.skills[path]


def find_near_copies(states: States) -> tuple[NearCopy, ...]:
    """Of each text the closest different one in another repository; copies of a text stand for one another."""
    places: dict[str, list[SkillPlace]] = defaultdict(list)
    skills: dict[str, FleetSkill] = {}
    for place, skill in _places(states):
        if skill.text:
            places[skill.text].append(place)
            skills.setdefault(skill.text, skill)
    texts = list(skills)
    homes = [frozenset(each.repository for each in places[text]) for text in texts]
    pairs = find_near([unpack_sketch(skills[text].sketch, skills[text].passages) for text in texts], homes)
    found = []
    for pair in pairs:
        one, other = next(
            (one, other)
            for one in places[texts[pair.one]]
            for other in places[texts[pair.other]]
            if one.repository != other.repository
        )
        found.append(NearCopy(one=one, other=other, shared=pair.shared))
    return tuple(found)


def severity_rank(severity: str) -> int:
    """Sorts findings by severity, the worst first."""
    return Severity(severity).rank
