"""A listing -> for each skill what its risk is computed from, and what a reader can do about it.

The first passages of a skill's own body stand in for its requests: where they do not find its own description among its
siblings', a request is not likely to. What each feature is worth is in docs/routing.md.

Words are stems, and texts are compared by the TF-IDF cosine (Manning, Raghavan and Schuetze, "Introduction to
Information Retrieval", 2008, section 6.3).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

from skill_health.router.lexicon.fields import spaced
from skill_health.router.lexicon.term_index import find_numpy
from skill_health.router.records import ListedSkill
from skill_health.skill.measure import has_trigger
from skill_health.text.patterns import lazy
from skill_health.text.similarity import Vectors, weights
from skill_health.text.stems import stem_words

NAMES = ("lost_passages", "missing_words")
"""The features of the model, in the order of `RiskFeatures.values`; the larger, the worse."""

PASSAGES, SHORTEST, LONGEST = 16, 30, 300
"""How many passages of a body are asked at most, and the least and greatest length of each in characters."""
WORDS = 10
"""How many telling words of the body are looked for in the listing."""
READ = 12_000
"""How many characters of a body are read."""

_MANY = 250
"""From so many listings on they are searched with numpy where that is installed: the same sums, sooner."""

_FENCE = lazy(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)")
_MARK = lazy(r"^[\s>]*(?:[-*+]|\d{1,3}[.)])?\s*")
_OTHER = ("|", "#", "<", "!", "`", "=", "--")
_WORD = lazy(r"[^\W\d_]{2,40}")


@dataclass(frozen=True, slots=True)
class RiskFeatures:
    """What is known of a skill without labels; shares and cosines are 0 to 1.

    `lost` of `passages` of the body are answered no better by its own listing than by another. `thief` answers most of
    those, `taken` of them ("" and 0 where none shares a word). `missing` is the share of the body's telling words that
    the listing lacks, and `words` are those of them that its prose has, as it writes them, the most telling first.
    `sibling` is the cosine of the listing with that of `nearest` ("" where none shares a word). `trigger` says whether
    the listed text says when to use the skill.
    """

    skill: ListedSkill
    passages: int
    lost: int
    thief: str
    taken: int
    missing: float
    words: tuple[str, ...]
    sibling: float
    nearest: str
    trigger: bool

    @property
    def values(self) -> tuple[float, ...]:
        """The features in the order of NAMES; for a skill without passages they say nothing."""
        return (self.lost / self.passages if self.passages else math.nan, self.missing)


def read_features(skills: Sequence[ListedSkill]) -> Iterator[RiskFeatures]:
    """The features of each skill, by name and path. They depend on what is listed of the others, not on its order."""
    ordered = sorted(skills, key=lambda skill: (skill.name, skill.path, skill.text))
    listings = _Listings([stem_words(f"{spaced(skill.listed_as)}\n{skill.text}") for skill in ordered])
    bodies = [Counter(stem_words(skill.body[:READ])) for skill in ordered]
    counts: Counter[str] = Counter()
    for body in bodies:
        counts.update(body.keys())
    rarity = {term: math.log((1 + len(bodies)) / (1 + count)) for term, count in counts.items()}
    for at, (skill, body) in enumerate(zip(ordered, bodies, strict=True)):
        sibling, nearest = listings.best_other(at, listings.vectors[at])
        asked = [words for passage in passages_of(skill.body) if (words := stem_words(passage))]
        takers: Counter[str] = Counter()
        lost = 0
        for words in asked:
            rival, thief = listings.best_other(at, listings.weigh(words), own=True)
            lost += rival >= 0
            if thief is not None and rival >= 0:
                takers[ordered[thief].name] += 1
        name, taken = min(takers.items(), key=lambda pair: (-pair[1], pair[0]), default=("", 0))
        weighed = ((-(1 + math.log(times)) * rarity[term], -times, term) for term, times in body.items())
        top = [term for _, _, term in nsmallest(WORDS, weighed)]
        lacking = [term for term in top if term not in listings.vectors[at]]
        yield RiskFeatures(
            skill=skill, passages=len(asked), lost=lost, thief=name, taken=taken,
            missing=len(lacking) / len(top) if top else 0.0, words=_as_written(lacking, skill.body[:READ]),
            sibling=min(sibling, 1.0), nearest=ordered[nearest].name if nearest is not None else "",
            trigger=has_trigger(skill.text),
        )  # fmt: skip


def passages_of(body: str) -> list[str]:
    """The first lines of prose of a body, without marks of lists and quotes, each cut to LONGEST characters."""
    found: list[str] = []
    for line in _FENCE.sub("", body[:READ]).split("\n"):
        text = _MARK.sub("", line)
        if len(text) >= SHORTEST and not text.startswith(_OTHER):
            found.append(text[:LONGEST])
            if len(found) == PASSAGES:
                break
    return found


class _Listings:
    """Listed texts as unit vectors, searched by terms."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        made = Vectors(texts)
        self.vectors: list[Mapping[str, float]] = list(made)
        self._weights = weights(made.counts, len(texts))
        self._holders: dict[str, tuple[Any, Any]] = {}
        for at, vector in enumerate(self.vectors):
            for term, weight in vector.items():
                places, held = self._holders.setdefault(term, ([], []))
                places.append(at)
                held.append(weight)
        self._numpy = find_numpy() if len(texts) >= _MANY else None
        if self._numpy:
            arrays = self._numpy.array
            self._holders = {term: (arrays(places), arrays(held)) for term, (places, held) in self._holders.items()}

    def weigh(self, terms: Sequence[str]) -> dict[str, float]:
        """The weight of each term of a question that any text has; in no unit, as only its own answers are compared."""
        return {term: times * self._weights[term] for term, times in Counter(terms).items() if term in self._weights}

    def best_other(self, at: int, question: Mapping[str, float], own: bool = False) -> tuple[float, int | None]:
        """The score of the best other text, and its place (the first of equals; None where none shares a term).

        With `own` it is what that is above the score of the text at `at` itself.
        """
        # Sums are taken in one order, so equal texts have equal scores, and who comes first by name is named.
        if self._numpy:
            total = self._numpy.zeros(len(self.vectors))
            for term, weight in question.items():
                places, held = self._holders[term]
                total[places] += weight * held
            mine, total[at] = float(total[at]), -1.0
            place = int(total.argmax())
            best = float(total[place])
        else:
            found = [0.0] * len(self.vectors)
            for term, weight in question.items():
                for holder, other in zip(*self._holders[term], strict=True):
                    found[holder] += weight * other
            mine, found[at] = found[at], -1.0
            best = max(found)
            place = found.index(best)
        return max(best, 0.0) - (mine if own else 0.0), place if best > 0 else None


def _as_written(terms: Sequence[str], body: str) -> tuple[str, ...]:
    """The words of the prose that have these stems, in lower case: of each stem the one that is written most often."""
    wanted: dict[str, Counter[str]] = {term: Counter() for term in terms}
    starts = {term[:3] for term in terms}
    for word, times in Counter(_WORD.findall(_FENCE.sub("", body).lower())).items():
        if word[:3] in starts:
            for stem in stem_words(word, ()):
                if stem in wanted:
                    wanted[stem][word] += times
    written: list[str] = []
    for found in wanted.values():
        if found:
            written.append(min(found, key=lambda word: (-found[word], word)))
    return tuple(dict.fromkeys(written))
