"""What every skill was like in each daily run, kept beside the history: only what has changed is written.

A line of the history names a state. The lines of a state say what differs from its base, which is another state, and so
on down to one without a base, whose lines are all there is. The key of a state is a hash of its lines, and these name
their base: what is lost, torn or changed is noticed, and lines that stand there twice, among others, or for a run that
was killed do no harm.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from skill_health.core.files import blake2b
from skill_health.core.history import LineTooLongError, append_lines, read_backwards
from skill_health.documents._record import decode_record
from skill_health.documents.daily_line import ClaimCounts, DailyLine
from skill_health.documents.daily_run import DailyClaims, DailyHead, DailyRun, DailySkill
from skill_health.documents.daily_state import ClaimDue, FactKind, FactValue, StateFact

STATES = "skill-health-states.jsonl"
_KEY = re.compile(rb'"state":"([0-9a-f]{32})"')
_MOST_BYTES = 256 << 20
_UNSAID = "0" * 32
_FINDING = re.compile(r"(error|warning|info):[A-Z]{2}[0-9]{3}:[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class RunState:
    """Everything in a state, and how many lines stand on top of those of the state without a base.

    `skills` are by path, `claims` say of each id when it is due, and `findings` how often each one outside the skills
    was found; all in the order of their names.
    """

    key: str
    depth: int
    skills: Mapping[str, DailySkill]
    claims: Mapping[str, ClaimDue]
    findings: Mapping[str, int]

    def list_facts(self) -> dict[FactKind, Mapping[str, FactValue]]:
        """The same by kind."""
        return {"skill": self.skills, "claim": self.claims, "finding": self.findings}


NOTHING = RunState("", 0, {}, {}, {})


def pack_run(run: DailyRun, base: RunState | None) -> tuple[DailyLine, tuple[bytes, ...]]:
    """A run as a line of the history, and the lines of its state; () where that is the state of an earlier run, `base`.

    All is written anew where there is no base, and where the lines on top of each other would become as many.
    """
    claims = run.claims or DailyClaims(stale=(), due=())
    due: dict[str, ClaimDue] = {**dict.fromkeys(claims.stale, "stale"), **dict.fromkeys(claims.due, "due")}
    now = RunState("", 0, run.skills, due, Counter(run.other)).list_facts()
    changed = list(_changes(base.list_facts(), now)) if base else []
    if not base or base.depth + len(changed) >= sum(map(len, now.values())):
        base, changed = None, list(_changes(NOTHING.list_facts(), now))
    under = base.key if base else None
    lines = [
        msgspec.json.encode(
            StateFact(
                schema="skill-health/daily-state/1", state=_UNSAID, base=under, kind=kind, name=name, value=value
            ),
            order="sorted",
        )
        for kind, name, value in changed
    ]
    key = base.key if base and not lines else _hash(lines)
    counts = ClaimCounts(stale=len(claims.stale), due=len(claims.due)) if run.claims else None
    line = DailyLine(schema="skill-health/daily-line/1", claims=counts, state=key, **_head(run))
    return line, tuple(_with_key(each, _UNSAID, key) for each in lines)


_FactsByKind = Mapping[FactKind, Mapping[str, FactValue]]


def _changes(before: _FactsByKind, after: _FactsByKind) -> Iterator[tuple[FactKind, str, FactValue | None]]:
    for kind, new in after.items():
        old = before[kind]
        yield from (
            (kind, name, new.get(name)) for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)
        )


def unpack_run(line: DailyLine, state: RunState = NOTHING) -> DailyRun:
    """The run that a line of the history and its state stand for."""
    stale, due = (tuple(name for name, when in state.claims.items() if when == word) for word in ("stale", "due"))
    return DailyRun(
        schema="skill-health/history/1",
        skills=state.skills,
        other=tuple(Counter(state.findings).elements()),
        claims=DailyClaims(stale=stale, due=due) if line.claims else None,
        **_head(line),
    )


def _head(run: DailyHead) -> dict[str, Any]:
    return {name: getattr(run, name) for name in DailyHead.__struct_fields__}


def _with_key(line: bytes, old: str, new: str) -> bytes:
    """The line under another key. What looks like one in a text has escaped quotes."""
    return line.replace(b'"state":"%s"' % old.encode(), b'"state":"%s"' % new.encode(), 1)


def _hash(lines: Iterable[bytes]) -> str:
    return blake2b(b"\n".join(sorted(lines)), digest_size=16).hexdigest()


def decode_line(raw: bytes) -> DailyRun | DailyLine:
    """A run as a line of the history has it, in either form. Raises ValueError for any other."""
    return decode_record(raw, DailyLine) if DailyLine.ID.encode() in raw else decode_record(raw, DailyRun)


def append_state(path: str, lines: Iterable[bytes]) -> None:
    """Append the lines of a state. Raises UsageError if the file cannot be written."""
    append_lines(path, b"".join(each + b"\n" for each in lines))


def read_states(path: str, keys: Iterable[str]) -> dict[str, RunState]:
    """Those of these states of which the file has every line that they rest on.

    It is read from its end, no further than needed. Raises UsageError where it cannot be read.
    """
    asked = tuple(dict.fromkeys(keys))
    left = _MOST_BYTES
    blocks = {key: _Block(key, whole=key == _hash(())) for key in asked}
    last = None
    try:
        for _, raw in read_backwards(path):
            found = _KEY.search(raw)
            left -= len(raw)
            block = blocks.get(found[1].decode()) if found else None
            # The lines of a state mostly stand together: where another begins, it may be complete.
            if last and last is not block and last.is_whole() and all(each.whole for each in blocks.values()):
                break
            if left < 0:
                break
            last = block
            if block and not block.whole and (base := block.add(raw.strip())):
                blocks.setdefault(base, _Block(base, whole=base == _hash(())))
    except LineTooLongError:
        pass  # none of ours; what stands before it is lost
    states: dict[str, RunState] = {}
    for key in reversed(asked):
        _build(key, blocks, states, frozenset(asked))
    return states


@dataclass(slots=True)
class _Block:
    """The lines of a state: while they are read by their text without its key, then what they say."""

    key: str
    whole: bool
    base: str | None = None
    lines: dict[bytes, StateFact] = field(default_factory=dict)
    facts: tuple[StateFact, ...] = ()

    def add(self, raw: bytes) -> str | None:
        """Take a line, if it is one. Returns its base."""
        try:
            fact = decode_record(raw, StateFact)
        except ValueError:
            return None
        if not _is_sound(fact):
            return None
        self.lines[_with_key(raw, self.key, _UNSAID)] = fact
        self.base = fact.base
        return fact.base

    def is_whole(self) -> bool:
        """Whether these are all lines of the state."""
        if not self.whole and _hash(self.lines) == self.key:
            self.whole, self.facts = True, tuple(self.lines.values())
            self.lines.clear()
        return self.whole


def _is_sound(fact: StateFact) -> bool:
    match fact.value:
        case DailySkill():
            return fact.kind == "skill"
        case str():
            return fact.kind == "claim"
        case int():
            return fact.kind == "finding" and _FINDING.fullmatch(fact.name) is not None
    return True


def _build(key: str, blocks: Mapping[str, _Block], states: dict[str, RunState], asked: frozenset[str]) -> None:
    """Add a state, and those of the others that were `asked` for on the way up to it, if all lines are there."""
    chain: list[_Block] = []
    at: str | None = key
    while at is not None and at not in states:
        if not blocks[at].is_whole():
            return
        chain.append(blocks[at])
        at = blocks[at].base
    below = states[at] if at else NOTHING
    depth, facts = below.depth, cast(dict[FactKind, Any], below.list_facts())
    for block in reversed(chain):
        depth += len(block.facts) if block.base else 0
        for kind in {fact.kind for fact in block.facts}:
            facts[kind] = _changed(facts[kind], [fact for fact in block.facts if fact.kind == kind])
        if block.key in asked:
            states[block.key] = RunState(block.key, depth, facts["skill"], facts["claim"], facts["finding"])


def _changed(before: Mapping[str, FactValue], facts: Sequence[StateFact]) -> Mapping[str, FactValue]:
    after = {**before, **{fact.name: fact.value for fact in facts}}
    kept = {name: value for name, value in after.items() if value is not None}
    return kept if kept.keys() == before.keys() else dict(sorted(kept.items()))
