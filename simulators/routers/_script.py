"""`skill=0.8,bias=0.1,...` -> what a scripted router does. `scripted` explains the keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skill_health.core.errors import UsageError
from skill_health.router.run.outcome import KINDS
from skill_health.text.near import nearest

STATUSES = {
    "error": "provider_error", "unavailable": "model_unavailable", "refusal": "refusal", "truncated": "truncated",
}  # fmt: skip
MALFORMED = "malformed"
FAILURES = (*STATUSES, MALFORMED, *KINDS)
SHARES = ("skill", "spread", "second", "bias", "abstain", "reject", "noise", "fenced", "confidence", *FAILURES)
POSITIONS = ("first", "last")
_WHOLE = {"latency": 3_600_000, "seed": 2**63, "difficulty": 2**63, "calibrated": 1}
_KEYS = (*SHARES, *_WHOLE, "position", "confusion")


@dataclass(frozen=True, slots=True)
class Script:
    """What a scripted router does. Shares are 0 to 1, `failures` has those that are not 0; `latency` is in ms."""

    skill: float = 0.8
    spread: float = 0.0
    second: float = 0.5
    bias: float = 0.0
    position: str = "first"
    abstain: float = 0.0
    reject: float = 0.8
    noise: float = 0.0
    confusion: Mapping[str, tuple[tuple[str, float], ...]] = field(default_factory=dict)
    fenced: float = 0.0
    failures: Mapping[str, float] = field(default_factory=dict)
    confidence: float = 0.9
    calibrated: bool = False
    latency: int = 0
    seed: int = 1
    difficulty: int = 1


def parse_script(text: str, seed: int) -> Script:
    """Read `key=value,key=value`; `seed` holds where none is given, and `reject` is as `skill` where it is not.

    Raises UsageError for an unknown or repeated key, a value of the wrong kind, and failures of more than 1 in all.
    """
    given: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, value = (each.strip() for each in part.partition("="))
        if not equals or key not in _KEYS:
            near = nearest(key, _KEYS)
            raise UsageError(f"scripted: there is no {part[:60]!r}; {f'did you mean {near}=?' if near else _all()}")
        if key in given:
            raise UsageError(f"scripted: {key} is given twice")
        given[key] = _value(key, value)
    failures = {key: given[key] for key in FAILURES if given.get(key)}
    if sum(failures.values()) > 1 + 1e-9:
        raise UsageError(f"scripted: {', '.join(failures)} come to more than 1 in all")
    given["calibrated"] = bool(given.get("calibrated"))
    given = {"seed": seed, "reject": given.get("skill", Script().skill), **given}
    return Script(**{key: value for key, value in given.items() if key not in FAILURES}, failures=failures)


def _value(key: str, value: str) -> Any:
    if key == "confusion":
        return _confusion(value)
    if key == "position":
        if value not in POSITIONS:
            raise UsageError(f"scripted: position={value[:60]!r}: take {' or '.join(POSITIONS)}")
        return value
    if key in _WHOLE:
        if not (value.isascii() and value.isdigit() and len(value) < 20 and int(value) <= _WHOLE[key]):
            raise UsageError(f"scripted: {key}={value[:60]!r}: take a whole number from 0 to {_WHOLE[key]}")
        return int(value)
    return _share(key, value)


def _share(key: str, value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"scripted: {key}={value[:60]!r}: take a share from 0 to 1")
    return share


def _confusion(text: str) -> dict[str, tuple[tuple[str, float], ...]]:
    """`a>b@0.3+a>c@0.1`: where a is right, b comes first in 0.3 of the answers and c in 0.1."""
    found: dict[str, tuple[tuple[str, float], ...]] = {}
    for pair in text.split("+"):
        names, at, share = pair.rpartition("@")
        right, arrow, wrong = names.partition(">")
        if not (at and arrow and right and wrong) or right == wrong:
            raise UsageError(f"scripted: confusion={pair[:60]!r}: write right-skill>wrong-skill@share, joined by +")
        found[right] = (*found.get(right, ()), (wrong, _share("confusion", share)))
    for right, pairs in found.items():
        if sum(share for _, share in pairs) > 1 + 1e-9:
            raise UsageError(f"scripted: the confusions of {right[:60]} come to more than 1")
    return found


def _all() -> str:
    return f"the keys are {', '.join(_KEYS)}"
