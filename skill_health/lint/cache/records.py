"""What is kept of a skill and of a collection, as lines of JSON, and what makes such a line sound."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from skill_health.lint.cache.cache_folder import line_sum
from skill_health.rules._api import Finding, Severity
from skill_health.rules.ignores._comments import Ignore


class SkillFindings(NamedTuple):
    """What was found in one skill: what `states` says of its `inputs` was so when it was `taken` (ns).

    `measures` are those of its `Measures`, by name.
    """

    key: str
    taken: int
    states: str
    findings: list[list[Any]]
    ignores: list[list[Any]]
    inputs: dict[str, str]
    measures: dict[str, Any]


class CorpusFindings(NamedTuple):
    """What the collection-wide rules found, and on what that depends, as in `SkillFindings`."""

    key: str
    taken: int
    states: str
    findings: list[list[Any]]
    inputs: dict[str, str]


class SkillState(NamedTuple):
    """Where the lines of one skill stand, and what its SKILL.md was when it was `taken` (ns): `state`, and its digest.

    From `at` on there are three lines, each right after the other: its summary, its facts (what else the
    collection-wide rules may know of it) and its record. One of length 0 is not there.
    """

    taken: int
    state: str
    content: str
    at: int = 0
    summary: int = 0
    facts: int = 0
    record: int = 0
    summary_sum: str = ""
    facts_sum: str = ""
    record_sum: str = ""

    @property
    def length(self) -> int:
        """The bytes of all three lines."""
        return self.summary + self.facts + self.record


class SkillLines(NamedTuple):
    """The three lines of one skill, b"" for what there is not."""

    summary: bytes
    facts: bytes
    record: bytes

    def digests(self, path: str) -> tuple[str, str, str]:
        """What each line is held against."""
        one, two, three = (line_sum(f"{kind}:{path}", line) for kind, line in zip(self._fields, self, strict=True))
        return one, two, three


_SEVERITIES = {severity.value: severity for severity in Severity}
_STATE_TYPES = [int, str, str, int, int, int, int, str, str, str]
_SKILL_TYPES = [str, int, str, list, list, dict, dict]
_CORPUS_TYPES = [str, int, str, list, dict]
_FINDING_TYPES = [str, str, str, str, str, int, int, int, int, str, str, str, str, str, bool, list, list, bool]
_IGNORE_TYPES = [list, int, int, str, str, int, int]
_SUMMARY_TYPES = {
    "name": str, "description": str, "hidden": bool, "digest": str, "name_span": list, "description_span": list,
}  # fmt: skip


def read_state(line: bytes) -> SkillState | None:
    """The state of a skill, or None where it is none."""
    values = decoded(line)
    return SkillState(*values) if _are_typed(values, _STATE_TYPES) and min(values[3:7]) >= 0 else None


def read_record(line: bytes) -> SkillFindings | None:
    """The record of a skill, or None where it is none."""
    values = decoded(line)
    if not _are_typed(values, _SKILL_TYPES):
        return None
    record = SkillFindings(*values)
    sound = _are_findings(record.findings) and _are_texts(record.inputs.values())
    return record if sound and all(_are_typed(i, _IGNORE_TYPES) and _are_texts(i[0]) for i in record.ignores) else None


def read_corpus(line: bytes) -> CorpusFindings | None:
    """The record of a collection, or None where it is none."""
    values = decoded(line)
    if not _are_typed(values, _CORPUS_TYPES):
        return None
    record = CorpusFindings(*values)
    return record if _are_findings(record.findings) and _are_texts(record.inputs.values()) else None


def read_summary(line: bytes) -> dict[str, Any] | None:
    """The summary of a skill, or None where it is none."""
    found = decoded(line)
    if type(found) is not dict or {key: type(value) for key, value in found.items()} != _SUMMARY_TYPES:
        return None
    return found if all(_are_typed(found[key], [int] * 4) for key in ("name_span", "description_span")) else None


def read_facts(line: bytes) -> dict[str, Any] | None:
    """The facts of a skill, or None where they are none."""
    found = decoded(line)
    return found if type(found) is dict else None


def _are_typed(values: Any, types: list[type]) -> bool:
    return type(values) is list and [*map(type, values)] == types


def _are_findings(found: list[Any]) -> bool:
    return all(_are_typed(f, _FINDING_TYPES) and f[3] in _SEVERITIES and _are_texts(f[15] + f[16]) for f in found)


def _are_texts(values: Iterable[Any]) -> bool:
    return all(type(value) is str for value in values)


def pack(f: Finding) -> list[Any]:
    """A finding as a JSON list; its fix is not kept, only that there is one."""
    return [
        f.code, f.rule, f.family, f.severity.value, f.path, f.line, f.col, f.end_line, f.end_col, f.message, f.help,
        f.source, f.skill, f.key, f.fixable, list(f.also), list(f.hosts), f.safe,
    ]  # fmt: skip


def unpack(values: Sequence[Any]) -> Finding:
    """The reverse of `pack`."""
    *rest, fixable, also, hosts, safe = values
    rest[3] = _SEVERITIES[rest[3]]
    return Finding._make([*rest, None, fixable, tuple(also), tuple(hosts), safe])


def pack_ignore(ignore: Ignore) -> list[Any]:
    """An inline comment as a JSON list."""
    return [list(ignore.codes), *ignore[1:]]


def unpack_found(record: SkillFindings) -> tuple[tuple[Finding, ...], tuple[Ignore, ...]]:
    """The findings and the inline comments of a skill."""
    ignores = tuple(Ignore(tuple(codes), *rest) for codes, *rest in record.ignores)
    return tuple(map(unpack, record.findings)), ignores


def encoded(value: Any) -> bytes:
    """A value as one line of JSON."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()


def decoded(line: bytes) -> Any:
    """The value of a line of JSON; None where it has none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
