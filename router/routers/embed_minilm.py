"""Cosine of sentence embeddings of the prompt and each description; vectors are kept over runs.

With the index "body" or "content" a skill is as close as the closest of its description and the first windows of its
SKILL.md.
"""

from __future__ import annotations

from skill_health.router.lexicon import embedder
from skill_health.router.lexicon.fields import DESCRIPTION
from skill_health.router.routers._api import Router, Setup
from skill_health.router.routers._local import in_order, listed_text, local_router

TITLE = "Cosine of MiniLM sentence embeddings of the prompt and the description"
KIND = "local"
EXTRA = "embed"
IMPORTS = embedder.IMPORTS

_WINDOWS = 16


def open_router(setup: Setup) -> Router:
    """Embed the catalogue, and choose the threshold. Raises ModuleNotFoundError without the extra."""
    from skill_health.router.lexicon.vectors import open_vectors

    vectors = open_vectors()
    names: list[str] = []
    windows: list[list[int]] = []
    for skill in in_order(setup.catalogue):
        own = [vectors.embedder.tokens(listed_text(skill))[0]]
        if setup.index != DESCRIPTION:
            own += vectors.embedder.tokens(skill.body)[:_WINDOWS]
        names += [skill.name] * len(own)
        windows += own
    held = vectors.embed_tokens(windows)
    vectors.save()

    def score(text: str) -> list[float]:
        return vectors.cosines(held, text)

    return local_router(setup, names, score, vectors.embedder.settings, slow=True, at_end=vectors.save)
