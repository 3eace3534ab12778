"""What a result depends on beyond its own file: questions about files, and what the answers were."""

from __future__ import annotations

import os
from collections.abc import Mapping

from skill_health.core.digests import blake2b
from skill_health.core.files import read_small


def answer(root: str, question: str) -> str:
    """Answer `exists:PATH` or `read:PATH` (relative to the root) by a string that changes when the file does."""
    kind, _, path = question.partition(":")
    full = os.path.join(root, path)
    if kind == "exists":
        return "yes" if os.path.exists(full) else ""
    return digest(read_small(full))


def hold(root: str, inputs: Mapping[str, str]) -> bool:
    """Whether every question still has the same answer."""
    return all(answer(root, question) == known for question, known in inputs.items())


def digest(data: bytes | None) -> str:
    """A short digest of a file's bytes; "" for no file."""
    return "" if data is None else blake2b(data, digest_size=12).hexdigest()


def digest_of(*parts: str) -> str:
    """A digest over texts, in order."""
    joined = "\0".join(parts).encode("utf-8", "surrogateescape")
    return blake2b(joined, digest_size=16).hexdigest()
