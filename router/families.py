"""Prompts that are nearly the same: found by their words, and kept together as families."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from skill_health.router.records import Prompt
from skill_health.rules.fixtures._records import same_text
from skill_health.text import similarity
from skill_health.text.similarity import STOP

NEAR = 0.8
# Words that two prompts share weigh least where there are few prompts; these are taken to exist beside them.
_BACKGROUND = 200
_LEAST = 3


@dataclass(frozen=True, slots=True)
class SimilarPrompts:
    """Two prompts, the earlier one first, and the cosine of their words; 1.0 and `same` for one text twice."""

    first: Prompt
    later: Prompt
    similarity: float
    same: bool = False


def near_pairs(prompts: Sequence[Prompt], threshold: float = NEAR) -> list[SimilarPrompts]:
    """The pairs of prompts with the same text (case, spacing and closing punctuation aside) or nearly the same words.

    Of a text that stands several times each later one is paired with the first. A text of fewer than three telling
    words is compared as a whole only.
    """
    first: dict[str, Prompt] = {}
    pairs = []
    for prompt in prompts:
        earlier = first.setdefault(same_text(prompt.text), prompt)
        if earlier is not prompt:
            pairs.append(SimilarPrompts(earlier, prompt, 1.0, True))
    distinct = list(first.values())
    words = [similarity.terms(prompt.text, STOP) for prompt in distinct]
    vectors = similarity.vectors([text if len(set(text)) >= _LEAST else [] for text in words], _BACKGROUND)
    found = similarity.similar_pairs(vectors, threshold)
    return [*pairs, *(SimilarPrompts(distinct[i], distinct[j], min(value, 1.0)) for i, j, value in found)]


def with_families(prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
    """The prompts with a family each: their own; else that of one that is nearly the same; else one named by their id.

    Of several prompts without a family that are nearly the same, the first names it.
    """
    leader = {prompt.prompt_id: prompt.prompt_id for prompt in prompts}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    for pair in near_pairs(prompts):
        # Declared families are never joined: whoever named them apart meant it.
        one, other = find(pair.first.prompt_id), find(pair.later.prompt_id)
        leader[other] = one
    named: dict[str, str] = {}
    for prompt in prompts:
        if prompt.family:
            named.setdefault(find(prompt.prompt_id), prompt.family)
    for prompt in prompts:
        named.setdefault(find(prompt.prompt_id), prompt.prompt_id)
    return tuple(p if p.family else replace(p, family=named[find(p.prompt_id)]) for p in prompts)
