"""One verdict per skill: the answer to the first question that it fails, or to the last one that is answered."""

from __future__ import annotations

from collections.abc import Sequence

from skill_health.core.estimates import Estimate
from skill_health.effect_history import Effect
from skill_health.page.model import Tone, Verdict
from skill_health.record_next import Place, steps
from skill_health.record_routing import SkillRouted
from skill_health.skill_record import LOST, Health, Route, SkillRecord

MISSING = "–"
_Said = tuple[str, Tone, int, str]
_STALE = "the skill has changed since"
_OUTDATED = "its description has changed since"


def verdict(record: SkillRecord, place: Place) -> Verdict:
    """The verdict on a skill, with the next command. Pure.

    A simulated run answers nothing. A router that counts words fails no skill, and cannot say that a model finds it.
    """
    word, tone, question, reason = _said(record)
    step = next(iter(steps(record, place)), None)
    return Verdict(word, tone, question, reason, step.advice if step else "", step.command if step else "")


def _said(record: SkillRecord) -> _Said:
    health, routing, effect = record.health, record.routing, record.effect
    if health.state == "failed":
        return "fix first", "bad", 1, findings(health)
    if routing.state == "failed":
        lost = next(each for each in routing.models if _lost(each))
        return "not found", "bad", 2, f"most requests for it are lost: {recall(lost)}"
    return _effect([each for each in effect.models if not each.simulated]) or _routed(routing) or _sound(health)


def _effect(real: Sequence[Effect]) -> _Said | None:
    """What the runs that asked a model say; the latest of those of the skill as it is now, else of what it was."""
    current = [each for each in real if not each.changed]
    for word in ("harmful", "helps", "biased", "no evidence", "not testable"):
        for each in current:
            if each.verdict == word:
                return word, _TONES[word], 3, _reason(each, current)
    if not real:
        return None
    return real[0].verdict, "unknown", 3, f"{_STALE}; then {_reason(real[0], real)}"


_TONES: dict[str, Tone] = {
    "harmful": "bad", "biased": "warn", "helps": "good", "no evidence": "warn", "not testable": "unknown",
}  # fmt: skip


def _reason(each: Effect, every: Sequence[Effect]) -> str:
    why = each.reason.removeprefix(f"{each.verdict}: ") if each.verdict == "not testable" else ""
    marks = [*each.biased, *(f"preliminary: {reason}" for reason in each.preliminary)]
    others = [f"{other.model} says {other.verdict}" for other in every if other.verdict != each.verdict]
    return "; ".join(
        part for part in (f"{points(each.delta)} points with it ({each.model})", why, *marks, *others) if part
    )


def _routed(routing: Route) -> _Said | None:
    known = [each for each in routing.models if not each.run.simulated and each.recall.value is not None]
    if routing.state == "not listed" or not known:
        return None
    current = [each for each in known if not each.changed]
    sound = [each for each in current if not each.local and each.run.trusted is not False]
    if sound:
        best = sound[0]
        if best.recall.low is not None and best.recall.low >= LOST:
            return "found", "good", 2, f"{recall(best)}; whether it helps is not known"
        return "unclear", "unknown", 2, f"too few answers to say whether it is found: {recall(best)}"
    local = [each for each in current if each.local]
    if local and local[0].recall.low is not None and local[0].recall.low >= LOST:
        return "found by word counts", "unknown", 2, f"{recall(local[0])}, which asks no model"
    if local:
        return "sound", "unknown", 1, f"no model was asked; {recall(local[0])}, which counts words"
    if current:
        return "unclear", "unknown", 2, f"the instrument check failed: {recall(current[0])}"
    return "unclear", "unknown", 2, f"{_OUTDATED}; then {recall(known[0])}"


def _sound(health: Health) -> _Said:
    score = "" if health.score is None else f"score {health.score:.2f}, "
    noted = [f"{n} {word}{'s' * (n != 1)}" for n, word in ((health.warnings, "warning"), (health.infos, "info")) if n]
    beside = f"{', '.join(noted)}, " if noted else ""
    return "sound", "unknown", 1, f"{score}{beside}nothing else is known"


def findings(health: Health) -> str:
    """How many findings of which severity, in words."""
    counts = ((health.errors, "error"), (health.warnings, "warning"), (health.infos, "info"))
    return ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts if n)


def recall(each: SkillRouted) -> str:
    """How often a skill came first for its requests, by whom: "66.7 % [16.4, 95.3] of 3 calls (maker:model)"."""
    return f"{percent(each.recall)} of {each.recall.n} call{'s' * (each.recall.n != 1)} ({each.run.model})"


def percent(number: Estimate) -> str:
    """A share in per cent with its interval."""
    if number.value is None:
        return MISSING
    return f"{100 * number.value:.1f} % {_interval(number, '')}"


def points(number: Estimate) -> str:
    """A difference in percentage points with its interval and the tasks behind it."""
    if number.value is None:
        return MISSING
    return f"{100 * number.value:+.1f} {_interval(number, '+')} n {number.n}"


def _interval(number: Estimate, sign: str) -> str:
    if number.low is None or number.high is None:
        return f"[{MISSING}]"
    return f"[{100 * number.low:{sign}.1f}, {100 * number.high:{sign}.1f}]"


def _lost(each: SkillRouted) -> bool:
    sound = not each.run.simulated and each.run.trusted is not False and not each.local and not each.changed
    return sound and each.recall.high is not None and each.recall.high < LOST
