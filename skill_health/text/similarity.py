"""TF-IDF cosine and containment in plain Python, with exact search for the pairs above a threshold."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from skill_health.text.patterns import lazy

_TERM = lazy(r"\w\w+")

_SLACK = 1e-9
_BLOCK = 8192
_AT_ONCE = 4
_FEW, _MANY = 8, 16
_SCALE = 256
_MADE = 1024
_BY_CHANCE = 0.25

Vector = Mapping[str, float]
_Masses = tuple[list[tuple[float, str]], float]


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


class TermTexts(Sequence[tuple[str, ...]]):
    """Different texts as tuples of terms, held as numbers: of 100,000 descriptions in a tenth of their own memory."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._terms: list[str] = []
        self._flat = array("I")
        self._ends = array("Q", (0,))
        self._places: dict[int, int] = {}

    def add(self, text: Sequence[str]) -> int:
        """Add a text unless it is there already; its place."""
        known = self._numbers
        numbers = array("I", [known.setdefault(term, len(known)) for term in text])
        key = hash(numbers.tobytes())
        while (place := self._places.get(key)) is not None:
            if self._flat[self._ends[place] : self._ends[place + 1]] == numbers:
                return place
            key += 1
        self._places[key] = place = len(self)
        self._flat += numbers
        self._ends.append(len(self._flat))
        return place

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, place: Any) -> Any:
        """The text at a place; slices are not supported."""
        if not 0 <= place < len(self):
            raise IndexError(place)
        if len(self._terms) < len(self._numbers):
            self._terms = list(self._numbers)
        return tuple(map(self._terms.__getitem__, self._flat[self._ends[place] : self._ends[place + 1]]))


class Vectors(Sequence[dict[str, float]]):
    """One unit vector per text, made when it is looked at; an empty one for a text without terms.

    `background` is a number of further texts, assumed to contain none of these terms. Without it, the words that two
    texts share weigh least when there are few texts.
    """

    def __init__(self, texts: Sequence[Sequence[str]], background: int = 0) -> None:
        self.texts, self.counts = texts, frequencies(texts)
        self._weights = weights(self.counts, len(texts) + background)
        self._made: dict[int, dict[str, float]] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, place: Any) -> Any:
        """The vector at a place; slices are not supported."""
        made = self._made.get(place)
        if made is None:
            if len(self._made) >= _MADE:
                self._made.clear()
            made = self._made[place] = self._make(self.texts[place])
        return made

    def _make(self, text: Sequence[str]) -> dict[str, float]:
        raw = {term: times * self._weights[term] for term, times in Counter(text).items()}
        length = math.sqrt(math.fsum(value * value for value in raw.values()))
        return {term: value / length for term, value in raw.items()}


def vectors(texts: Sequence[Sequence[str]], background: int = 0) -> list[dict[str, float]]:
    """All of `Vectors`."""
    return list(Vectors(texts, background))


def weights(counts: Mapping[str, int], total: int) -> dict[str, float]:
    """The weight of each term that so many of all texts contain (IDF)."""
    return {term: math.log((1 + total) / (1 + count)) + 1 for term, count in counts.items()}


def squares(text: Sequence[str], counts: Mapping[str, int], total: int) -> dict[str, float]:
    """The squared weights in the unit vector of a text, if so many of all texts contain its terms."""
    weight = weights({term: counts[term] for term in text}, total)
    raw = {term: (times * weight[term]) ** 2 for term, times in Counter(text).items()}
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


def similar_pairs(found: Vectors, threshold: float, block: int = _BLOCK) -> Iterator[tuple[int, int, float]]:
    """Every pair (i, j, cosine) with i < j and a cosine of at least `threshold` (> 0), by j then i.

    The cosine of two unit vectors is at most the length of the part of either that the other shares (Cauchy-Schwarz):
    what it lacks of the squares of the other has a sum of at most 1 - threshold².
    """

    def weigh(j: int) -> _Masses:
        masses = [(_SCALE * weight * weight, term) for term, weight in found[j].items()]
        return masses, _SCALE * (1 - threshold * threshold + _SLACK)

    candidates = _candidates(found.texts, found.counts, weigh, block, earlier=True)
    for j, near in groupby(candidates, key=itemgetter(0)):
        vector = found[j]
        squared = {term: weight * weight for term, weight in vector.items()}
        for _, i in near:
            # Quicker to see than the vector of the other.
            if sum(filter(None, map(squared.get, found.texts[i]))) < threshold * threshold - _SLACK:
                continue
            value = cosine(found[i], vector)
            if value >= threshold:
                yield i, j, value


def contained_pairs(
    texts: Sequence[Collection[str]], threshold: float, least: int, block: int = _BLOCK
) -> Iterator[tuple[int, int, float]]:
    """Every pair (small, large, containment) of at least `threshold`, by the small one, then the large.

    Sets of fewer than `least` terms are never the small side: many descriptions contain a few words. Of two sets of
    equal size the earlier is the small one.
    """
    counts = frequencies(texts)

    def weigh(small: int) -> _Masses:
        held = set(texts[small])
        missing = len(held) - math.ceil(threshold * len(held) - _SLACK)
        return [(1, term) for term in held], missing if len(held) >= max(least, 1) else -1

    for small, large in _candidates(texts, counts, weigh, block):
        held, others = set(texts[small]), set(texts[large])
        if (len(others), large) > (len(held), small):
            value = len(held & others) / len(held)
            if value >= threshold:
                yield small, large, value


