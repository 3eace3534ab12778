"""BM25 over the descriptions, by bm25s: Lucene's variant with its usual k1 and b, and bm25s's English stop words."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from typing import Any

from skill_health.router.routers._api import Router, Setup
from skill_health.router.routers._local import by_name, in_order, indexed, local_router, shared_words

TITLE = "BM25 of the prompt and the description"
KIND = "local"
EXTRA = "bench"
IMPORTS = ("bm25s",)

_K1, _B, _METHOD = 1.5, 0.75, "lucene"


def open_router(setup: Setup) -> Router:
    """Index the catalogue, and choose the threshold. Raises ModuleNotFoundError without bm25s."""
    bm25s: Any = import_module("bm25s")
    # Its progress bars, where tqdm is installed, are off, and would leave a thread behind all the same.
    if bars := sys.modules.get("tqdm"):
        bars.tqdm.monitor_interval = 0

    def split(text: str) -> list[str]:
        tokens: list[str] = bm25s.tokenize([text], stopwords="en", return_ids=False, show_progress=False)[0]
        return tokens

    skills = in_order(setup.catalogue)
    names = [skill.name for skill in skills]
    texts = [split(indexed(skill, setup.index)) for skill in skills]
    index: Any = None
    if any(texts):
        index = bm25s.BM25(k1=_K1, b=_B, method=_METHOD, dtype="float64", backend="numpy")
        index.index(texts, show_progress=False)

    def score(text: str) -> list[float]:
        tokens = split(text)
        if index is None or not tokens:
            return [0.0] * len(names)
        scores: list[float] = index.get_scores(tokens).tolist()
        return scores

    settings = {"library": f"bm25s {version('bm25s')}", "method": _METHOD, "k1": _K1, "b": _B, "stop_words": "bm25s en"}
    return local_router(setup, names, score, settings, shared_words(split, by_name(names, texts).__getitem__))
