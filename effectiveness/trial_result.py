"""What a trial was, as its one line of the results says it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from skill_health.effectiveness.agents._api import ProgramOutput
from skill_health.effectiveness.cell import TrialSpec
from skill_health.effectiveness.gateway._api import GatewayTrace
from skill_health.effectiveness.records import Invoked, TrialResult
from skill_health.effectiveness.trial_agent import AgentRun
from skill_health.effectiveness.trial_outcome import AgentExit, numbers, outcome_of
from skill_health.effectiveness.trial_redact import redact
from skill_health.effectiveness.trial_verify import Verified

MAX_NOTE = 500


@dataclass(frozen=True, slots=True)
class Left:
    """What an agent left: the files about its workspace, how many paths it changed, and what is worth a note."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    changed: int | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """All that happened in a trial. `ran` is None where no agent could be started, `seen` where it asks no model."""

    end: AgentExit
    ran: AgentRun | None = None
    seen: GatewayTrace | None = None
    left: Left = Left()
    verified: Verified | None = None


def result_of(cell: TrialSpec, story: TrialRecord, hidden: tuple[str, ...]) -> TrialResult:
    """The result; none of the `hidden` words is in it."""
    end, verdict = story.end, story.verified.verdict if story.verified else None
    output = story.ran.output if story.ran else ProgramOutput(None)
    outcome = outcome_of(end.imposed, verdict)
    problem = verdict.problem if verdict else ""
    missing = outcome == "infrastructure"
    counted = numbers(cell, story.ran.reading, story.seen) if story.ran else None
    notes = [*end.notes, *story.left.notes, *(counted.notes if counted else ())]
    notes += [problem] if problem and not missing else []
    result = TrialResult(
        *cell.key,
        outcome=outcome,
        reward=verdict.reward if verdict else None,
        rewards=dict(verdict.values) if verdict else {},
        exit_code=output.exit_code,
        duration_ms=output.duration_ms,
        skills=tuple((skill.name, skill.digest) for skill in cell.skills),
        changed=story.left.changed,
        attempts=cell.attempt,
        notes=tuple(_plain(note, hidden) for note in notes),
        error=_plain(end.error or (problem if missing else ""), hidden),
    )
    if story.ran is None or counted is None:
        return result
    reading, seen = story.ran.reading, story.seen
    return replace(
        result,
        stop_reason=reading.stop_reason,
        resolved_model=seen.models[-1] if seen and seen.models else reading.model,
        usage=replace(counted.usage, raw=None),
        usage_source=counted.usage_source,
        cost_usd=counted.cost_usd,
        cost_source=counted.cost_source,
        turns=reading.turns,
        tool_calls=reading.tool_calls if reading.steps else None,
        invoked=_invoked(cell, story.ran),
        invocations=_staged_of(cell, reading.invocations),
        evidence=reading.evidence,
        seen=reading.listed,
    )


def _invoked(cell: TrialSpec, ran: AgentRun) -> Invoked:
    """Whether a staged skill was opened. A stream of which the end was cut off cannot say that none was."""
    if not cell.skills:
        return "no"
    if _staged_of(cell, ran.reading.invocations):
        return "yes"
    limit = cell.limits.output_bytes
    cut = bool(limit) and len(ran.output.stdout) >= limit
    return "not_observable" if cut or not ran.reading.observable else "no"


def _staged_of(cell: TrialSpec, names: Iterable[str]) -> tuple[str, ...]:
    staged = {skill.name for skill in cell.skills}
    return tuple(name for name in dict.fromkeys(names) if name in staged)


def _plain(text: str, hidden: tuple[str, ...]) -> str:
    """One line without secrets."""
    clean = redact(text.encode("utf-8", "replace"), hidden).decode("utf-8", "replace")
    return " ".join(clean.split())[:MAX_NOTE]
