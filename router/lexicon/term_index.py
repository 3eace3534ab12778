"""Texts, searched by the TF-IDF cosine of their terms: what `FieldSearch` is made of.

With numpy it is the same to the last bit as without, only sooner: every product and every sum is rounded alike, and the
terms of a query are added in the same order.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

Terms = list[str]

_BITS = 8
TIMES, MOST_TEXTS = 1 << _BITS, 1 << (32 - _BITS)
"""A posting is the place of a text times TIMES, plus how often it has the term; so many places fit into its 32 bits."""

_WEIGHTS = [0.0, *(1 + math.log(times) for times in range(1, TIMES))]
_LONG = 16
"""From so many texts on numpy is quicker with a term."""
_COMMON = 8
"""A term that one text in so many has is read as a row of bytes, one for each text."""
_KEPT_BYTES = 192 << 20

Postings = Mapping[str, Any]
"""Term -> its postings in the order of the texts: an array of 32-bit numbers, or a view of one."""


class TermIndex:
    """An index over some texts.

    `owners` says for each text which of `size` things it is a part of; a thing is as close as the closest of its texts.
    By default each text stands for itself. `count` is the number of texts, `lengths` what their scores are divided by.

    Raises ValueError for more than MOST_TEXTS texts.
    """

    def __init__(
        self, texts: Iterable[Sequence[str]], slope: float = 1.0, owners: Sequence[int] | None = None, size: int = 0
    ) -> None:
        self.lengths: Sequence[float]
        postings: dict[str, array[int]] = {}
        count = 0
        for count, text in enumerate(texts, 1):
            if count > MOST_TEXTS:
                raise ValueError(f"an index takes at most {MOST_TEXTS:,} texts")
            base = (count - 1) * TIMES
            for term, times in Counter(text).items():
                held = postings.get(term)
                if held is None:
                    held = postings[term] = array("I")
                held.append(base + (times if times < TIMES else TIMES - 1))
        self._hold(count, postings, None, owners, size)
        self.lengths = self._measure(slope)

    @classmethod
    def restore(
        cls, count: int, postings: Postings, lengths: Sequence[float], owners: Sequence[int] | None, size: int
    ) -> TermIndex:
        """An index as it was built before, from its parts."""
        made = cls.__new__(cls)
        made._hold(count, postings, lengths, owners, size)
        return made

    def _hold(
        self, count: int, postings: Postings, lengths: Sequence[float] | None, owners: Sequence[int] | None, size: int
    ) -> None:
        self.count, self.postings, self.owners = count, postings, owners
        self.size = size if owners is not None else count
        self.lengths = () if lengths is None else lengths
        self._rows: dict[str, Any] = {}
        self._kept = 0
        self._divisors: Any = None
        self._owners: Any = None

    def _measure(self, slope: float) -> list[float]:
        numpy = find_numpy()
        squares: Any = numpy.zeros(self.count) if numpy else [0.0] * self.count
        by_rarity: dict[float, Any] = {}
        for term, held in self.postings.items():
            idf = self.rarity(term)
            by_times = by_rarity.get(idf)
            if by_times is None:
                by_times = [(weight * idf) ** 2 for weight in _WEIGHTS]
                by_times = by_rarity[idf] = numpy.array(by_times) if numpy else by_times
            if numpy and len(held) >= _LONG:
                codes = numpy.array(held)
                squares[codes // TIMES] += by_times[codes % TIMES]
            else:
                for code in held:
                    squares[code // TIMES] += by_times[code % TIMES]
        squares = squares.tolist() if numpy else squares
        lengths = [math.sqrt(square) for square in squares]
        mean = math.fsum(lengths) / len(lengths) if lengths else 0.0
        return [(1 - slope) * mean + slope * length or 1.0 for length in lengths]

    def rarity(self, term: str) -> float:
        """The weight of a term by how few texts have it, at least 1."""
        held = self.postings.get(term)
        return math.log((1 + self.count) / (1 + (0 if held is None else len(held)))) + 1

    def scores(self, terms: Sequence[str]) -> list[float]:
        """How close each thing is to these terms: 0 where it has none of them, at most 1 where the slope is 1."""
        found = self.close(terms)
        return found if isinstance(found, list) else found.tolist()

    def close(self, terms: Sequence[str]) -> Any:
        """The scores, as an array where numpy is installed."""
        rare = {term: self.rarity(term) for term in terms}
        raw = {term: (1 + math.log(times)) * rare[term] for term, times in Counter(terms).items()}
        length = math.sqrt(math.fsum(weight * weight for weight in raw.values())) or 1.0
        factors = [(weight / length * rare[term], term) for term, weight in raw.items() if term in self.postings]
        return self._add_arrays(factors) if find_numpy() else self._add(factors)

    def _add(self, factors: Iterable[tuple[float, str]]) -> list[float]:
        found = [0.0] * self.count
        for factor, term in factors:
            for code in self.postings[term]:
                found[code // TIMES] += factor * _WEIGHTS[code % TIMES]
        close = [score / whole for score, whole in zip(found, self.lengths, strict=True)]
        if self.owners is None:
            return close
        best = [0.0] * self.size
        for owner, score in zip(self.owners, close, strict=True):
            if score > best[owner]:
                best[owner] = score
        return best

    def _add_arrays(self, factors: Iterable[tuple[float, str]]) -> Any:
        numpy = find_numpy()
        if self._divisors is None:
            self._divisors = numpy.asarray(self.lengths, float)
            self._owners = None if self.owners is None else numpy.asarray(self.owners, numpy.intp)
        found = numpy.zeros(self.count)
        for factor, term in factors:
            places, times = self._row(term)
            products = factor * _numpy_weights()
            if places is None:
                found += products[times]
            else:
                # No text stands twice among the postings of a term.
                found[places] += products[times]
        close = found / self._divisors
        if self._owners is None:
            return close
        best = numpy.zeros(self.size)
        numpy.maximum.at(best, self._owners, close)
        return best

    def _row(self, term: str) -> tuple[Any, Any]:
        """The places of the texts that have a term (None: of all texts), and how often each has it. Some are kept."""
        kept = self._rows.get(term)
        if kept is not None:
            return kept  # type: ignore[no-any-return]
        numpy = find_numpy()
        codes = numpy.asarray(self.postings[term])
        places, times = (codes >> _BITS).astype(numpy.intp), (codes & (TIMES - 1)).astype(numpy.uint8)
        row = (places, times)
        if len(codes) * _COMMON >= self.count:
            whole = numpy.zeros(self.count, numpy.uint8)
            whole[places] = times
            row = (None, whole)
        size = row[1].nbytes + (0 if row[0] is None else places.nbytes)
        if self._kept + size > _KEPT_BYTES:
            self._rows.clear()
            self._kept = 0
        self._rows[term] = row
        self._kept += size
        return row


@cache
def _numpy_weights() -> Any:
    return find_numpy().array(_WEIGHTS)


@cache
def find_numpy() -> Any:
    """The package, which no installation without extras has; None where it is missing."""
    try:
        return import_module("numpy")
    except ModuleNotFoundError:
        return None


def add_up(numbers: Any) -> float:
    """The sum of a list or an array of numbers from the first to the last, alike with and without numpy.

    `sum` is another in Python 3.12 and later, and numpy's depends on the processor; running sums do not.
    """
    if not isinstance(numbers, list):
        return float(find_numpy().add.accumulate(numbers)[-1]) if len(numbers) else 0.0
    total = 0.0
    for number in numbers:
        total += number
    return total


class PackedPostings(Mapping[str, Any]):
    """Postings that lie one after the other in one block of little-endian 32-bit numbers."""

    def __init__(self, terms: Sequence[str], sizes: Sequence[int], codes: Any) -> None:
        self._at: dict[str, tuple[int, int]] = {}
        begin = 0
        for term, size in zip(terms, sizes, strict=True):
            self._at[term] = (begin, begin + size)
            begin += size
        self._codes = codes

    def __getitem__(self, term: str) -> Any:
        begin, end = self._at[term]
        return self._codes[begin:end]

    def __iter__(self) -> Iterator[str]:
        return iter(self._at)

    def __len__(self) -> int:
        return len(self._at)

    def __contains__(self, term: object) -> bool:
        return term in self._at
