"""The free activation check: which share of a prompt's words does a skill's description, or "when to use", hold?

A word is counted once, function words are left out, and rare words weigh as much as common ones.
"""

from __future__ import annotations

from skill_health.router.routers._api import Router, Setup
from skill_health.router.routers._local import by_name, in_order, indexed, local_router, shared_words
from skill_health.text.similarity import STOP, terms

TITLE = 'Shared words of the prompt and the description with its "when to use" section'
KIND = "local"
EXTRA = ""
IMPORTS = ()


def open_router(setup: Setup) -> Router:
    """Read the names, listed texts and "when to use" sections of the catalogue, and choose the threshold."""
    skills = in_order(setup.catalogue)
    names = [skill.name for skill in skills]
    held = [frozenset(terms(f"{indexed(skill, setup.index)}\n{skill.when}", STOP)) for skill in skills]

    def split(text: str) -> list[str]:
        return terms(text, STOP)

    def score(text: str) -> list[float]:
        asked = frozenset(split(text))
        return [len(asked & words) / len(asked) for words in held] if asked else [0.0] * len(held)

    return local_router(
        setup, names, score, {"reads": "when to use too"}, shared_words(split, by_name(names, held).__getitem__)
    )
