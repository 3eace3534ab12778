"""Two lines of a history -> what has changed between them. Pure: nothing but the lines is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum

from skill_health.daily.history import HistoryLine, SkillLine

# From the surest sign to the weakest.
_SIGNS: tuple[Callable[[SkillLine], Hashable], ...] = (
    lambda skill: (skill.name, skill.description) if skill.description else None,
    lambda skill: skill.description,
    lambda skill: skill.name,
)


def renames(before: Mapping[str, SkillLine], after: Mapping[str, SkillLine]) -> tuple[tuple[str, str], ...]:
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


def _unique(skills: Mapping[str, SkillLine], sign: Callable[[SkillLine], Hashable]) -> dict[Hashable, str]:
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


@dataclass(frozen=True, slots=True)
class NumberChange:
    """A number before and after. None: it was not known or did not apply, which is not zero."""

    name: str
    before: int | float | None
    after: int | float | None

    @property
    def by(self) -> int | float | None:
        """By how much it rose, to 4 decimals; None where one side is not known."""
        return None if self.before is None or self.after is None else round(self.after - self.before, 4)


@dataclass(frozen=True, slots=True)
class ComponentChange:
    """A component that changed, and the counts behind it on both sides."""

    value: NumberChange
    before: Mapping[str, float] = field(default_factory=dict)
    after: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SkillDrift:
    """A skill of both lines. `was` is its earlier path; `relisted` whether hosts list another text for it now."""

    path: str
    was: str
    score: NumberChange
    flagged: tuple[bool | None, bool | None] = (None, None)
    parts: tuple[ComponentChange, ...] = ()
    counts: tuple[NumberChange, ...] = ()
    relisted: bool = False


@dataclass(frozen=True, slots=True)
class FindingDelta:
    """A content key that one line has `n` times more than the other, in the skill at `path` ("" for none)."""

    path: str
    key: str
    n: int

    @property
    def severity(self) -> str:
        """error, warning or info."""
        return self.key.split(":")[0]

    @property
    def code(self) -> str:
        """The rule's."""
        return self.key.split(":")[1]


@dataclass(frozen=True, slots=True)
class Drift:
    """All differences. `full` is False where only the skills and what hosts list of them could be compared.

    `before` is None on a first run. `skills` are those of both lines, changed or not. `same` is the mean of the
    `same_n` skills that both lines score. `new` and `fixed` count the findings of added and removed skills too.
    `stale` are the claims that are overdue now and were not, `reviewed` those that no longer are.
    """

    before: HistoryLine | None
    after: HistoryLine
    full: bool = False
    skills: tuple[SkillDrift, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    same: NumberChange | None = None
    same_n: int = 0
    new: tuple[FindingDelta, ...] = ()
    fixed: tuple[FindingDelta, ...] = ()
    rules: tuple[NumberChange, ...] = ()
    stale: tuple[str, ...] = ()
    reviewed: tuple[str, ...] = ()


def compare(before: HistoryLine, after: HistoryLine, full: bool = True) -> Drift:
    """What has changed from one line to another.

    Not `full`: the lines were made by different rules or settings, so that scores and findings are left out.
    """
    renamed = renames(before.skills, after.skills)
    was = {path: path for path in after.skills if path in before.skills} | {new: old for old, new in renamed}
    pairs = sorted((new, old) for new, old in was.items())
    skills = tuple(_skill(old, new, before.skills[old], after.skills[new], full) for new, old in pairs)
    added = tuple(sorted(after.skills.keys() - was.keys()))
    removed = tuple(sorted(before.skills.keys() - set(was.values())))
    if not full:
        return Drift(before, after, False, skills, added, removed, renamed)
    old_keys, new_keys = _keys(before), _keys(after)
    homes: list[tuple[str | None, str | None]] = [(NO_SKILL, NO_SKILL), *((old, new) for new, old in pairs)]
    homes += [(path, None) for path in removed] + [(None, path) for path in added]
    scored = [(s.score.before, s.score.after) for s in skills]
    both = [(old, new) for old, new in scored if old is not None and new is not None]
    overdue, overdue_now = set(before.stale or ()), set(after.stale or ())
    return Drift(
        before, after, True, skills, added, removed, renamed,
        same=NumberChange("same", _mean([old for old, _ in both]), _mean([new for _, new in both])),
        same_n=len(both),
        new=_more((new, new_keys[new], old_keys[old]) for old, new in homes),
        fixed=_more((old, old_keys[old], new_keys[new]) for old, new in homes),
        rules=_counts(_by_rule(old_keys), _by_rule(new_keys)),
        stale=tuple(sorted(overdue_now - overdue)),
        reviewed=tuple(sorted(overdue - overdue_now)),
    )  # fmt: skip


def _skill(was: str, path: str, old: SkillLine, new: SkillLine, full: bool) -> SkillDrift:
    relisted = (old.name, old.description, old.listed) != (new.name, new.description, new.listed)
    if not full:
        return SkillDrift(path, was, NumberChange(new.name, None, None), relisted=relisted)
    parts = tuple(
        ComponentChange(change, old.evidence.get(change.name, {}), new.evidence.get(change.name, {}))
        for change in _changes(old.components, new.components)
    )
    score, flagged = NumberChange(new.name, old.score, new.score), (old.flagged, new.flagged)
    return SkillDrift(path, was, score, flagged, parts, _counts(old.counts, new.counts), relisted)


def _counts(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[NumberChange, ...]:
    """Findings by rule. The same rules ran on both sides, so what one side does not name is 0 there."""
    every = dict.fromkeys([*before, *after], 0)
    return _changes(every | dict(before), every | dict(after))


def _changes(before: Mapping[str, float | None], after: Mapping[str, float | None]) -> tuple[NumberChange, ...]:
    names = sorted(before.keys() | after.keys())
    every = (NumberChange(name, before.get(name), after.get(name)) for name in names)
    return tuple(change for change in every if change.before != change.after)


def _keys(line: HistoryLine) -> Mapping[str | None, Sequence[str]]:
    """The content keys of each skill; None stands for a skill that is not there."""
    return {None: (), NO_SKILL: line.other} | {path: skill.findings for path, skill in line.skills.items()}


def _by_rule(keys: Mapping[str | None, Sequence[str]]) -> dict[str, int]:
    return Counter(key.split(":")[1] for found in keys.values() for key in found)


def _more(sides: Iterable[tuple[str | None, Sequence[str], Sequence[str]]]) -> tuple[FindingDelta, ...]:
    """What the first of two collections of keys has more of, place by place."""
    surplus = ((path or NO_SKILL, Counter(one) - Counter(other)) for path, one, other in sides)
    return tuple(sorted((FindingDelta(path, key, n) for path, more in surplus for key, n in more.items()), key=_order))


def _order(found: FindingDelta) -> tuple[int, str, str]:
    return ("error", "warning", "info").index(found.severity), found.path, found.key


def _mean(scores: Sequence[float]) -> float | None:
    return round(fsum(scores) / len(scores), 4) if scores else None