def _choose_terms(weighed: _Masses, counts: Mapping[str, int], total: int) -> tuple[tuple[str, ...], int]:
    """Terms of a text, and how many of them each text contains that lacks no greater mass of its terms than it may.

    The heaviest terms come first. Of these, no more can be lacking than fit into that mass from the lightest on; as
    many are taken as it needs for next to no other text to contain that many by chance.
    """
    shared, spare = _shared(weighed, counts)
    if spare < 0:
        return (), 1
    shared.sort()
    least, expected = 0, 0.0
    for taken, (mass, count, _) in enumerate(shared, 1):
        spare += mass
        while spare < 0 and least < taken:
            spare -= shared[least][0]
            least += 1
        expected += count / total
        if least and total * expected**least < math.factorial(least) * _BY_CHANCE:
            return tuple([term for _, _, term in shared[:taken]]), least
    return tuple([term for _, _, term in shared]), max(least, 1)


def _shared(weighed: _Masses, counts: Mapping[str, int]) -> tuple[list[tuple[float, int, str]], float]:
    """The terms that other texts have too, each behind its negative mass and count, and what of them may be lacking."""
    masses, spare = weighed
    shared = [(-mass, counts[term], term) for mass, term in masses if counts[term] > 1]
    return shared, spare - sum(mass for mass, term in masses if counts[term] == 1)


def _candidates(
    texts: Sequence[Collection[str]],
    counts: Mapping[str, int],
    weigh: Callable[[int], _Masses],
    block: int,
    earlier: bool = False,
) -> Iterator[tuple[int, int]]:
    """Every (place, other place), in order, where the other text may contain enough of the terms of the first.

    `weigh` says what each term of a text weighs, and what of this another text may lack. With `earlier` only texts
    before it are wanted. A term is the whole number whose bits are the texts of a block that contain it, so that one
    operation looks at the whole block. Of the blocks only one is held; they are made again for every few blocks of
    probes.
    """
    total = len(texts)
    for begin in range(0, total, block * _AT_ONCE):
        end = min(begin + block * _AT_ONCE, total)
        chosen = ((place, *_choose_terms(weigh(place), counts, total)) for place in range(begin, end))
        probes = [each for each in chosen if each[1]]
        found: dict[int, list[tuple[int, int]]] = {}
        for start in range(0, (end if earlier else total) if probes else 0, block):
            postings = _Postings(texts, counts, start, min(start + block, total))
            for place, terms, least in probes:
                if earlier and place <= start:
                    continue
                sets = postings.find(terms)
                if len(sets) < least:
                    continue
                common = _in_at_least([sets], least)
                if common.bit_count() > _MANY:
                    # Their terms often stand together: by their masses they are fewer.
                    common &= postings.heavy_enough(*_shared(weigh(place), counts))
                if common and start <= place < start + block:
                    own = 1 << (place - start)
                    common &= own - 1 if earlier else ~own
                if common:
                    found.setdefault(place, []).append((start, common))
        for place in sorted(found):
            for start, common in found.pop(place):
                while common:
                    lowest = common & -common
                    yield place, start + lowest.bit_length() - 1
                    common ^= lowest


class _Postings:
    """Which of the texts from `start` to `end` contain each term, without the terms of only one text.

    The texts are the bits of a number; of a term that few of them contain, only their places are kept.
    """

    def __init__(self, texts: Sequence[Collection[str]], counts: Mapping[str, int], start: int, end: int) -> None:
        places: defaultdict[str, list[int]] = defaultdict(list)
        for at in range(end - start):
            for term in set(texts[start + at]):
                if counts[term] > 1:
                    places[term].append(at)
        self._many = {term: _number(held) for term, held in places.items() if len(held) > _FEW}
        self._few = {term: held for term, held in places.items() if len(held) <= _FEW}

    def find(self, terms: Iterable[str]) -> list[int]:
        """The number of each of the terms that any of the texts contains."""
        found = list(filter(None, map(self._many.get, terms)))
        found += map(_number, filter(None, map(self._few.get, terms)))
        return found

    def heavy_enough(self, shared: Iterable[tuple[float, int, str]], spare: float) -> int:
        """The texts that lack a mass of at most `spare` of these terms, and some others: masses are cut."""
        planes: list[list[int]] = []
        whole = 0
        for mass, _, term in shared:
            cut = int(-mass)
            whole += cut
            for number in self.find((term,)):
                planes += [[] for _ in range(cut.bit_length() - len(planes))]
                for weight in range(cut.bit_length()):
                    if cut >> weight & 1:
                        planes[weight].append(number)
        return _in_at_least(planes, max(whole - int(spare), 1))


def _number(bits: Sequence[int]) -> int:
    """The number with these bits, the highest of them last."""
    if len(bits) <= _FEW:
        return sum([1 << bit for bit in bits])
    data = bytearray((bits[-1] >> 3) + 1)
    for bit in bits:
        data[bit >> 3] |= 1 << (bit & 7)
    return int.from_bytes(data, "little")


def _in_at_least(planes: list[list[int]], least: int) -> int:
    """The bits that these numbers have at least so many (1 or more) times; those in plane n count 2^n times.

    All bits are counted at once: three numbers of one plane become one, and one of the next plane, as in a carry-save
    adder, until there is one of each.
    """
    over, weight = 0, 0
    carried: list[int] = []
    while carried or weight < max(len(planes), (least - 1).bit_length()):
        numbers = carried + planes[weight] if weight < len(planes) else carried
        carried = []
        while len(numbers) > 2:
            a, b, c = numbers.pop(), numbers.pop(), numbers.pop()
            odd = a ^ b
            carried.append(a & b | odd & c)
            numbers.append(odd ^ c)
        if len(numbers) == 2:
            carried.append(numbers[0] & numbers[1])
        digit = numbers[0] ^ numbers[1] if len(numbers) == 2 else numbers[0] if numbers else 0
        # Compared with least - 1 from the lowest digit on: the highest one in which they differ decides.
        over = over & digit if (least - 1) >> weight & 1 else over | digit
        weight += 1
    return over


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
