"""What a run knows of each skill: its findings as they are, the rest as lines that are read again when they are needed.

So a run over a hundred thousand skills holds little of each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from skill_health.core.errors import AbortedError
from skill_health.lint.cache.records import SkillFindings, SkillState, decoded, read_facts, read_record, read_summary
from skill_health.lint.cache.spool import Source
from skill_health.rules._api import Finding, SkillSummary
from skill_health.rules.ignores._comments import Ignore

if TYPE_CHECKING:
    from skill_health.skill.measure import Measures

_HELD = 20_000


class PackedSkill(NamedTuple):
    """What comes from the process that checked a skill: its findings without their fixes, and its lines, joined.

    `state` has no place for these yet.
    """

    findings: tuple[Finding, ...]
    ignores: tuple[Ignore, ...]
    state: SkillState
    lines: bytes


class SessionSkill:
    """A skill of this run. `line` is its `SkillState`, and `source` has the lines that it names.

    One that was not asked for has no findings here.
    """

    __slots__ = ("findings", "ignores", "line", "source")

    def __init__(
        self, line: bytes, source: Source, findings: Sequence[Finding] = (), ignores: Sequence[Ignore] = ()
    ) -> None:
        self.line, self.source, self.findings, self.ignores = line, source, findings, ignores

    @property
    def state(self) -> SkillState:
        """What its SKILL.md was, and where its lines are."""
        return SkillState(*decoded(self.line))

    @property
    def lines(self) -> bytes:
        """Its lines, joined."""
        state = self.state
        return self.source.read(state.at, state.length)

    @property
    def summary(self) -> Mapping[str, Any]:
        """What every collection-wide rule may know of it. Raises AbortedError, as all below."""
        state = self.state
        return _sound(read_summary(self.source.read(state.at, state.summary)))

    @property
    def facts(self) -> dict[str, Any]:
        """What else the collection-wide rules may know of it."""
        state = self.state
        return _sound(read_facts(self.source.read(state.at + state.summary, state.facts)))

    @property
    def record(self) -> SkillFindings:
        """What was found in it, packed."""
        state = self.state
        return _sound(read_record(self.source.read(state.at + state.summary + state.facts, state.record)))

    @property
    def measures(self) -> Measures:
        """What was counted in it."""
        from skill_health.skill.measure import measures_from

        return measures_from(self.record.measures)


class SessionSkills(NamedTuple):
    """The skills of this run by their paths, in that order: those asked for, and the others."""

    asked: dict[str, SessionSkill]
    siblings: dict[str, SessionSkill]

    def holds(self, path: str) -> bool:
        """Whether anything is known of a skill."""
        return path in self.asked or path in self.siblings

    def find(self, path: str) -> SessionSkill:
        """What is known of a skill of the collection."""
        return self.asked[path] if path in self.asked else self.siblings[path]


_T = TypeVar("_T")


def _sound(read: _T | None) -> _T:
    # The lines were right when this run found them.
    if read is None:
        raise AbortedError("the cache was written to while it was read: run again")
    return read


class KnownFacts(Mapping[str, Any]):
    """The facts of a skill that was checked, its summary among them; read when they are looked at."""

    def __init__(self, skill: SessionSkill) -> None:
        self._skill = skill

    @functools.cached_property
    def _summary(self) -> Mapping[str, Any]:
        return self._skill.summary

    @functools.cached_property
    def _facts(self) -> dict[str, Any]:
        return self._skill.facts

    def __getitem__(self, key: str) -> Any:
        return self._summary if key == "summary" else self._facts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(("summary", *self._facts))

    def __len__(self) -> int:
        return 1 + len(self._facts)


class SkillRows(Sequence[SkillSummary]):
    """The skills of a collection by their paths, each made anew whenever it is looked at."""

    def __init__(self, paths: Sequence[str], make: Callable[[str], SkillSummary]) -> None:
        self._paths, self._make = paths, make

    @overload
    def __getitem__(self, at: int) -> SkillSummary: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[SkillSummary]: ...
    def __getitem__(self, at: int | slice) -> SkillSummary | Sequence[SkillSummary]:
        if isinstance(at, slice):
            return SkillRows(self._paths[at], self._make)
        return self._make(self._paths[at])

    def __len__(self) -> int:
        return len(self._paths)


def skill_rows(paths: Sequence[str], make: Callable[[str], SkillSummary]) -> Sequence[SkillSummary]:
    """The skills of a collection: all held where they are few, which is faster, else as `SkillRows`."""
    rows = SkillRows(paths, make)
    return tuple(rows) if len(rows) <= _HELD else rows
