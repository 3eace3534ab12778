"""Which texts of different repositories share most of their passages, by a sample of their fingerprints.

A sketch is the least hashes of a text, which are the same sample of every text's (Broder, "On the resemblance and
containment of documents", SEQUENCES 1997): below the lesser bound of two sketches both are known in full, and the share
of common hashes there estimates the share of common passages, the Jaccard index.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from skill_health.documents._record import NotedFigure
from skill_health.text.fingerprints import fingerprints, words_of

SIZE = 256
NEAR = 0.7
"""The share of common passages from which two texts are near copies."""
LEAST = 12
"""Texts with fewer fingerprints, some forty words, are not compared."""
_DIGITS = 8


class Sketch(NamedTuple):
    """The least hashes of a text, and how many it has in all."""

    hashes: tuple[int, ...]
    total: int

    @property
    def bound(self) -> int:
        """Up to which hash all of the text's are known."""
        return self.hashes[-1] if len(self.hashes) < self.total else 1 << 32


def draw_sketch(text: str) -> Sketch:
    """The sketch of a text."""
    every = sorted({_mixed(value) for value, _ in fingerprints(words_of(text))})
    return Sketch(tuple(every[:SIZE]), len(every))


def _mixed(value: int) -> int:
    """Another number of 32 bits for each (the last step of MurmurHash3, Appleby 2011).

    A fingerprint was kept because it is less than its neighbours: the least of them are no fair sample of all.
    """
    value = (value ^ value >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    value = (value ^ value >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return value ^ value >> 16


def pack_sketch(sketch: Sketch) -> str:
    """The hashes as text."""
    return "".join(f"{value:0{_DIGITS}x}" for value in sketch.hashes)


def unpack_sketch(text: str, total: int) -> Sketch:
    """The sketch of such a text; an empty one where it is none."""
    parts = [text[at : at + _DIGITS] for at in range(0, len(text), _DIGITS)]
    try:
        return Sketch(tuple(int(part, 16) for part in parts), total)
    except ValueError:
        return Sketch((), 0)


def shared_passages(one: Sketch, other: Sketch) -> NotedFigure:
    """The share of common passages of two texts with Wilson's interval; exact where both sketches are whole."""
    from skill_health.stats.intervals import wilson_interval

    both, n = _count_common(one, other, len(frozenset(one.hashes).intersection(other.hashes)))
    if not n:
        return NotedFigure(value=None, low=None, high=None, n=0, clusters=0, note="neither text has a passage")
    whole = len(one.hashes) == one.total and len(other.hashes) == other.total
    share = both / n
    low, high = (share, share) if whole else wilson_interval(both, n)
    return NotedFigure(value=round(share, 4), low=round(low, 4), high=round(high, 4), n=n, clusters=n, note="")


def _count_common(one: Sketch, other: Sketch, common: int) -> tuple[int, int]:
    """How many hashes both have, and one of them, up to where all of both are known; `common` are those of all.

    A hash that both sketches hold lies below both bounds.
    """
    bound = min(one.bound, other.bound)
    known = sum(bisect_right(each.hashes, bound) for each in (one, other))
    return common, known - common


class NearPair(NamedTuple):
    """Two texts by their places, and how much they share."""

    one: int
    other: int
    shared: NotedFigure


def find_near(sketches: Sequence[Sketch], homes: Sequence[frozenset[str]], least: float = NEAR) -> tuple[NearPair, ...]:
    """Of each text the closest one that shares at least `least`; each pair once, in order.

    `homes` are the repositories of each text: two that have only the same one are no pair. A pair that shares so much
    has a common hash among the rarest of either, so only these are looked up.
    """
    counts = Counter(value for each in sketches for value in each.hashes)
    sets = [frozenset(each.hashes) for each in sketches]
    best: dict[int, tuple[float, int]] = {}
    for at, other in _candidates(sketches, homes, counts, least):
        both, n = _count_common(sketches[at], sketches[other], len(sets[at] & sets[other]))
        if both >= least * n:
            for one, two in ((at, other), (other, at)):
                best[one] = min(best.get(one, (0.0, two)), (-both / n, two))
    pairs = sorted({(min(at, other), max(at, other)) for at, (_, other) in best.items()})
    return tuple(NearPair(one, other, shared_passages(sketches[one], sketches[other])) for one, other in pairs)


def _candidates(
    sketches: Sequence[Sketch], homes: Sequence[frozenset[str]], counts: Counter[int], least: float
) -> Iterator[tuple[int, int]]:
    """Pairs from different repositories that share one of their rare hashes, each once."""
    holders: dict[int, list[int]] = {}
    for at, sketch in enumerate(sketches):
        if sketch.total < LEAST:
            continue
        rare = sorted(sketch.hashes, key=lambda value: (counts[value], value))
        # One of the sketches lies wholly below the bound and is the longer one, so that common hashes are at least so
        # large a share of either. All but so many, and one more, therefore hold one of them (prefix filtering).
        few = rare[: len(rare) - int(least * len(rare)) + 1]
        found: set[int] = set()
        for value in few:
            found.update(holders.setdefault(value, []))
            holders[value].append(at)
        yield from ((other, at) for other in sorted(found) if len(homes[other] | homes[at]) > 1)
