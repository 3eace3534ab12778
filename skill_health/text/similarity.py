"""TF-IDF cosine and containment in plain Python, with exact search for the pairs above a threshold."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from skill_health.text.patterns import lazy

_TERM = lazy(r"\w\w+")

_SLACK = 1e-9

Vector = Mapping[str, float]


def terms(text: str, stop: Collection[str] = ()) -> list[str]:
    """The lower-case words of two or more characters, in order and with repeats, without the stop words."""
    found = _TERM.findall(text.lower())
    return [term for term in found if term not in stop] if stop else found


def frequencies(texts: Iterable[Iterable[str]]) -> Counter[str]:
    """The number of texts in which each term occurs."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(set(text))
    return counts


def vectors(texts: Sequence[Sequence[str]], background: int = 0) -> list[dict[str, float]]:
    """One unit vector per text; an empty one for a text without terms.

    `background` is a number of further texts, assumed to contain none of these terms. Without it, the words that two
    texts share weigh least when there are few texts.
    """
    counts = frequencies(texts)
    total = len(texts) + background
    weight = {term: math.log((1 + total) / (1 + count)) + 1 for term, count in counts.items()}
    found = []
    for text in texts:
        raw = {term: times * weight[term] for term, times in Counter(text).items()}
        length = math.sqrt(math.fsum(value * value for value in raw.values()))
        found.append({term: value / length for term, value in raw.items()})
    return found


def squares(text: Sequence[str], texts: Sequence[Collection[str]], background: int = 0) -> dict[str, float]:
    """The squared weights in the unit vector of one text among others; `background` is as in `vectors`."""
    total = len(texts) + background
    raw = {
        term: (times * (math.log((1 + total) / (1 + sum(term in other for other in texts))) + 1)) ** 2
        for term, times in Counter(text).items()
    }
    whole = math.fsum(raw.values())
    return {term: value / whole for term, value in raw.items()}


def cosine(a: Vector, b: Vector) -> float:
    """The cosine of two unit vectors, 0 to 1."""
    if len(a) > len(b):
        a, b = b, a
    return math.fsum(value * b[term] for term, value in a.items() if term in b)


def containment(a: Collection[str], b: Collection[str]) -> float:
    """The share of the smaller set of terms that the larger one contains; 0 if either is empty."""
    a, b = set(a), set(b)
    smaller = min(len(a), len(b))
    return len(a & b) / smaller if smaller else 0.0


def similar_pairs(found: Sequence[Vector], threshold: float) -> Iterator[tuple[int, int, float]]:
    """Every pair (i, j, cosine) with i < j and a cosine of at least `threshold` (> 0), by j then i.

    Terms are ranked, the rarest first, and a vector is indexed up to the rank at which the rest of it is shorter than
    the threshold. Probing with a whole vector then gives the exact product with the indexed part of another; the
    remainder is at most the rest of the one times what the other has beyond that rank (Cauchy-Schwarz).
    """
    df = frequencies(found)
    rank = {term: at for at, term in enumerate(sorted(df, key=lambda term: (df[term], term)))}
    index: dict[int, list[tuple[int, float]]] = {}
    bounds: list[tuple[int, float]] = []
    for j, vector in enumerate(found):
        ordered = sorted((rank[term], weight) for term, weight in vector.items())
        ranks = [at for at, _ in ordered]
        lengths = _rests([weight for _, weight in ordered])
        common: dict[int, float] = {}
        for at, weight in ordered:
            for i, other in index.get(at, ()):
                common[i] = common.get(i, 0.0) + weight * other
        for i in sorted(common):
            bound, rest = bounds[i]
            if common[i] + rest * lengths[bisect_right(ranks, bound)] >= threshold - _SLACK:
                value = cosine(found[i], vector)
                if value >= threshold:
                    yield i, j, value
        # The slack covers rounding: an extra term in the index costs little, but a lost pair is an error.
        end = next((n for n, length in enumerate(lengths) if length < threshold - _SLACK), len(ordered))
        for at, weight in ordered[:end]:
            index.setdefault(at, []).append((j, weight))
        bounds.append((ranks[end - 1] if end else -1, lengths[end]))


def _rests(weights: Sequence[float]) -> list[float]:
    """The length of the rest of a vector after its first 0, 1, 2 ... weights."""
    squares = [0.0]
    for weight in reversed(weights):
        squares.append(squares[-1] + weight * weight)
    return [math.sqrt(square) for square in reversed(squares)]


def contained_pairs(texts: Sequence[Collection[str]], threshold: float, least: int) -> Iterator[tuple[int, int, float]]:
    """Every pair (small, large, containment) of at least `threshold`, by the small one, then the large.

    Sets of fewer than `least` terms are never the small side: many descriptions contain a few words. Of two sets of
    equal size the earlier is the small one.
    """
    sets = [frozenset(text) for text in texts]
    df = frequencies(sets)
    index: dict[str, list[int]] = {}
    for at, held in enumerate(sets):
        for term in held:
            index.setdefault(term, []).append(at)
    for small, held in enumerate(sets):
        size = len(held)
        if size < max(least, 1):
            continue
        missing = size - math.ceil(threshold * size - _SLACK)
        rarest = sorted(held, key=lambda term: (df[term], term))[: missing + 1]
        for large in sorted({at for term in rarest for at in index[term]}):
            if (len(sets[large]), large) > (size, small):
                value = len(held & sets[large]) / size
                if value >= threshold:
                    yield small, large, value


# English function words, and what every description of a skill says (read off 529 public ones, 2026-11).
STOP = frozenset(
    "a about above after again all also an and any are as at be been before being between both but by can could do does doing "
    "done during each etc for from further had has have having he her his how if in into is it its itself just may me might more "
    "most must my need needed needs no nor not of off on once only onto or other our out over own per same shall she should so some such "
    "than that the their them then there these they this those through to too under until up upon us use used user users uses using "
    "via want wants was we were what when whenever where whether which while who whom why will with within without would you "
    "your ask asks asked asking say says said mention mentions mentioned skill skills trigger triggers triggered covers cover "
    "include includes including help helps like".split()
)
