"""Two descriptions say nearly the same

## What
Reports pairs of descriptions whose TF-IDF cosine is at least `limits.similarity` (0.75), or one of which contains at
least `limits.containment` (0.9) of the other's words, with the words that they share. Words common to all descriptions
(use, when, user ...) do not count, and descriptions with fewer than six other words are left alone. Pairs in which one
names the other ("for X use NAME instead") are left alone, and so are skills of the same name, which `duplicate-name`
reports. One finding per skill names the closest of the earlier ones. It is a warning where the words are the same,
else information: skills of one family may share all words but the one that counts.

## Why
The description is all that a model sees when it chooses. Between two that say the same it chooses by chance.

## Bad
```markdown
description: Writes unit tests for Python functions with pytest. Use when Python code needs unit tests.
description: Generates pytest unit tests for Python functions. Use when Python functions need unit tests.
```

## Good
```markdown
description: Writes unit tests for Python functions with pytest. For browser tests use e2e-tests instead.
description: Writes end-to-end browser tests with Playwright. For single functions use unit-tests instead.
```

## Fix
Say what sets each apart, name the other as the boundary, or merge the two. There is no automatic fix.

## Source
evidence · among 529 public skills of four publishers the closest pair of different skills has a cosine of 0.63, so only
near-copies reach 0.75 (measured 2026-11).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from skill_health.config.settings import RuleLimits
from skill_health.rules._api import Corpus, CorpusContext, Hit, Severity, SkillSummary
from skill_health.rules.routing._groups import few_asked, name_key, quote_name, tied
from skill_health.text import similarity
from skill_health.text.similarity import STOP

CODE = "RT003"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

_LEAST = 6
# Stands in for a user's other skills: a pair is judged alike in a collection of two and of two hundred.
_BACKGROUND = 200
_SLACK = 1e-6
_LOOKED_UP = 64
_SAME = "says the same as"


class _Closest(NamedTuple):
    """The closest earlier skill so far, by its place, and where the texts of both are; the least one counts."""

    differs: bool
    value: float
    path: str
    how: str
    first: int
    texts: tuple[int, int]


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each skill whose description is close to an earlier one, naming the closest."""
    limits = context.config.limits
    asked = few_asked(corpus, corpus.skills)
    if asked == []:
        return
    texts, firsts, places = similarity.TermTexts(), array("I"), set()
    again: list[tuple[int, int]] = []
    for at, skill in enumerate(corpus.skills):
        terms = similarity.terms(skill.description, STOP)
        if len(set(terms)) < _LEAST:
            continue
        place = texts.add(terms)
        if place == len(firsts):
            firsts.append(at)
        else:
            again.append((place, at))
        if asked and at in asked:
            places.add(place)
    if asked is not None:
        repeated = {place for place, _ in again}
        if places.isdisjoint(repeated) and not _may_have_near(places, texts, limits):
            return
    vectors = similarity.Vectors(texts, _BACKGROUND)
    look_up = lru_cache(_LOOKED_UP)(corpus.skills.__getitem__)
    closest: dict[str, _Closest] = {}
    later_at: dict[str, int] = {}
    counts: Counter[str] = Counter()

    def note(a: int, b: int, value: float, how: str, pair: tuple[int, int], is_new: bool = True) -> None:
        one, other = look_up(a), look_up(b)
        first, later = (a, b) if one.path < other.path else (b, a)
        if name_key(one.name) != name_key(other.name) and not tied(one, other):
            path = look_up(later).path
            found = _Closest(how != _SAME, -value, look_up(first).path, how, first, pair)
            closest[path] = min(closest.get(path, found), found)
            later_at[path] = later
            counts[path] += is_new

    for place, at in again:
        note(firsts[place], at, 1.0, _SAME, (place, place))
    for i, j, value in similarity.similar_pairs(vectors, limits.similarity):
        note(firsts[i], firsts[j], value, f"is {value:.0%} like", (i, j))
    for i, j, value in similarity.contained_pairs(texts, limits.containment, _LEAST):
        # A similar pair has been counted already.
        is_new = similarity.cosine(vectors[i], vectors[j]) < limits.similarity
        note(firsts[i], firsts[j], value, f"shares {value:.0%} of the words of the shorter with", (i, j), is_new)
    for path in sorted(closest):
        near = closest[path]
        shared = _heaviest(*(vectors[place] for place in near.texts))
        yield _hit(near, corpus.skills[near.first], corpus.skills[later_at[path]], counts[path] - 1, shared)


def _may_have_near(places: set[int], texts: similarity.TermTexts, limits: RuleLimits) -> bool:
    """Whether any other text may be near one at these places, judged without the vectors of the others.

    A cosine is at most the length of the part of one unit vector that the other text shares (Cauchy-Schwarz).
    """
    own = {place: frozenset(texts[place]) for place in sorted(places)}
    counts = similarity.frequencies(map(frozenset().union(*own.values()).intersection, texts))
    squares = {place: similarity.squares(texts[place], counts, len(texts) + _BACKGROUND) for place in own}
    for at, text in enumerate(texts):
        for place, terms in own.items():
            shared = terms.intersection(text)
            if place == at or not shared:
                continue
            if len(shared) + _SLACK >= limits.containment * min(len(terms), len(set(text))):
                return True
            if sum(squares[place][term] for term in shared) >= limits.similarity**2 - _SLACK:
                return True
    return False


def _hit(near: _Closest, first: SkillSummary, later: SkillSummary, others: int, shared: Sequence[str]) -> Hit:
    more = f", and {others} more" if others else ""
    return Hit(
        later.description_span,
        f"the description {near.how} that of {quote_name(first.name)} ({first.path}{more}); shared: {', '.join(shared)}",
        "Say what sets the two apart, or name the other one as the boundary: for ... use NAME instead.",
        later.path,
        severity=Severity.INFO if near.differs else None,
        also=(first.path,),
    )


def _heaviest(a: similarity.Vector, b: similarity.Vector, most: int = 8) -> list[str]:
    return sorted(a.keys() & b.keys(), key=lambda term: (-a[term] * b[term], term))[:most]
