"""The ranks of lexical:bm25 and embed:minilm, fused.

Reciprocal rank fusion (Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank
Learning Methods", SIGIR 2009): the sum of 1 / (60 + rank). Skills of equal score share a rank, and one with no positive
score has none. The score is highest where both agree on the first, which makes it usable as a threshold too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from skill_health.router.routers import embed_minilm, lexical_bm25
from skill_health.router.routers._api import Router, Setup
from skill_health.router.routers._local import LocalRouter, in_order, local_router

TITLE = "lexical:bm25 and embed:minilm, their ranks fused"
KIND = "local"
EXTRA = "embed"
IMPORTS = (*lexical_bm25.IMPORTS, *embed_minilm.IMPORTS)

_K = 60


def open_router(setup: Setup) -> Router:
    """Open both routers without a threshold, and choose one for the fused score. Raises ModuleNotFoundError."""
    plain = replace(setup, train=(), settings={"threshold": None})
    parts = {
        "lexical:bm25": cast(LocalRouter, lexical_bm25.open_router(plain)),
        "embed:minilm": cast(LocalRouter, embed_minilm.open_router(plain)),
    }
    names = list(dict.fromkeys(skill.name for skill in in_order(setup.catalogue)))

    def score(text: str) -> list[float]:
        fused = dict.fromkeys(names, 0.0)
        for part in parts.values():
            for name, rank in _ranks(part.rank(text)):
                fused[name] += 1 / (_K + rank)
        return list(fused.values())

    settings = {"k": _K, "parts": {name: dict(part.settings) for name, part in parts.items()}}
    return local_router(setup, names, score, settings, parts["lexical:bm25"].explain, slow=True)


def _ranks(found: Sequence[tuple[str, float]]) -> Iterator[tuple[str, int]]:
    """Each name with its rank from 1; equal scores share the rank of the first of them."""
    rank, before = 0, float("nan")
    for at, (name, score) in enumerate(found, 1):
        rank, before = (rank if score == before else at), score
        yield name, rank
