"""Sentence vectors of texts, kept over runs and shared by all routers of a process.

A vector depends on the tokens of a text and on nothing else, so it is kept by a digest of them: whatever else changes
in a collection, what was embedded once is not embedded again. The file is in the folder of the other caches. It is
replaced whole, and a file that is not as it was written counts as none: everything in it can be computed again.
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
_OFTEN = 512


@dataclass(slots=True)
class VectorStore:
    """Vectors by the digest of the tokens. They are held in half precision, new and kept ones alike."""

    embedder: Embedder
    model: bytes
    held: dict[bytes, bytes] = field(default_factory=dict)
    unsaved: int = 0
    lock: Lock = field(default_factory=Lock)

    def embed(self, texts: Sequence[str]) -> Matrix:
        """One unit vector a row, of the first window of tokens of each text."""
        return self.embed_tokens([self.embedder.tokens(text)[0] for text in texts])

    def embed_tokens(self, windows: Sequence[Sequence[int]]) -> Matrix:
        """One unit vector a row, of each window of token ids."""
        keys = [_key(window) for window in windows]
        missing = {key: window for key, window in zip(keys, windows, strict=True) if key not in self.held}
        if len(missing) == 1:
            self.held |= {key: self._vector(window) for key, window in missing.items()}
        elif missing:
            # Each text is computed by itself on one thread, so that its vector does not depend on the others.
            with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
                self.held |= zip(missing, pool.map(self._vector, missing.values()), strict=True)
        self.unsaved += len(missing)
        if self.unsaved >= _OFTEN:
            self.save()
        whole = b"".join(map(self.held.__getitem__, keys))
        return np.frombuffer(whole, "<f2").reshape(len(keys), WIDTH).astype(np.float32)

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

    def _vector(self, window: Sequence[int]) -> bytes:
        return np.asarray(self.embedder.run(list(window)), "<f2").tobytes()


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


def _key(window: Sequence[int]) -> bytes:
    return blake2b(np.asarray(window, "<i4").tobytes(), digest_size=_KEY).digest()
