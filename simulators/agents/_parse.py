"""`base=0.35,target=0.3,...` -> what a scripted agent pretends. `scripted` explains the keys."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skill_health.core.errors import UsageError
from skill_health.effectiveness.records import AGAIN, FULL, NEGATIVE, ORDER, PLACEBO, PLUS_ONE, PLUS_UNRELATED, TARGET
from skill_health.text.near import nearest

NAME = "scripted"
FAILURES = {
    "fail": "infrastructure", "quota": "quota", "auth": "auth", "refusal": "refusal", "hang": "timeout",
}  # fmt: skip
"""Keys of the ways to end early -> the outcome of the trial."""
EFFECTS = {
    "target": TARGET, "negative": NEGATIVE, "full": FULL, "plus_one": PLUS_ONE, "plus_unrelated": PLUS_UNRELATED,
    "placebo": PLACEBO, "aa": AGAIN, "order": ORDER, "leave_one_out": "leave_one_out", "hint": "hint",
}  # fmt: skip
"""Keys of effects -> the condition that has it; `hint` comes on top in every arm with the hint."""
_CONTROLS = {"control_full": FULL, "control_negative": NEGATIVE}
_SHARES = ("base", "invoke", "stray", "partial", *FAILURES)
_AMOUNTS = {"spread": 10.0, "sleep": 3600.0, "cost": 1000.0, "tokens": 1e8, "duration": 1e6}
_WHOLE = ("seed", "difficulty")
_SKILL = "skill."
_KEYS = (*_SHARES, *EFFECTS, *_CONTROLS, *_AMOUNTS, *_WHOLE)


@dataclass(frozen=True, slots=True)
class ScriptPlan:
    """What a scripted agent pretends.

    `base` is the share of successes without any skill, `spread` the standard deviation of the tasks' difficulty in
    logits. `effects` and `control_effects` (of negative controls) have the conditions that were given, `skills` the
    effect of a target by its name. `failures` maps outcomes to their shares. `sleep` and `duration` are seconds, `cost`
    is in dollars.
    """

    seed: int = 1
    difficulty: int = 1
    base: float = 0.35
    spread: float = 1.0
    invoke: float = 0.9
    stray: float = 0.0
    partial: float = 0.5
    tokens: float = 12_000.0
    cost: float = 0.01
    duration: float = 60.0
    sleep: float = 0.0
    effects: Mapping[str, float] = field(default_factory=dict)
    control_effects: Mapping[str, float] = field(default_factory=dict)
    skills: Mapping[str, float] = field(default_factory=dict)
    failures: Mapping[str, float] = field(default_factory=dict)


def parse_plan(spec: str, seed: int = 1) -> ScriptPlan:
    """Read `scripted`, `scripted:key=value,...` or the keys alone; `seed` holds where none is given.

    Raises UsageError for an unknown or repeated key, a value out of its range, and failures of more than 1 in all.
    """
    text = "" if spec == NAME else spec.removeprefix(f"{NAME}:")
    given: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (each.strip() for each in part.partition("="))
        named = key.removeprefix(_SKILL) if key.startswith(_SKILL) else ""
        if not equals or not (key in _KEYS or named):
            near = nearest(key, _KEYS)
            raise UsageError(f"{NAME}: there is no {part[:60]!r}; {f'did you mean {near}=?' if near else _all()}")
        if key in given:
            raise UsageError(f"{NAME}: {key[:60]} is given twice")
        given[key] = _value(key, value)
    failures = {FAILURES[key]: value for key, value in given.items() if key in FAILURES and value}
    if sum(failures.values()) > 1 + 1e-9:
        raise UsageError(f"{NAME}: {', '.join(key for key in FAILURES if given.get(key))} come to more than 1 in all")
    plain: dict[str, Any] = {key: given[key] for key in (*_SHARES, *_AMOUNTS) if key in given and key not in FAILURES}
    return ScriptPlan(
        **plain,
        seed=int(given.get("seed", seed)),
        difficulty=int(given.get("difficulty", ScriptPlan().difficulty)),
        effects={EFFECTS[key]: value for key, value in given.items() if key in EFFECTS},
        control_effects={_CONTROLS[key]: value for key, value in given.items() if key in _CONTROLS},
        skills={key.removeprefix(_SKILL): value for key, value in given.items() if key.startswith(_SKILL)},
        failures=failures,
    )


def _value(key: str, text: str) -> float:
    if key in _WHOLE:
        if text.isascii() and text.isdigit() and len(text) < 19:
            return int(text)
        raise UsageError(f"{NAME}: {key}={text[:60]!r}: take a whole number of at most 18 digits")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    low, high = (0.0, 1.0) if key in _SHARES else (0.0, _AMOUNTS[key]) if key in _AMOUNTS else (-1.0, 1.0)
    if not low <= value <= high:
        raise UsageError(f"{NAME}: {key[:60]}={text[:60]!r}: take a number from {low:g} to {high:,g}")
    return value


def _all() -> str:
    return f"the keys are {', '.join(_KEYS)} and {_SKILL}NAME"
