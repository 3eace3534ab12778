"""Sentence vectors of texts, kept over runs and shared by all routers of a process.

A vector depends on its text (or tokens) and the model alone, so it is kept by a digest of them: whatever else changes
in a collection, what was embedded once is not embedded again, nor is the model loaded for it. The file is in the folder
of the other caches. It is replaced whole, and one that is not as it was written counts as none: all of it can be
computed again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from skill_health.core.files import blake2b
from skill_health.lint.cache.cache_folder import VECTORS, directory, open_cached, write_cached
from skill_health.router.lexicon.embedder import WIDTH, Embedder, load_embedder

Matrix = NDArray[np.float32]

_DIGEST, _KEY = 16, 16
_RECORD = _KEY + 2 * WIDTH
_MOST = 200_000
_DIGITS = 4
_OFTEN = 512


@dataclass(slots=True)
class VectorStore:
    """Vectors by the digest of what they are of. They are held in half precision, new and kept ones alike."""

    embedder: Embedder
    model: bytes
    held: dict[bytes, bytes] = field(default_factory=dict)
    unsaved: int = 0
    lock: Lock = field(default_factory=Lock)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit vector a row, of the first window of tokens of each text."""
        return self._collect([(_key(b"text", text.encode("utf-8", "replace")), text) for text in texts])

    def embed_tokens(self, windows: Sequence[Sequence[int]]) -> Matrix:
        """One unit vector a row, of each window of token ids."""
        return self._collect([(_key(b"tokens", np.asarray(ids, "<i4").tobytes()), ids) for ids in windows])

    def cosines(self, vectors: Matrix, text: str) -> list[float]:
        """The cosine of each row with a text, to four digits: texts that are equal to a reader tie."""
        # Not by BLAS: its sums depend on the machine, and its threads wait for work at the expense of others.
        found: Matrix = np.einsum("ij,j->i", vectors, self.embed([text])[0])
        return [round(close, _DIGITS) for close in found.tolist()]

    def _collect(self, wanted: Sequence[tuple[bytes, str | Sequence[int]]]) -> Matrix:
        missing = {key: one for key, one in wanted if key not in self.held}
        if len(missing) == 1:
            self.held |= {key: self._vector(one) for key, one in missing.items()}
        elif missing:
            # Each is computed by itself on one thread, so that its vector does not depend on the others.
            with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
                self.held |= zip(missing, pool.map(self._vector, missing.values()), strict=True)
        self.unsaved += len(missing)
        if self.unsaved >= _OFTEN:
            self.save()
        whole = b"".join(self.held[key] for key, _ in wanted)
        return np.frombuffer(whole, "<f2").reshape(len(wanted), WIDTH).astype(np.float32)

    def save(self) -> None:
        """Write what is new, together with what another run has written since. Never fails."""
        with self.lock:
            if not self.unsaved:
                return
            self.unsaved = 0
            # What was computed last stays.
            kept = dict(list({**_read(self.model), **self.held}.items())[-_MOST:])
            body = b"".join(key + kept[key] for key in sorted(kept))
            write_cached(VECTORS, [_seal(self.model, body), self.model, body])

    def _vector(self, one: str | Sequence[int]) -> bytes:
        ids = self.embedder.tokens(one)[0] if isinstance(one, str) else one
        return np.asarray(self.embedder.run(ids), "<f2").tobytes()


def open_vectors() -> VectorStore:
    """The store of this process, with the vectors of earlier runs. Raises ModuleNotFoundError without the extra."""
    load_embedder()
    return _open(directory())


@lru_cache(maxsize=1)
def _open(folder: str) -> VectorStore:
    embedder = load_embedder()
    model = blake2b(repr(sorted(embedder.settings.items())).encode(), digest_size=_DIGEST).digest()
    return VectorStore(embedder, model, _read(model))


def _read(model: bytes) -> dict[bytes, bytes]:
    """The vectors of the file, if these are of this model; {} where there are none, or a bit of it has changed."""
    file = open_cached(VECTORS)
    if file is None:
        return {}
    with file:
        whole = file.read()
    seal, head, body = whole[:_DIGEST], whole[_DIGEST : 2 * _DIGEST], whole[2 * _DIGEST :]
    if head != model or seal != _seal(model, body) or len(body) % _RECORD:
        return {}
    return {body[at : at + _KEY]: body[at + _KEY : at + _RECORD] for at in range(0, len(body), _RECORD)}


def _seal(model: bytes, body: bytes) -> bytes:
    return blake2b(model + body, digest_size=_DIGEST).digest()


def _key(kind: bytes, what: bytes) -> bytes:
    return blake2b(what, digest_size=_KEY, person=kind).digest()
