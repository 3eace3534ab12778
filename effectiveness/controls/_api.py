"""What a template of negative controls is given and returns."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")
LEVELS = ("easy", "medium", "hard")
"""The difficulties: a template adds rows and rules from one to the next, by its index."""


class Draw:
    """Seeded choices that are the same in every version of Python: only `random()` is promised to be."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def whole(self, least: int, most: int) -> int:
        """A whole number from `least` to `most`, both included."""
        return least + int(self._random.random() * (most - least + 1))

    def pick(self, items: Sequence[Item]) -> Item:
        """One of them."""
        return items[self.whole(0, len(items) - 1)]

    def some(self, items: Sequence[Item], count: int) -> list[Item]:
        """So many different ones, in random order."""
        left = list(items)
        return [left.pop(self.whole(0, len(left) - 1)) for _ in range(count)]

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return self._random.random() < share


@dataclass(frozen=True, slots=True)
class ControlDraft:
    """A task as a template makes it.

    `prompt` asks for the file `answer`, whose lines are `expected`; `starting` are the files that the agent finds, and
    `solve` is a Python program that works the answer out from them, apart from how the template did.
    """

    title: str
    prompt: str
    starting: Mapping[str, str]
    answer: str
    expected: Sequence[str]
    solve: str


Template = Callable[[Draw, int], ControlDraft]
"""What each module calls `make`: a draft for choices and the index of a level."""

FIRST = (
    "Ada",
    "Bela",
    "Cem",
    "Dora",
    "Edin",
    "Femi",
    "Greta",
    "Hana",
    "Ivo",
    "Jun",
    "Kaja",
    "Lior",
    "Mira",
    "Nils",
    "Oda",
    "Pia",
)
LAST = (
    "Abel",
    "Brandt",
    "Costa",
    "Dahl",
    "Ekman",
    "Fuchs",
    "Gallo",
    "Horn",
    "Ito",
    "Jansen",
    "Kraus",
    "Lund",
    "Meyer",
    "Novak",
)
PLACES = ("Aachen", "Bergen", "Cork", "Delft", "Essen", "Faro", "Gent", "Hasselt", "Imola", "Jena", "Kiel", "Lille")
WORDS = (
    "amber", "basket", "candle", "drawer", "ember", "feather", "garden", "hammer", "island", "jacket", "kettle", "ladder",
    "marble", "needle", "orchard", "pebble", "quiver", "ribbon", "saddle", "timber", "urchin", "velvet", "walnut", "yarrow",
)  # fmt: skip
