"""TF-IDF cosine and containment in plain Python, with exact search for the pairs above a threshold.

The weights are those of scikit-learn's TfidfVectorizer with its defaults: raw term counts times
ln((1 + n) / (1 + df)) + 1, scaled to length 1. The searches use the prefix filter of Bayardo, Ma and
Srikant, "Scaling Up All Pairs Similarity Search", WWW 2007: what two texts above the threshold must share is
at least one of their rarer terms, so that only those are indexed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

_TERM = re.compile(r"\w\w+")

Vector = Mapping[str, float]


def terms(text: str, stop: Collection[str] = ()) -> list[str]:
    """The lower-case words of two or more characters, in order and with repeats, without the stop words."""
    found = _TERM.findall(text.lower())
    return [term for term in found if term not in stop] if stop else found


def frequencies(texts: Sequence[Sequence[str]]) -> Counter[str]:
    """In how many of the texts each term occurs."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(text))
    return counts


def vectors(texts: Sequence[Sequence[str]], counts: Mapping[str, int] | None = None) -> list[dict[str, float]]:
    """One unit vector per text; an empty one for a text without terms. `counts` as of `frequencies`."""
    counts = frequencies(texts) if counts is None else counts
    total = len(texts)
    weight = {term: math.log((1 + total) / (1 + count)) + 1 for term, count in counts.items()}
    found = []
    for text in texts:
        raw = {term: times * weight[term] for term, times in Counter(text).items()}
        length = math.sqrt(math.fsum(value * value for value in raw.values()))
        found.append({term: value / length for term, value in raw.items()})
    return found


def cosine(a: Vector, b: Vector) -> float:
    """The cosine of two unit vectors, 0 to 1."""
    if len(a) > len(b):
        a, b = b, a
    return math.fsum(value * b[term] for term, value in a.items() if term in b)


def containment(a: Collection[str], b: Collection[str]) -> float:
    """Which share of the smaller set of terms the larger one holds; 0 where one is empty."""
    a, b = set(a), set(b)
    smaller = min(len(a), len(b))
    return len(a & b) / smaller if smaller else 0.0


def similar_pairs(found: Sequence[Vector], threshold: float) -> Iterator[tuple[int, int, float]]:
    """Every pair (i, j, cosine) with i < j and a cosine of at least `threshold` (> 0), by j then i.

    A vector is indexed by its rarest terms only: by so many that the rest, alone, is shorter than the
    threshold, and therefore cannot make a pair (Cauchy-Schwarz; the vectors have length 1).
    """
    df = Counter(term for vector in found for term in vector)
    index: dict[str, list[int]] = {}
    for j, vector in enumerate(found):
        ordered = sorted(vector, key=lambda term: (df[term], term))
        rest = math.fsum(value * value for value in vector.values())
        candidates: set[int] = set()
        prefix = 0
        # The slack covers rounding: a term too many in the index costs little, a pair lost is wrong.
        while prefix < len(ordered) and rest >= (threshold * threshold) - 1e-9:
            candidates.update(index.get(ordered[prefix], ()))
            rest -= vector[ordered[prefix]] ** 2
            prefix += 1
        for i in sorted(candidates):
            value = cosine(found[i], vector)
            if value >= threshold:
                yield i, j, value
        for term in ordered[:prefix]:
            index.setdefault(term, []).append(j)


def contained_pairs(
    sets: Sequence[Collection[str]], threshold: float, least: int
) -> Iterator[tuple[int, int, float]]:
    """Every pair (small, large, containment) of at least `threshold`, by the small one, then the large.

    Sets of fewer than `least` terms are no small side: a few words lie in many descriptions. Of two
    sets of one size the earlier is the small one.
    """
    df = Counter(term for terms_ in sets for term in set(terms_))
    index: dict[str, list[int]] = {}
    for at, held in enumerate(sets):
        for term in set(held):
            index.setdefault(term, []).append(at)
    for small, held in enumerate(sets):
        size = len(set(held))
        if size < max(least, 1):
            continue
        ordered = sorted(set(held), key=lambda term: (df[term], term))
        missing = size - math.ceil(threshold * size - 1e-9)
        candidates: set[int] = set()
        for term in ordered[: missing + 1]:
            candidates.update(index[term])
        for large in sorted(candidates):
            other = len(set(sets[large]))
            if large != small and (other, large) > (size, small):
                value = containment(held, sets[large])
                if value >= threshold:
                    yield small, large, value
