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

from collections.abc import Iterator, Sequence

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
_SAME = "says the same as"


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each skill whose description is close to an earlier one, naming the closest."""
    limits = context.config.limits
    texts: dict[tuple[str, ...], list[SkillSummary]] = {}
    for skill in corpus.skills:
        terms = tuple(similarity.terms(skill.description, STOP))
        if len(set(terms)) >= _LEAST:
            texts.setdefault(terms, []).append(skill)
    words = list(texts)
    groups = list(texts.values())
    asked = few_asked(corpus, corpus.skills)
    if asked is not None:
        paths = {skill.path for skill in asked}
        places = [at for at, group in enumerate(groups) if any(skill.path in paths for skill in group)]
        sets = [frozenset(each) for each in words]
        if not any(len(groups[at]) > 1 or _may_have_near(at, words[at], sets, limits) for at in places):
            return
    vectors = similarity.vectors(words, _BACKGROUND)
    found: dict[str, list[tuple[float, SkillSummary, SkillSummary, str, Sequence[str]]]] = {}

    def note(a: SkillSummary, b: SkillSummary, value: float, how: str, shared: Sequence[str]) -> None:
        first, later = (a, b) if a.path < b.path else (b, a)
        if name_key(a.name) != name_key(b.name) and not tied(a, b):
            found.setdefault(later.path, []).append((value, first, later, how, shared))

    for at, group in enumerate(groups):
        for later in group[1:]:
            note(group[0], later, 1.0, _SAME, _heaviest(vectors[at], vectors[at]))
    for i, j, value in similarity.similar_pairs(vectors, limits.similarity):
        how = f"is {value:.0%} like"
        note(groups[i][0], groups[j][0], value, how, _heaviest(vectors[i], vectors[j]))
    for i, j, value in similarity.contained_pairs([frozenset(each) for each in words], limits.containment, _LEAST):
        how = f"shares {value:.0%} of the words of the shorter with"
        note(groups[i][0], groups[j][0], value, how, _heaviest(vectors[i], vectors[j]))
    for path in sorted(found):
        yield _hit(found[path])


def _may_have_near(at: int, own: Sequence[str], sets: Sequence[frozenset[str]], limits: RuleLimits) -> bool:
    """Whether any other text may be near the one at this place, judged without the vectors of the others.

    A cosine is at most the length of the part of one unit vector that the other text shares (Cauchy-Schwarz).
    """
    squares = similarity.squares(own, sets, _BACKGROUND)
    for other, held in enumerate(sets):
        shared = squares.keys() & held
        if other == at or not shared:
            continue
        if len(shared) + _SLACK >= limits.containment * min(len(squares), len(held)):
            return True
        if sum(squares[term] for term in shared) >= limits.similarity**2 - _SLACK:
            return True
    return False


def _hit(pairs: list[tuple[float, SkillSummary, SkillSummary, str, Sequence[str]]]) -> Hit:
    pairs.sort(key=lambda pair: (pair[3] != _SAME, -pair[0], pair[1].path, pair[3]))
    _, first, later, how, shared = pairs[0]
    others = len({pair[1].path for pair in pairs}) - 1
    more = f", and {others} more" if others else ""
    return Hit(
        later.description_span,
        f"the description {how} that of {quote_name(first.name)} ({first.path}{more}); shared: {', '.join(shared)}",
        "Say what sets the two apart, or name the other one as the boundary: for ... use NAME instead.",
        later.path,
        severity=None if how == _SAME else Severity.INFO,
        also=(first.path,),
    )


def _heaviest(a: similarity.Vector, b: similarity.Vector, most: int = 8) -> list[str]:
    return sorted(a.keys() & b.keys(), key=lambda term: (-a[term] * b[term], term))[:most]
