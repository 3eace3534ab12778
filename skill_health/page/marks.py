"""Marks on figures: what keeps a number from being taken at its word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LEGEND = {
    "SIMULATED": "made by a script, no model was asked; it shows that the measurement works, not what skills do",
    "local": "a router on this machine that compares words or vectors; no model that agents use",
    "stale": "the skill or its description has changed since it was measured",
    "subset": "measured over a part of the prompts only",
    "untrusted": "the run failed its own checks: see its report",
    "preliminary": "too few tasks or too wide an interval for a conclusion",
    "biased": "something was not the same with and without the skill: see its tasks",
}


@dataclass(frozen=True, slots=True)
class Mark:
    """A word of the legend, and the reason where the report names one."""

    word: str
    reason: str = ""


def route_marks(run: Mapping[str, Any]) -> tuple[Mark, ...]:
    """The marks of a skill's numbers in a routing run (an item of `routing.models` or `routing` in the record)."""
    words = (
        ("SIMULATED", run.get("simulated")),
        ("local", run.get("local")),
        ("stale", run.get("changed")),
        ("subset", run.get("selection") not in (None, "all")),
        ("untrusted", run.get("trusted") is False),
    )
    return tuple(Mark(word) for word, holds in words if holds)


def effect_marks(line: Mapping[str, Any]) -> tuple[Mark, ...]:
    """The marks of a line of effects (an item of `effect.models` or `effect` in the record), with their reasons."""
    found = [Mark("SIMULATED")] if line.get("simulated") else []
    found += [Mark("stale")] if line.get("changed") else []
    for word in ("biased", "preliminary"):
        reasons = line.get(word) or ()
        found += [Mark(word, "; ".join(str(each) for each in reasons))] if reasons else []
    return tuple(found)
