"""Every skill and every host: what loads where, and why not; as blocks for text and Markdown, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from skill_health.hosts._api import HostReason, HostRules, HostVerdict, Outcome
from skill_health.hosts._faults import find_faults
from skill_health.hosts._verdict import judge_skill
from skill_health.skill.model import Skill
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock

SCHEMA = "skill-health/hosts/1"
_MARKS = {Outcome.LOADS: "+", Outcome.LOSES: "~", Outcome.SKIPPED: "-"}
_LEGEND = "+ loads, ~ loads and loses something, - is skipped (a specification: must be)"


class HostMatrix(NamedTuple):
    """What each host makes of each skill: by the path of SKILL.md, a verdict for each host in the order of `hosts`."""

    hosts: tuple[HostRules, ...]
    skills: tuple[tuple[str, tuple[HostVerdict, ...]], ...]

    def count_of(self, at: int, outcome: Outcome) -> int:
        """Of how many skills the host at this place makes this."""
        return sum(verdicts[at].outcome is outcome for _, verdicts in self.skills)


def build_matrix(skills: Sequence[Skill], hosts: Sequence[HostRules]) -> HostMatrix:
    """The verdicts of these hosts on these skills. Pure."""
    rows = []
    for skill in skills:
        found = find_faults(skill)
        rows.append((skill.path, tuple(judge_skill(skill, host, found) for host in hosts)))
    return HostMatrix(tuple(hosts), tuple(rows))


def matrix_blocks(matrix: HostMatrix) -> Iterator[Block]:
    """The counts of each host, the skills that some host does not simply load, and why."""
    letters = _letters(len(matrix.hosts))
    yield TitleBlock("Hosts", 1)
    head = ("host", "column", "loads", "loses", "skipped", "known by", "of")
    rows = [
        (
            host.title, letters[at], *(str(matrix.count_of(at, outcome)) for outcome in Outcome), host.proof.value,
            f"{host.version}, {host.read}",
        )
        for at, host in enumerate(matrix.hosts)
    ]  # fmt: skip
    yield Table(head, rows, most=len(rows))
    odd = [row for row in matrix.skills if any(verdict.outcome is not Outcome.LOADS for verdict in row[1])]
    fine = len(matrix.skills) - len(odd)
    yield Sentence(f"{fine} of {len(matrix.skills)} skill{'s' * (len(matrix.skills) != 1)} load whole in each of them.")
    if not odd:
        return
    yield TitleBlock("Skills that do not")
    yield Sentence(_LEGEND)
    yield Table(("skill", *letters), [(path, *_cells(verdicts)) for path, verdicts in odd], most=len(odd))
    yield TitleBlock("Why")
    for path, verdicts in odd:
        yield Sentence(path, strong=True)
        # One line may have a fault at several places.
        reasons = list(dict.fromkeys(_told(*each) for each in _by_reason(verdicts)))
        yield Items(reasons, most=len(reasons))


def _letters(count: int) -> tuple[str, ...]:
    return tuple(chr(ord("A") + at) if at < 26 else str(at) for at in range(count))


def _cells(verdicts: Sequence[HostVerdict]) -> Iterator[str]:
    return (_MARKS[verdict.outcome] for verdict in verdicts)


def _by_reason(verdicts: Sequence[HostVerdict]) -> Iterator[tuple[HostReason, list[str]]]:
    """Each reason once for all hosts that act alike, in the order of the places."""
    found: dict[HostReason, list[str]] = {}
    for verdict in verdicts:
        for reason in verdict.reasons:
            found.setdefault(reason, []).append(verdict.host.title)
    yield from sorted(found.items(), key=lambda each: (each[0].span, each[0].fault.name, each[1]))


def _told(reason: HostReason, titles: Sequence[str]) -> str:
    return f"{', '.join(titles)}: {reason.then} (line {reason.span.line}: {reason.what})"


def matrix_json(matrix: HostMatrix) -> str:
    """The matrix as JSON, keys in a fixed order."""
    hosts = [
        {
            "key": host.key, "title": host.title, "specification": host.specification, "version": host.version,
            "read": host.read, "proof": host.proof.value, "source": host.source,
            **{outcome.value: matrix.count_of(at, outcome) for outcome in Outcome},
        }
        for at, host in enumerate(matrix.hosts)
    ]  # fmt: skip
    skills = [
        {"path": path, "hosts": {verdict.host.key: _verdict_json(verdict) for verdict in verdicts}}
        for path, verdicts in matrix.skills
    ]
    return json.dumps({"schema": SCHEMA, "hosts": hosts, "skills": skills}, indent=1, ensure_ascii=True) + "\n"


def _verdict_json(verdict: HostVerdict) -> dict[str, object]:
    reasons = [
        {
            "fault": reason.fault.name.lower().replace("_", "-"), "line": reason.span.line, "col": reason.span.col,
            "what": reason.what, "then": reason.then,
        }
        for reason in verdict.reasons
    ]  # fmt: skip
    return {"outcome": verdict.outcome.value, "reasons": reasons}
