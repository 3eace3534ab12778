"""What a drift report says, in the order it says it: plain text in sections, for any kind of output.

Nothing is escaped here; whoever renders does that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from skill_health.claims_news import claims_sections
from skill_health.drift import Drift, FindingDelta, NumberChange, SkillDrift
from skill_health.rules._api import Finding
from skill_health.today import TodayRun

_SWEEP = "skill-health router sweep --since {}"


@dataclass(frozen=True, slots=True)
class Item:
    """One entry, and what explains it."""

    text: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DriftSection:
    """A title, its entries, what to know about them, and a command to run next where there is one."""

    title: str
    items: tuple[Item, ...]
    note: str = ""
    command: str = ""


def sections(drift: Drift, today: TodayRun, rules: Mapping[str, str], prefix: str = "") -> Iterator[DriftSection]:
    """The sections that have anything to say. `rules` are the rules' names by code; `prefix` leads to the root."""
    fell = [s for s in drift.skills if (s.score.by or 0) < 0]
    rose = [s for s in drift.skills if (s.score.by or 0) > 0]
    yield from _section("Fell", _scores(sorted(fell, key=lambda s: (s.score.by or 0, s.path)), today, rules, prefix))
    yield from _section("Rose", _scores(sorted(rose, key=lambda s: (-(s.score.by or 0), s.path)), today, rules, prefix))
    unscored = [s for s in drift.skills if s.score.by is None and s.score.before != s.score.after]
    yield from _section("Scored in one of the runs only", _unscored(unscored, prefix))
    yield from _section("Newly flagged" if drift.full else "Flagged", _flagged(drift, today, prefix))
    yield from _section(
        "No longer flagged", (Item(prefix + s.path) for s in drift.skills if s.flagged == (True, False))
    )
    yield from _section("New findings", _new(drift.new, today, rules, prefix))
    yield from _section("Fixed findings", _fixed(drift, rules, prefix))
    yield from _section("Findings by rule", (Item(_count(change, rules)) for change in drift.rules))
    for title, lines in claims_sections(drift, today, prefix):
        yield from _section(title, map(Item, lines))
    yield from _section("Skills added", _added(drift, today, prefix))
    yield from _section("Skills removed", (Item(prefix + path) for path in drift.removed))
    yield from _section("Skills renamed", (Item(f"{prefix}{old} is now {prefix}{new}") for old, new in drift.renamed))
    yield from _relisted(drift, prefix)


def number(value: int | float | None) -> str:
    """A score or a count as people read it."""
    if value is None:
        return "none"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def arrow(change: NumberChange) -> str:
    """`0.9000 -> 0.8000 (-0.1000)`."""
    shown, by = f"{number(change.before)} -> {number(change.after)}", change.by
    return shown if by is None else f"{shown} ({by:+d})" if isinstance(by, int) else f"{shown} ({by:+.4f})"


def _section(title: str, items: Iterable[Item], note: str = "", command: str = "") -> Iterator[DriftSection]:
    if found := tuple(items):
        yield DriftSection(title, found, note, command)


def _scores(skills: Iterable[SkillDrift], today: TodayRun, rules: Mapping[str, str], prefix: str) -> Iterator[Item]:
    for skill in skills:
        details = [*_parts(skill, today), *(_count(change, rules) for change in skill.counts)]
        yield Item(f"{prefix}{skill.path}: {arrow(skill.score)}", tuple(details))


def _parts(skill: SkillDrift, today: TodayRun) -> Iterator[str]:
    score = today.scores.get(skill.path)
    notes = {part.name: part.note for part in score.parts} if score else {}
    for part in skill.parts:
        sides = [f"{value:.2f}" if value is not None else "left out" for value in (part.value.before, part.value.after)]
        counts = [
            f"{name} {_counted(part.before.get(name))} -> {_counted(part.after.get(name))}"
            for name in sorted(part.before.keys() | part.after.keys())
            if part.before.get(name) != part.after.get(name)
        ]
        reason = "; ".join(filter(None, [", ".join(counts), notes.get(part.value.name, "")]))
        yield f"{part.value.name} {sides[0]} -> {sides[1]}" + (f": {reason}" if reason else "")


def _counted(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _count(change: NumberChange, rules: Mapping[str, str]) -> str:
    return f"{_rule(change.name, rules)}: {arrow(change)}"


def _rule(code: str, rules: Mapping[str, str]) -> str:
    return f"{code} {rules[code]}" if code in rules else code


def _unscored(skills: Iterable[SkillDrift], prefix: str) -> Iterator[Item]:
    for skill in skills:
        yield Item(f"{prefix}{skill.path}: {arrow(skill.score)}")


def _flagged(drift: Drift, today: TodayRun, prefix: str) -> Iterator[Item]:
    """The skills that were not flagged before; all that are, where that is not known."""
    before = {skill.path: skill.flagged[0] for skill in drift.skills}
    before |= dict.fromkeys(drift.added, True) if drift.full else {}
    for path, skill in drift.after.skills.items():
        if skill.flagged and not before.get(path):
            yield Item(prefix + path, _flags(path, today))


def _flags(path: str, today: TodayRun) -> tuple[str, ...]:
    score = today.scores.get(path)
    return tuple(flag.message for flag in score.flags) if score else ()


def _new(new: Iterable[FindingDelta], today: TodayRun, rules: Mapping[str, str], prefix: str) -> Iterator[Item]:
    for found in new:
        f, *others = places(found, today)
        lines = ", ".join(str(other.line) for other in others[:9])
        more = f" (and {len(others)} more like it: line{'s' * (len(others) > 1)} {lines})"
        what = f"{f.severity.value} {_rule(f.code, rules)}: {f.message}"
        yield Item(f"{prefix}{f.path}:{f.line}:{f.col}: {what}{more if others else ''}")


def places(found: FindingDelta, today: TodayRun) -> Sequence[Finding]:
    """Where something new is. Of several that read the same the last ones are taken for the new ones."""
    return today.findings[found.path][found.key][-found.n :]


def _fixed(drift: Drift, rules: Mapping[str, str], prefix: str) -> Iterator[Item]:
    for found in drift.fixed:
        where = f"{prefix}{found.path}" if found.path else "outside the skills"
        gone = " (removed)" if found.path in drift.removed else ""
        times = f" ({found.n} times)" if found.n > 1 else ""
        yield Item(f"{where}{gone}: {found.severity} {_rule(found.code, rules)}{times}")


def _added(drift: Drift, today: TodayRun, prefix: str) -> Iterator[Item]:
    for path in drift.added:
        skill = today.line.skills[path]
        flagged = ", flagged" if skill.flagged else ""
        yield Item(f"{prefix}{path}: {number(skill.score)}{flagged}", _flags(path, today))


def _relisted(drift: Drift, prefix: str) -> Iterator[DriftSection]:
    """What a router sees differently; the command sweeps just those skills again."""
    changed = [Item(prefix + skill.path) for skill in drift.skills if skill.relisted]
    before = drift.before
    if before is None or before.commit is None:
        note = "The earlier run was outside git: name these skills to the router to sweep them again."
    elif before.dirty:
        note = "The earlier run had uncommitted changes: this compares with the commit below them."
    else:
        note = "Ask just the prompts that they bear on again:"
    command = _SWEEP.format(before.commit) if before and before.commit else ""
    yield from _section("Descriptions changed", changed, note, command)
