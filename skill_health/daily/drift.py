"""Two lines of a history -> what has changed between them. Pure: nothing but the lines is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from types import MappingProxyType
from typing import Protocol

from skill_health.documents.daily_run import DailyRun, DailySkill
from skill_health.documents.drift_report import (
    ChangedSkill,
    DriftedComponent,
    DriftNumber,
    EvidenceChange,
    FindingChange,
    FlaggedChange,
    RenamedSkill,
    RuleCountChange,
    SameSkills,
)
from skill_health.rules._api import Severity

# From the surest sign to the weakest.
_SIGNS: tuple[Callable[[DailySkill], Hashable], ...] = (
    lambda skill: (skill.name, skill.description) if skill.description else None,
    lambda skill: skill.description,
    lambda skill: skill.name,
)


def renames(before: Mapping[str, DailySkill], after: Mapping[str, DailySkill]) -> tuple[tuple[str, str], ...]:
    """The pairs of an earlier and a later path that are one skill, sorted by the later.

    A skill is taken for another that is gone where its name or its description is the same and no third skill, gone
    or come, shares it: a guess between two would be worse than none.
    """
    gone = {path: skill for path, skill in before.items() if path not in after}
    come = {path: skill for path, skill in after.items() if path not in before}
    pairs: list[tuple[str, str]] = []
    for sign in _SIGNS:
        old, new = _unique(gone, sign), _unique(come, sign)
        for value in old.keys() & new.keys():
            pairs.append((old[value], new[value]))
            del gone[old[value]], come[new[value]]
    return tuple(sorted(pairs, key=lambda pair: pair[1]))


def _unique(skills: Mapping[str, DailySkill], sign: Callable[[DailySkill], Hashable]) -> dict[Hashable, str]:
    """The paths by their sign, without signs that two skills share."""
    found: dict[Hashable, str] = {}
    shared = set()
    for path, skill in skills.items():
        value = sign(skill)
        if value in found:
            shared.add(value)
        found[value] = path
    return {value: path for value, path in found.items() if value is not None and value not in shared}


NO_SKILL = ""


class NumberChange(Protocol):
    """A number before and after. None: it was not known or did not apply, which is not zero."""

    @property
    def before(self) -> float | None:
        """What it was."""

    @property
    def after(self) -> float | None:
        """What it is."""


def rise(change: NumberChange) -> float | None:
    """By how much a number rose, to 4 decimals; None where one side is not known."""
    return None if change.before is None or change.after is None else round(change.after - change.before, 4)


@dataclass(frozen=True, slots=True)
class Drift:
    """All differences. `full` is False where only the skills and what hosts list of them could be compared.

    `before` is None on a first run. `skills` are those of both lines, changed or not, and `relisted` the paths of those
    for which hosts list another text now. `same` is the mean of the skills that both lines score. `new` and `fixed`
    count the findings of added and removed skills too. `stale` are the claims that are overdue now and were not,
    `reviewed` those that no longer are.
    """

    before: DailyRun | None
    after: DailyRun
    full: bool = False
    skills: tuple[ChangedSkill, ...] = ()
    relisted: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[RenamedSkill, ...] = ()
    same: SameSkills | None = None
    new: tuple[FindingChange, ...] = ()
    fixed: tuple[FindingChange, ...] = ()
    rules: tuple[RuleCountChange, ...] = ()
    stale: tuple[str, ...] = ()
    reviewed: tuple[str, ...] = ()


def compare(
    before: DailyRun, after: DailyRun, full: bool = True, notes: Mapping[str, Mapping[str, str]] = MappingProxyType({})
) -> Drift:
    """What has changed from one line to another.

    Not `full`: the lines were made by different rules or settings, so that scores and findings are left out. `notes`
    say why a component is what it is now, by the skill's path and the component's name.
    """
    pairs = renames(before.skills, after.skills)
    renamed = tuple(RenamedSkill(from_=old, to=new) for old, new in pairs)
    was = {path: path for path in after.skills if path in before.skills} | {new: old for old, new in pairs}
    homes = sorted(was.items())
    skills = tuple(
        _skill(old, new, before.skills[old], after.skills[new], notes.get(new, {}) if full else None)
        for new, old in homes
    )
    relisted = tuple(new for new, old in homes if _listing(before.skills[old]) != _listing(after.skills[new]))
    added = tuple(sorted(after.skills.keys() - was.keys()))
    removed = tuple(sorted(before.skills.keys() - set(was.values())))
    if not full:
        return Drift(before, after, False, skills, relisted, added, removed, renamed)
    old_keys, new_keys = _keys(before), _keys(after)
    sides: list[tuple[str | None, str | None]] = [(NO_SKILL, NO_SKILL), *((old, new) for new, old in homes)]
    sides += [(path, None) for path in removed] + [(None, path) for path in added]
    scored = [(s.score.before, s.score.after) for s in skills]
    both = [(old, new) for old, new in scored if old is not None and new is not None]
    overdue, overdue_now = (set(line.claims.stale if line.claims else ()) for line in (before, after))
    return Drift(
        before, after, True, skills, relisted, added, removed, renamed,
        same=SameSkills(
            skills=len(both), before=_mean([old for old, _ in both]), after=_mean([new for _, new in both])
        ),
        new=_more((new, new_keys[new], old_keys[old]) for old, new in sides),
        fixed=_more((old, old_keys[old], new_keys[new]) for old, new in sides),
        rules=_counts(_by_rule(old_keys), _by_rule(new_keys)),
        stale=tuple(sorted(overdue_now - overdue)),
        reviewed=tuple(sorted(overdue - overdue_now)),
    )  # fmt: skip


def _listing(skill: DailySkill) -> tuple[str, str | None, bool]:
    """What hosts make their list of."""
    return skill.name, skill.description, skill.listed


def _skill(was: str, path: str, old: DailySkill, new: DailySkill, notes: Mapping[str, str] | None) -> ChangedSkill:
    """What changed of a skill; without `notes` its figures are not compared."""
    if notes is None:
        score, flagged = DriftNumber(before=None, after=None), FlaggedChange(before=None, after=None)
        return ChangedSkill(path=path, was=was, name=new.name, score=score, flagged=flagged, components=(), rules=())
    components = tuple(
        DriftedComponent(
            name=name, before=before, after=after, note=notes.get(name, ""),
            evidence=EvidenceChange(before=old.evidence.get(name, {}), after=new.evidence.get(name, {})),
        )
        for name, before, after in _changes(old.components, new.components)
    )  # fmt: skip
    return ChangedSkill(
        path=path, was=was, name=new.name, score=DriftNumber(before=old.score, after=new.score),
        flagged=FlaggedChange(before=old.flagged, after=new.flagged), components=components,
        rules=_counts(old.counts, new.counts),
    )  # fmt: skip


def _counts(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[RuleCountChange, ...]:
    """Findings by rule. The same rules ran on both sides, so what one side does not name is 0 there."""
    every = dict.fromkeys([*before, *after], 0)
    found = _changes(every | dict(before), every | dict(after))
    return tuple(RuleCountChange(code=code, before=old, after=new) for code, old, new in found)


def _changes(
    before: Mapping[str, float | None], after: Mapping[str, float | None]
) -> Iterator[tuple[str, float | None, float | None]]:
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield name, before.get(name), after.get(name)


def _keys(line: DailyRun) -> Mapping[str | None, Sequence[str]]:
    """The content keys of each skill; None stands for a skill that is not there."""
    return {None: (), NO_SKILL: line.other} | {path: skill.findings for path, skill in line.skills.items()}


def _by_rule(keys: Mapping[str | None, Sequence[str]]) -> dict[str, int]:
    return Counter(key.split(":")[1] for found in keys.values() for key in found)


def _more(sides: Iterable[tuple[str | None, Sequence[str], Sequence[str]]]) -> tuple[FindingChange, ...]:
    """What the first of two collections of keys has more of, place by place."""
    surplus = ((path or NO_SKILL, Counter(one) - Counter(other)) for path, one, other in sides)
    return tuple(sorted((_finding(path, key, n) for path, more in surplus for key, n in more.items()), key=_order))


def _finding(path: str, key: str, n: int) -> FindingChange:
    severity, code, _ = key.split(":")
    return FindingChange(skill=path, key=key, severity=Severity(severity).value, code=code, n=n)


def _order(found: FindingChange) -> tuple[int, str, str]:
    return Severity(found.severity).rank, found.skill, found.key


def _mean(scores: Sequence[float]) -> float | None:
    return round(fsum(scores) / len(scores), 4) if scores else None
