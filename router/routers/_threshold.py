"""When a local router abstains: a threshold on the score of its best skill, chosen on the train prompts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from skill_health.router.records import NONE, Prompt

Rank = Callable[[str], Sequence[tuple[str, float]]]
"""A prompt's text -> (name, score) of every skill with a positive score, the best first."""

STEP = 1e-6
"""Scores are rounded to it."""

GIVEN = "given"
CHOSEN = "chosen on the train prompts"
NO_TRAIN = "none: there are no train prompts"
NO_NULL = "none: no train prompt expects that no skill applies"
ONLY_NULL = "none: every train prompt expects that no skill applies"


@dataclass(frozen=True, slots=True)
class Threshold:
    """Below `value` the router abstains; None means that it only does so where no score is positive.

    `train` prompts could be used, `nulls` of them expect that no skill applies, and `right` are answered right with
    this threshold (None where it was not chosen here). `note` says where the value comes from.
    """

    value: float | None
    note: str
    train: int = 0
    nulls: int = 0
    right: int | None = None

    def describe(self) -> dict[str, Any]:
        """What a manifest keeps of it."""
        return {
            "threshold": self.value, "threshold_note": self.note, "train_prompts": self.train,
            "train_nulls": self.nulls, "train_right": self.right,
        }  # fmt: skip


def threshold_of(settings: Mapping[str, Any], rank: Rank, train: Sequence[Prompt], names: Collection[str]) -> Threshold:
    """The threshold that the settings name (`threshold`, which may be None), else the one chosen on `train`."""
    if "threshold" in settings:
        return Threshold(settings["threshold"], GIVEN)
    return choose(rank, train, names)


def choose(rank: Rank, train: Sequence[Prompt], names: Collection[str]) -> Threshold:
    """The threshold with the most right first places, abstentions included; of equal ones the lowest.

    Candidates lie halfway between neighbouring scores of the best skill, below all of them (0) and above all. A prompt
    whose right answer is not known, or not in `names`, has no say. Without both kinds of prompts, those that
    a skill answers and those that none does, there is nothing to choose between: the value is None.
    """
    usable = [prompt for prompt in train if prompt.target == NONE or prompt.target in names]
    nulls = sum(prompt.target == NONE for prompt in usable)
    if not usable or nulls in (0, len(usable)):
        note = NO_TRAIN if not usable else NO_NULL if not nulls else ONLY_NULL
        return Threshold(None, note, len(usable), nulls)
    right_at: list[float] = []
    null_at: list[float] = []
    scores: set[float] = set()
    for prompt in usable:
        ranked = rank(prompt.text)
        name, score = ranked[0] if ranked else (NONE, 0.0)
        scores.add(score)
        if prompt.target == NONE:
            null_at.append(score)
        elif prompt.target == name:
            right_at.append(score)
    right_at.sort()
    null_at.sort()

    def right(cut: float) -> int:
        silent = sum(score == 0 for score in null_at) if cut == 0 else bisect_left(null_at, cut)
        return len(right_at) - bisect_left(right_at, cut) + silent

    value = min(_cuts(sorted(scores)), key=lambda cut: (-right(cut), cut))
    return Threshold(value, CHOSEN, len(usable), nulls, right(value))


def _cuts(scores: Sequence[float]) -> list[float]:
    between = [round((low + high) / 2, 7) for low, high in pairwise(scores)]
    return [0.0, *between, round(scores[-1] + STEP, 7)]
