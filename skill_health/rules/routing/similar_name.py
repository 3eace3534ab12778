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

from collections.abc import Iterator

from skill_health.rules._api import Corpus, CorpusContext, Hit, Severity, SkillSummary
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
        if asked is not None and not any(_has_near(skill, group) for skill in asked):
            continue
        seen: dict[str, list[SkillSummary]] = {}
        for skill in group:
            key = name_key(skill.name)
            if not _LEAST <= len(key) <= _MOST:
                continue
            keys = _keys(key)
            near = [other for each in keys for other in seen.get(each, ())]
            other = next((each for each in near if _alike(key, name_key(each.name)) and not tied(skill, each)), None)
            if other:
                yield Hit(
                    skill.name_span,
                    f"the name {quote_name(skill.name)} is easily mistaken for {quote_name(other.name)} ({other.path})",
                    "Rename one by what sets it apart, or merge the two.",
                    skill.path,
                    also=(other.path,),
                )
            for each in keys:
                seen.setdefault(each, []).append(skill)


def _has_near(skill: SkillSummary, group: list[SkillSummary]) -> bool:
    key = name_key(skill.name)
    others = (name_key(other.name) for other in group if _LEAST <= len(key) <= _MOST)
    return any(_alike(key, other) for other in others if _LEAST <= len(other) <= _MOST)


def _keys(name: str) -> list[str]:
    """Similar names share one of these: the name, whole or less one letter, its words sorted, its words joined."""
    shorter = {name[:at] + name[at + 1 :] for at in range(len(name))}
    return sorted({name, *shorter, "words:" + " ".join(sorted(name.split("-"))), "joined:" + name.replace("-", "")})


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
