"""What a scripted agent does in one trial: pure functions, for the agent itself and for simulations without processes.

The control succeeds in `base` of all trials, an arm with an effect in `base + effect` (clipped to 0 and 1), on average
over all tasks there could be. A task is as hard as one draw from a normal distribution makes it, the same in every arm:
its logit is that draw, times `spread`, plus a constant that keeps the average. So a single task gains less than the
effect near the floor and the ceiling, and the true effect over a given set of tasks is the mean difference of `chance`.

Every draw is a hash of what it is for, so the order of trials does not matter, nor whether others take place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from simulators.agents._parse import ScriptPlan, parse_plan
from skill_health.bench.http.messages import Usage
from skill_health.core.files import blake2b
from skill_health.effectiveness.records import CONTROL, FULL, LEAVE_OUT, NEGATIVE, ORDER, PLACEBO, TARGET, Arm

__all__ = ["Drawn", "ScriptPlan", "chance", "draw", "effect", "parse_plan"]

_NORMAL = NormalDist()
_POINTS = 400
_TARGET_EFFECT = 0.3


@dataclass(frozen=True, slots=True)
class Drawn:
    """What happens in one trial. `failure` is the outcome that it ends in before there is anything to judge, or "".

    `invoked` says whether a staged skill is opened, `partial` whether a trial without success leaves something behind.
    `duration_ms` is for simulations; a trial that really takes place is timed.
    """

    success: bool
    invoked: bool
    partial: bool
    usage: Usage
    cost_usd: float
    turns: int
    tool_calls: int
    duration_ms: float
    failure: str = ""


def effect(plan: ScriptPlan, target_skill: str | None, arm: Arm, is_control: bool) -> float:
    """The change of the share of successes against the control, before it is clipped."""
    if arm.condition == CONTROL:
        return 0.0
    return _effect(plan, target_skill, arm, is_control) + (plan.effects.get("hint", 0.0) if arm.hint else 0.0)


def _effect(plan: ScriptPlan, target_skill: str | None, arm: Arm, is_control: bool) -> float:
    condition = arm.condition
    if is_control:
        return plan.control_effects.get(NEGATIVE if condition == NEGATIVE else FULL, 0.0)
    if condition == LEAVE_OUT and arm.argument == target_skill:
        return 0.0
    target = plan.skills.get(target_skill or "", plan.effects.get(TARGET, _TARGET_EFFECT))
    if condition == TARGET:
        return target
    if condition in (NEGATIVE, PLACEBO):
        return plan.effects.get(condition, 0.0)
    if condition in (ORDER, LEAVE_OUT):
        return plan.effects.get(condition, plan.effects.get(FULL, target))
    return plan.effects.get(condition, target)


def chance(plan: ScriptPlan, task_id: str, target_skill: str | None, arm: Arm, is_control: bool = False) -> float:
    """The probability of success of one task in one arm, where the trial comes to an end."""
    share = min(1.0, max(0.0, plan.base + effect(plan, target_skill, arm, is_control)))
    if share in (0.0, 1.0):
        return share
    hard = _NORMAL.inv_cdf(next(_units(plan.difficulty, task_id, "difficulty")))
    return _expit(_location(share, plan.spread) + plan.spread * hard)


def draw(
    plan: ScriptPlan,
    task_id: str,
    target_skill: str | None,
    arm: Arm,
    replication: int,
    is_control: bool = False,
    attempt: int = 1,
) -> Drawn:
    """What happens in one trial. Only whether it fails early depends on the attempt."""
    unit = _units(plan.seed, task_id, arm.name, replication)
    success = next(unit) < chance(plan, task_id, target_skill, arm, is_control)
    invoked = next(unit) < _opens(plan, target_skill, arm, is_control)
    partial = next(unit) < plan.partial
    turns = 2 + invoked + int(8 * next(unit))
    # Medians are what was asked for; whoever reads a skill reads more.
    amount = math.exp(0.35 * _NORMAL.inv_cdf(next(unit))) * (1.15 if invoked else 1.0)
    tokens = round(plan.tokens * amount)
    written = round(plan.tokens * amount * (0.02 + 0.1 * next(unit)))
    cached = round(tokens * 0.9 * next(unit))
    duration = round(1000 * plan.duration * amount**0.5 * math.exp(0.25 * _NORMAL.inv_cdf(next(unit))), 3)
    return Drawn(
        success=success,
        invoked=invoked,
        partial=partial and not success,
        usage=Usage(tokens, written, cached),
        cost_usd=round(plan.cost * amount, 6),
        turns=turns,
        tool_calls=turns - 1,
        duration_ms=duration,
        failure=_failure(plan, next(_units(plan.seed, task_id, arm.name, replication, "attempt", attempt))),
    )


def _opens(plan: ScriptPlan, target_skill: str | None, arm: Arm, is_control: bool) -> float:
    """The share of trials in which a skill is opened: one that is meant for the task, or just any."""
    if arm.condition == CONTROL:
        return 0.0
    gone = arm.condition == LEAVE_OUT and arm.argument == target_skill
    return plan.stray if is_control or gone or arm.condition == NEGATIVE else plan.invoke


def _failure(plan: ScriptPlan, drawn: float) -> str:
    for outcome, share in plan.failures.items():
        if (drawn := drawn - share) < 0:
            return outcome
    return ""


@lru_cache(maxsize=4096)
def _location(share: float, spread: float) -> float:
    """The constant for which the mean of expit(constant + spread * normal) is the share; by bisection on quantiles."""
    if spread == 0:
        return math.log(share / (1 - share))
    draws = [spread * _NORMAL.inv_cdf((nth + 0.5) / _POINTS) for nth in range(_POINTS)]
    low, high = -60.0, 60.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        mean = math.fsum(_expit(middle + drawn) for drawn in draws) / _POINTS
        low, high = (middle, high) if mean < share else (low, middle)
    return (low + high) / 2


def _expit(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


def _units(*parts: object) -> Iterator[float]:
    """Numbers between 0 and 1, neither of them included, that depend on the parts alone (52 bits each of a hash)."""
    text = json.dumps(parts, ensure_ascii=True).encode("ascii")
    for block in range(1 << 16):
        whole = blake2b(text, digest_size=64, salt=block.to_bytes(2, "big")).digest()
        for start in range(0, 64, 8):
            yield ((int.from_bytes(whole[start : start + 8], "big") >> 12) + 0.5) / 2**52
