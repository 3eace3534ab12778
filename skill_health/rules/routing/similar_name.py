"""Two names are easily mistaken for each other

## What
Reports names of one collection that differ by one letter of a longer word, by a plural, by the order of their words
or by their hyphens only (`pdf-report` and `report-pdf`, `code-review` and `code-reviews`). Names that differ in a
number (`v1`, `v2`) or in a word of fewer than five letters (`ceo-advisor`, `cfo-advisor`) are left alone, and so
are skills whose descriptions name each other.

## Why
Models and people call skills by name; a near-duplicate is called by mistake, and is often a forgotten copy.

## Bad
```markdown
skills/code-review/SKILL.md
skills/code-reviews/SKILL.md
```

## Good
```markdown
skills/code-review/SKILL.md
skills/security-review/SKILL.md
```

## Fix
Rename one by what sets it apart, or merge the two. There is no automatic fix.

## Source
opinion · models read names as word pieces, in which a plural or the word order is easily lost (2026-11).
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

from skill_health.rules._api import Corpus, CorpusContext, Hit, Severity
from skill_health.rules.routing._groups import collections, few_asked, name_key, quote_name, tied

CODE = "RT002"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True

_LEAST, _MOST = 5, 100


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each later skill with the first that it resembles."""
    for group in collections(corpus.skills).values():
        asked = few_asked(corpus, group)
        names = [name_key(skill.name) for skill in group]
        if asked is not None and not any(_has_near(names[at], names) for at in asked):
            continue
        places: dict[str, array[int]] = {}
        for at, name in enumerate(names):
            if _LEAST <= len(name) <= _MOST:
                places.setdefault(name, array("I")).append(at)
        near = _near(places)
        for at, name in enumerate(names):
            if name not in near:
                continue
            skill = group[at]
            earlier = [(key, each) for key, other in near[name] for each in places[other] if each < at]
            others = (group[each] for _, each in sorted(earlier))
            if other := next((each for each in others if not tied(skill, each)), None):
                yield Hit(
                    skill.name_span,
                    f"the name {quote_name(skill.name)} is easily mistaken for {quote_name(other.name)} ({other.path})",
                    "Rename one by what sets it apart, or merge the two.",
                    skill.path,
                    also=(other.path,),
                )


def _has_near(name: str, names: Sequence[str]) -> bool:
    if not _LEAST <= len(name) <= _MOST:
        return False
    return any(_alike(name, other) for other in names if _LEAST <= len(other) <= _MOST)


def _near(names: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """The names that others are like -> each of these, behind the first key that both have.

    Names that share a key are found for one kind of key after the other, so that few keys are held at once.
    """
    found: dict[str, set[str]] = {}
    for kind in range(-2, max(map(len, names), default=0)):
        alike: dict[str, list[str]] = {}
        first: dict[str, str] = {}
        for name in names:
            if kind >= len(name):
                continue
            key = _key(name, kind)
            if (other := first.setdefault(key, name)) is not name:
                alike.setdefault(key, [other]).append(name)
            if kind >= 0 and key in names:
                _note(found, name, key)
        for same in alike.values():
            for a, b in combinations(same, 2):
                _note(found, a, b)
    return {
        name: sorted((min(_keys(name) & _keys(other)), other) for other in others) for name, others in found.items()
    }


def _note(found: dict[str, set[str]], a: str, b: str) -> None:
    if _alike(a, b):
        found.setdefault(a, set()).add(b)
        found.setdefault(b, set()).add(a)


def _key(name: str, kind: int) -> str:
    """What similar names share: their words sorted (-2), their words joined (-1), or all but the letter at a place."""
    if kind >= 0:
        return name[:kind] + name[kind + 1 :]
    return "joined:" + name.replace("-", "") if kind == -1 else "words:" + " ".join(sorted(name.split("-")))


def _keys(name: str) -> set[str]:
    """All of which similar names share one: the name itself too, which another one less a letter may be."""
    return {name, *(_key(name, kind) for kind in range(-2, len(name)))}


def _alike(a: str, b: str) -> bool:
    """Whether two names differ, but only slightly and not in a number."""
    if a == b or [char for char in a if char.isdigit()] != [char for char in b if char.isdigit()]:
        return False
    if sorted(a.split("-")) == sorted(b.split("-")) or a.replace("-", "") == b.replace("-", ""):
        return True
    words_a, words_b = a.split("-"), b.split("-")
    if len(words_a) != len(words_b):
        return False
    differing = [pair for pair in zip(words_a, words_b, strict=True) if pair[0] != pair[1]]
    return len(differing) == 1 and min(map(len, differing[0])) >= _LEAST and _one_letter(*differing[0])


def _one_letter(a: str, b: str) -> bool:
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    return a[head + 1 :] == b[head + 1 :] or a[head + 1 :] == b[head:] or a[head:] == b[head + 1 :]
