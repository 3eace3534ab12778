"""The description gap: prompts whose skill is found by the whole of its SKILL.md and missed by its description.

Both searches are lexical:tfidf, which needs no model: the same words are looked for, once in what is listed and once in
the whole file. What the file says and the description does not is what a model that only sees the listing cannot know.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from skill_health.router.records import Catalogue, Prompt
from skill_health.router.routers import lexical_tfidf
from skill_health.router.routers._api import Setup
from skill_health.router.routers._local import LocalRouter, in_order, indexed
from skill_health.text.similarity import STOP, terms, vectors

MOST_WORDS = 12
"""How many words a gap names at most."""


@dataclass(frozen=True, slots=True)
class Missed:
    """One prompt that only the body finds, and what the description's search puts first; None where nothing fits."""

    prompt_id: str
    instead: str | None


@dataclass(frozen=True, slots=True)
class Gap:
    """What one skill's description lacks.

    Of `prompts` that expect the skill, the searches find `by_description` and `by_body`; `missed` are those that only
    the latter finds. `words` stand in the body and in those prompts and not in what is listed, the weightiest first.
    """

    skill: str
    prompts: int
    by_description: int
    by_body: int
    missed: tuple[Missed, ...]
    words: tuple[str, ...]


def description_gap(catalogue: Catalogue, prompts: Sequence[Prompt]) -> tuple[Gap, ...]:
    """The skills with a gap, in the order of their names. Prompts that expect no skill of the catalogue do not count.

    The words come from the prompts: pass those that authors may look at. A description that takes up the words of a
    sealed test prompt has been tuned on it.
    """
    names = set(catalogue.names)
    asked = [prompt for prompt in prompts if prompt.known and prompt.expected in names]
    asked.sort(key=lambda prompt: prompt.prompt_id)
    narrow, wide = _firsts(catalogue, asked, "description"), _firsts(catalogue, asked, "body")
    found: dict[str, list[_Found]] = {name: [] for name in sorted(names)}
    for prompt, first, whole in zip(asked, narrow, wide, strict=True):
        found[str(prompt.expected)].append(_Found(prompt, first, whole))
    lacking = _lacking(catalogue)
    gaps = (_gap(name, one, lacking[name]) for name, one in found.items())
    return tuple(gap for gap in gaps if gap.missed)


class _Found(NamedTuple):
    """A prompt, and what the two searches put first for it."""

    prompt: Prompt
    narrow: str | None
    wide: str | None


def _gap(name: str, found: Sequence[_Found], lacking: dict[str, float]) -> Gap:
    lost = [one for one in found if one.wide == name != one.narrow]
    return Gap(
        skill=name,
        prompts=len(found),
        by_description=sum(one.narrow == name for one in found),
        by_body=sum(one.wide == name for one in found),
        missed=tuple(Missed(one.prompt.prompt_id, one.narrow) for one in lost),
        words=_weightiest(lacking, (one.prompt.text for one in lost)),
    )


def _lacking(catalogue: Catalogue) -> dict[str, dict[str, float]]:
    """Per skill the terms of the whole file that what is listed does not have, with their weights."""
    skills = in_order(catalogue)
    weighed = vectors([terms(indexed(skill, "body"), STOP) for skill in skills])
    found = {}
    for skill, vector in zip(skills, weighed, strict=True):
        listed = frozenset(terms(indexed(skill, "description")))
        found[skill.name] = {term: weight for term, weight in vector.items() if term not in listed}
    return found


def _firsts(catalogue: Catalogue, prompts: Sequence[Prompt], index: str) -> list[str | None]:
    """What the search puts first for each prompt, None where no word is shared."""
    router = cast(LocalRouter, lexical_tfidf.open_router(Setup("lexical:tfidf", "", catalogue, index=index)))
    ranked = (router.rank(prompt.text) for prompt in prompts)
    return [found[0][0] if found else None for found in ranked]


def _weightiest(lacking: dict[str, float], texts: Iterable[str]) -> tuple[str, ...]:
    """The terms of the texts by their weight in the body, once for each text that has them; equal ones by alphabet."""
    sums: dict[str, list[float]] = {}
    for text in texts:
        for term in set(terms(text, STOP)) & lacking.keys():
            if not term.isnumeric():
                sums.setdefault(term, []).append(lacking[term])
    order = sorted(sums, key=lambda term: (-round(math.fsum(sums[term]), 9), term))
    return tuple(order[:MOST_WORDS])
