"""Which arm is compared with which, and what for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from skill_health.effectiveness.records import (
    AGAIN,
    CONTROL,
    FULL,
    HINT,
    LEAVE_OUT,
    NEGATIVE,
    PLACEBO,
    PLUS_ONE,
    PLUS_UNRELATED,
    TARGET,
    Arm,
)

Kind = Literal["primary", "secondary", "interaction", "calibration", "descriptive"]


@dataclass(frozen=True, slots=True)
class ArmPair:
    """Two arms by name: what is compared, and against what."""

    arm: str
    against: str
    kind: Kind

    @property
    def name(self) -> str:
        """The contrast in records."""
        return f"{self.arm}-{self.against}"


_OTHERS: Mapping[str, tuple[tuple[str, Kind], ...]] = {
    TARGET: ((PLACEBO, "secondary"), (NEGATIVE, "secondary")),
    PLUS_ONE: ((TARGET, "interaction"),),
    PLUS_UNRELATED: ((TARGET, "interaction"),),
    LEAVE_OUT: ((FULL, "secondary"),),
}
"""What a condition is compared with beside the control."""


def primary(arms: Mapping[str, Arm]) -> ArmPair | None:
    """The contrast that decides verdicts: the target against the control, None where the run does not have both.

    A run that has the target with the hint only is about that one.
    """
    found = next((name for name in (TARGET, TARGET + HINT) if name in arms), None)
    return ArmPair(found, CONTROL, "primary") if found and CONTROL in arms else None


def pairs(arms: Mapping[str, Arm]) -> tuple[ArmPair, ...]:
    """Every contrast of the arms of a run but those of `calibration`, the primary one first.

    Each arm is compared with the control; the control has no hint, since without skills there is nothing to name. An
    arm with the hint is compared with the same without it, and with the others that its condition is compared with,
    hint against hint. The target again is not among them: it is there for `calibration`.
    """
    first = primary(arms)
    others = (pair for pair in _pairs(arms) if first is None or pair.name != first.name)
    return (first, *others) if first else tuple(others)


def _pairs(arms: Mapping[str, Arm]) -> Iterator[ArmPair]:
    for name, arm in arms.items():
        if arm.condition in (CONTROL, AGAIN):
            continue
        if CONTROL in arms:
            yield ArmPair(name, CONTROL, "secondary")
        for other, kind in _OTHERS.get(arm.condition, ()):
            if (against := replace(arm, condition=other, argument="").name) in arms:
                yield ArmPair(name, against, kind)
        if arm.hint and (plain := replace(arm, hint=False).name) in arms:
            yield ArmPair(name, plain, "secondary")


def calibration(arms: Mapping[str, Arm]) -> ArmPair | None:
    """The target again against the target, None where the run does not have both."""
    both = ((AGAIN + hint, TARGET + hint) for hint in ("", HINT))
    return next((ArmPair(*names, "calibration") for names in both if set(names) <= set(arms)), None)


def negatives(arms: Iterable[Arm]) -> Iterator[tuple[ArmPair, bool]]:
    """The contrasts that should show nothing, each with whether it is over the negative-control tasks alone.

    There no arm should matter. A skill that is known to be irrelevant should matter in no task at all.
    """
    for arm in arms:
        if arm.condition in (NEGATIVE, FULL):
            yield ArmPair(arm.name, CONTROL, "calibration"), True
        if arm.condition == NEGATIVE:
            yield ArmPair(arm.name, CONTROL, "calibration"), False
