"""TF-IDF cosine of the prompt and each description; needs nothing but the base installation, so hooks use it.

A prompt's word that no description holds counts in the prompt's length, with the weight of a word of no text: a prompt
about something else altogether then scores low, which is what tells that no skill applies.
"""

from __future__ import annotations

import math
from collections import Counter

from skill_health.router.routers._api import Router, Setup
from skill_health.router.routers._local import by_name, in_order, indexed, local_router, shared_words
from skill_health.text.similarity import STOP, frequencies, terms, vectors

TITLE = "TF-IDF cosine of the prompt and the description"
KIND = "local"
EXTRA = ""
IMPORTS = ()


def open_router(setup: Setup) -> Router:
    """Weigh the words of the catalogue, and choose the threshold."""
    skills = in_order(setup.catalogue)
    names = [skill.name for skill in skills]
    texts = [terms(indexed(skill, setup.index), STOP) for skill in skills]
    counts = frequencies(texts)
    postings: dict[str, list[tuple[int, float]]] = {}
    for at, vector in enumerate(vectors(texts)):
        for term, weight in vector.items():
            postings.setdefault(term, []).append((at, weight))

    def split(text: str) -> list[str]:
        return terms(text, STOP)

    def score(text: str) -> list[float]:
        raw = {term: times * _weight(len(texts), counts[term]) for term, times in Counter(split(text)).items()}
        length = math.sqrt(math.fsum(weight * weight for weight in raw.values()))
        scores = [0.0] * len(texts)
        for term, weight in raw.items():
            for at, other in postings.get(term, ()):
                scores[at] += weight / length * other
        return scores

    settings = {"weights": "tf * (ln((1 + n) / (1 + df)) + 1)"}
    return local_router(setup, names, score, settings, shared_words(split, by_name(names, texts).__getitem__))


def _weight(texts: int, holding: int) -> float:
    """The weight of a term, as `vectors` has it."""
    return math.log((1 + texts) / (1 + holding)) + 1
