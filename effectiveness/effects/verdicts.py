"""Helps, no evidence, harmful, not testable or biased: the rules that docs/statistics.md explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from skill_health.effectiveness.effects.arms import CEILING, FLOOR, arm_json
from skill_health.effectiveness.effects.contrasts import Contrast
from skill_health.effectiveness.effects.contrasts import note as why_not
from skill_health.effectiveness.effects.controls import Absence
from skill_health.stats.power import fewest_differing, preliminary_reasons

ALPHA = 0.05
Word = Literal["helps", "no evidence", "harmful", "not testable", "biased"]
_SIGNS: Mapping[Word, int] = {"helps": 1, "harmful": -1}


@dataclass(frozen=True, slots=True)
class VerdictEvidence:
    """What a verdict rests on.

    `primary` is the target against the control, None where the run does not have both. `family` is how many such
    contrasts were tested together, `missing` is the share of the planned trials of these two arms that are not
    scored, and `absent` whether they are missing by chance. `placebo` is the target against the placebo.
    """

    primary: Contrast | None
    family: int
    missing: float
    margin: float
    absent: Absence | None = None
    biased: Sequence[str] = ()
    placebo: Contrast | None = None


def verdict(evidence: VerdictEvidence) -> dict[str, Any]:
    """The verdict, the one sentence that decided, what to mind beside it, and why it is preliminary."""
    word, reason = _judged(evidence)
    primary = evidence.primary
    reasons = preliminary_reasons(
        primary.tasks if primary else 0,
        primary.half_width if primary else None,
        evidence.missing,
        evidence.margin,
        "tasks",
        "trials",
    )
    reasons += filter(None, [evidence.absent.uneven if evidence.absent else ""])
    return {"word": word, "reason": reason, "notes": list(_notes(evidence, word)), "preliminary": reasons}


def _judged(evidence: VerdictEvidence) -> tuple[Word, str]:
    primary = evidence.primary
    if evidence.biased:
        return "biased", evidence.biased[0]
    if primary is None:
        return "not testable", "not testable: the run does not have both the target and the control of these tasks"
    found = _significant(primary)
    if found:
        return ("helps" if found > 0 else "harmful"), _said(primary)
    if reason := _extreme(primary):
        return "not testable", reason
    if not primary.testable:
        return "not testable", why_not(primary)
    if primary.differing < (needed := fewest_differing(max(evidence.family, 1), ALPHA)):
        together = f"{needed} are needed with {evidence.family} tested together"
        return "not testable", f"not testable: {primary.differing} of {primary.tasks} tasks differ, {together}"
    return "no evidence", _said(primary)


def _significant(primary: Contrast) -> int:
    """1 for a gain, -1 for a loss, 0 for neither: the p-value after correction, and an interval without zero.

    Where all tasks differ by the same there is no interval, and nothing that it could say beside the p-value.
    """
    p, low, high = primary.delta.p_adjusted, primary.interval.low, primary.interval.high
    if p is None or p >= ALPHA:
        return 0
    if low is None or high is None:
        low = high = primary.delta.value or 0.0
    return (low > 0) - (high < 0)


def _said(primary: Contrast) -> str:
    low, high, value, p = primary.interval.low, primary.interval.high, primary.delta.value, primary.delta.p_adjusted
    ends = (
        arm_json(primary.interval)["note"]
        if low is None or high is None
        else f"95 % interval {100 * low:+.1f} to {100 * high:+.1f}"
    )
    chance = "" if p is None else f", p = {p:.2g} after correction"
    return f"{100 * (value or 0):+.1f} pp over {primary.tasks} tasks ({ends}{chance})"


def _extreme(primary: Contrast) -> str:
    """Why the control leaves no room for a difference; "" where it does."""
    target, control = primary.shares
    if control is not None and control >= CEILING:
        return f"not testable: ceiling, {100 * control:.1f} % of the trials pass without the skill"
    if control is not None and target is not None and max(control, target) <= FLOOR:
        return f"not testable: floor, at most {100 * max(control, target):.1f} % of the trials pass with or without the skill"
    return ""


def _notes(evidence: VerdictEvidence, word: Word) -> Iterator[str]:
    placebo, target = evidence.placebo, evidence.primary.shares[0] if evidence.primary else None
    if word in _SIGNS and evidence.absent and (unsure := evidence.absent.unsure(_SIGNS[word])):
        yield unsure
    if word == "helps":
        if placebo is not None and not _better(placebo):
            yield "not shown to be better than a placebo of the same length: it may be any text that helps"
        elif placebo is not None:
            yield f"better than a placebo of the same length, too ({100 * (placebo.delta.value or 0):+.1f} pp)"
        if target is not None and target >= CEILING:
            yield "the target is at the ceiling: the gain may be larger on harder tasks"
    if word == "no evidence":
        yield "no evidence of an effect is not evidence of none: the interval says what is still possible"


def _better(placebo: Contrast) -> bool:
    p, value = placebo.delta.p_adjusted, placebo.delta.value
    return p is not None and p < ALPHA and value is not None and value > 0
