"""Two states of a collection -> a `DeltaReport`: the work tree, and the commit where its branch left a revision.

Findings come from the gate, listings and routing from the catalogues of both states, and what was measured from the
joined records. Nothing is measured here that costs.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from skill_health import __version__
from skill_health.bench.collection import plain_name, read_collection
from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.discovery.corpus import discover
from skill_health.discovery.hosts import NAME_ONLY, OMITTED, TRUNCATED, Host, hosts, simulate
from skill_health.documents._record import NotedFigure
from skill_health.documents.delta_report import (
    DeltaCounts,
    DeltaFinding,
    DeltaMeasurement,
    DeltaPrompt,
    DeltaReport,
    DeltaSkill,
    ListingCost,
    ListingDelta,
    RoutingDelta,
)
from skill_health.documents.skill_record import SkillRecord
from skill_health.lint.gate.changes import ChangeSet, read_since
from skill_health.lint.gate.judge import Gate, GateResult
from skill_health.lint.gate.moves import find_moves
from skill_health.lint.gate.report import keep_below
from skill_health.lint.pipeline import configure
from skill_health.router.compare.comparable import changed_skills
from skill_health.router.hook import base_of, prompts_of_both, repository_of
from skill_health.router.hook import effect as edit_effect
from skill_health.router.inputs import NoPromptsError
from skill_health.router.listing import catalogue, collection_at
from skill_health.router.records import Catalogue
from skill_health.rules._api import Finding
from skill_health.skill.measure import estimate_tokens
from skill_health.skill.model import Skill
from skill_health.stats.intervals import wilson_interval
from skill_health.status.join import read_status

ROUTERS = ("lexical",)


@dataclass(frozen=True, slots=True)
class DeltaRequest:
    """What is compared: the skills that `paths` name, by the settings of `root`, with where the branch left `since`.

    `folder` holds the reports. `routers` are computed here; none of them asks a model.
    """

    paths: tuple[str, ...]
    root: str
    config: Config
    since: str
    as_of: date
    folder: str
    routers: tuple[str, ...] = ROUTERS
    prompts: tuple[str, ...] = ()
    jobs: int = 0
    use_cache: bool = True


@dataclass(slots=True)
class _State:
    """The skills of a state by their paths, and as they are listed; None where they cannot be."""

    skills: Mapping[str, Skill] = field(default_factory=dict)
    listed: Catalogue | None = None


def compare_states(request: DeltaRequest) -> DeltaReport:
    """The report.

    Raises UsageError outside a git repository, for a revision that it does not know, and as `lint` does.
    """
    root, config = request.root, request.config
    changes = read_since(root, request.since)
    repository = repository_of(root)
    base = base_of(repository, request.since)
    if base is None:
        raise UsageError("there is no commit yet, so there is nothing to compare with")
    notes: list[str] = []
    new, fixed = _judge(request, changes)
    inner = [os.path.relpath(os.path.realpath(path), root).replace(os.sep, "/") for path in request.paths]
    discovery = discover(request.paths, config, root)
    found = read_collection(discovery, config.router.namesakes)[1]
    now = _State({skill.path: skill for skill in found.skills})
    then = _State()
    try:
        now.listed = catalogue(found.skills, names=found.names)
    except UsageError as error:
        notes.append(f"the skills cannot be listed: {error}")
    with collection_at(root, config, base, inner) as (earlier, _):
        then.skills = {skill.path: skill for skill in earlier.skills}
        try:
            then.listed = catalogue(earlier.skills, names=earlier.names)
        except UsageError as error:
            notes.append(f"at {request.since} the skills cannot be listed: {error}")
    findings = [_finding(*each) for each in new.new], [_finding(*each) for each in fixed.new]
    skills = tuple(each for each in _skills(request, changes, then, now, *findings) if _is_named(each, inner))
    routing: tuple[RoutingDelta, ...] = ()
    if then.listed and now.listed and changed_skills(then.listed.shown, now.listed.shown):
        unread = "descriptions have changed, and there are no labelled prompts to route over both states"
        try:
            prompts = prompts_of_both(then.listed, now.listed, discovery, config, request.prompts)
        except NoPromptsError as error:
            prompts, unread = (), f"routing is not compared: {'; '.join(error.notes)}" if error.notes else unread
        except UsageError as error:
            # A label may be clear in one state only, as where a branch adds a skill of the same name.
            if request.prompts:
                raise
            prompts, unread = (), f"routing is not compared: {error}"
        if prompts:
            effects = [edit_effect(each, config.router, then.listed, now.listed, prompts) for each in request.routers]
            routing = tuple(
                RoutingDelta(
                    model=each.model,
                    before=_share(each.before, each.testable),
                    after=_share(each.after, each.testable),
                    untested=each.untested,
                    lost=tuple(
                        DeltaPrompt(
                            id=lost.prompt.prompt_id, prompt=lost.prompt.text, expected=lost.expected, now=lost.now
                        )
                        for lost in each.lost
                    ),
                    gained=each.gained,
                )
                for each in effects
            )
        else:
            notes.append(unread)
    measured: tuple[DeltaMeasurement, ...] = ()
    reused = 0
    if any(entry.target for entry in discovery.entries):
        measured, reused, lost = _measurements(request, {skill.path for skill in skills})
        notes += lost
    return DeltaReport(
        schema="skill-health/delta/1", version=__version__, since=request.since, base=base,
        head=repository.find_head() or None, skills=skills,
        total=DeltaCounts(before=len(then.skills), after=len(now.skills)),
        new=tuple(findings[0]), fixed=tuple(findings[1]), older=new.older,
        listing=tuple(_listings(then.listed, now.listed, config)), routing=routing, measurements=measured, reused=reused,
        notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip


def _judge(request: DeltaRequest, changes: ChangeSet) -> tuple[GateResult, GateResult]:
    """What is new and what is gone, in the root and in folders below it with settings of their own."""
    both = GateResult(changes.since), GateResult(changes.since)
    roots = changes.list_roots(request.root)
    for root in roots:
        config = request.config if root == request.root else configure((root,), None, {})[1]
        gate = Gate(root, config, request.as_of, request.jobs, request.use_cache)
        others = [other for other in roots if other != root]
        results = [
            keep_below(each, request.paths, root, others) for each in (gate.judge(changes), gate.judge_back(changes))
        ]
        below = "" if root == request.root else os.path.relpath(root, request.root).replace(os.sep, "/") + "/"
        both = _joined(both[0], results[0], below), _joined(both[1], results[1], below)
    return both


def _joined(one: GateResult, other: GateResult, below: str) -> GateResult:
    def placed(finding: Finding) -> Finding:
        skill = below + finding.skill if finding.skill else ""
        return finding._replace(path=below + finding.path, skill=skill)

    more = tuple((placed(finding), why) for finding, why in other.new)
    return one._replace(new=one.new + more, older=one.older + other.older)


def _finding(finding: Finding, cause: str) -> DeltaFinding:
    return DeltaFinding(
        code=finding.code, rule=finding.rule, severity=finding.severity.value, path=finding.path, line=finding.line,
        message=finding.message, help=finding.help, skill=finding.skill, cause=cause,
    )  # fmt: skip


def _skills(
    request: DeltaRequest, changes: ChangeSet, then: _State, now: _State, new: Sequence[DeltaFinding],
    fixed: Sequence[DeltaFinding],
) -> Iterator[DeltaSkill]:  # fmt: skip
    """The skills that the branch touches, in the order of their paths."""
    top = changes.repository.top
    inner = os.path.relpath(request.root, top).replace(os.sep, "/")
    prefix = "" if inner == "." else f"{inner}/"
    files = changes.every[0]
    earlier = changes.tree.changed(change.swapped() for change in files)
    moves = find_moves(earlier, changes.tree, files)
    came = {moves.follow(prefix + path).removeprefix(prefix): path for path in then.skills}
    folders = {skill.folder for skill in (*then.skills.values(), *now.skills.values())}
    paths = (change.path.removeprefix(prefix) for change in files if change.path.startswith(prefix))
    touched = set(filter(None, (_owner(path, folders) for path in paths)))
    counts = Counter(each.skill for each in new), Counter(each.skill for each in fixed)
    pairs = {path: came.get(path, "") for path in now.skills} | {
        path: path for path in then.skills if moves.follow(prefix + path).removeprefix(prefix) not in now.skills
    }
    for path, before in sorted(pairs.items()):
        was, is_now = then.skills.get(before), now.skills.get(path)
        known = is_now or was
        if known is None or not ({known.folder, was.folder if was else known.folder} & touched):
            continue
        kind = "removed" if is_now is None else "added" if was is None else "moved" if before != path else "changed"
        yield DeltaSkill(
            name=plain_name(known), path=path, kind=kind, before=before if kind == "moved" else "",  # type: ignore[arg-type]
            described=_entry(was) != _entry(is_now),
            entry=DeltaCounts(before=estimate_tokens(_entry(was)), after=estimate_tokens(_entry(is_now))),
            text=DeltaCounts(
                before=estimate_tokens(was.text) if was else 0, after=estimate_tokens(is_now.text) if is_now else 0
            ),
            new=counts[0][path], fixed=counts[1][before or path],
        )  # fmt: skip


def _is_named(skill: DeltaSkill, named: Iterable[str]) -> bool:
    """Whether one of the paths, relative to the root, is about a skill: its folder, one above it, or a file in it."""
    for place in named:
        for path in filter(None, (skill.path, skill.before)):
            folder = path.rpartition("/")[0]
            if place == "." or f"{folder}/".startswith(f"{place}/") or place.startswith(f"{folder}/"):
                return True
    return False


def _owner(path: str, folders: Iterable[str]) -> str | None:
    """The folder of the skill that a file is in; None where it is in none."""
    above = path.rpartition("/")[0]
    while above and above not in folders:
        above = above.rpartition("/")[0]
    return above if above in folders else None


def _entry(skill: Skill | None) -> str:
    """What a list shows of a skill."""
    return f"- {plain_name(skill)}: {' '.join(skill.description.split())}\n" if skill else ""


def _listings(then: Catalogue | None, now: Catalogue | None, config: Config) -> Iterator[ListingDelta]:
    if then is None or now is None:
        return
    for host in hosts(config.listing):
        yield ListingDelta(host=host.key, before=_cost(then, host), after=_cost(now, host))


def _cost(listed: Catalogue, host: Host) -> ListingCost:
    found = simulate([(skill.name, skill.description) for skill in listed.shown], host)
    return ListingCost(
        tokens=found.tokens, cut=found.count(TRUNCATED), names=found.count(NAME_ONLY), omitted=found.count(OMITTED)
    )


def _share(right: int, n: int) -> NotedFigure:
    if not n:
        return NotedFigure(
            value=None, low=None, high=None, n=0, clusters=0, note="no prompt that this router can judge"
        )
    low, high = wilson_interval(right, n)
    return NotedFigure(value=round(right / n, 6), low=round(low, 6), high=round(high, 6), n=n, clusters=n, note="")


def _measurements(request: DeltaRequest, touched: set[str]) -> tuple[tuple[DeltaMeasurement, ...], int, list[str]]:
    """Those of the skills that the branch touches, how many of the others still hold, and what could not be read."""
    status = read_status(
        request.paths, request.root, request.config, request.as_of, request.folder, request.jobs, request.use_cache
    )
    found, reused = [], 0
    for record in status.records:
        if record.path in touched:
            found += list(_of_record(record))
        else:
            reused += sum(each.changed is False for each in record.routing.models)
            reused += sum(each.changed is False for each in record.effect.models)
    return tuple(found), reused, [note for part in (status.routed, status.effects) if part for note in part.problems]


def _of_record(record: SkillRecord) -> Iterator[DeltaMeasurement]:
    for routed in record.routing.models:
        yield DeltaMeasurement(
            skill=record.path, question="routing", model=routed.model, run_id=routed.run_id, time=routed.time,
            simulated=routed.simulated, figure=routed.recall, verdict="", outdated=routed.changed,
        )  # fmt: skip
    for effect in record.effect.models:
        yield DeltaMeasurement(
            skill=record.path, question="effect", model=effect.model, run_id=effect.run_id, time=effect.time,
            simulated=effect.simulated, figure=effect.delta, verdict=str(effect.verdict), outdated=effect.changed,
        )  # fmt: skip
