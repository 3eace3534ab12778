"""Secrets are taken out of everything that is kept, be it text or not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache

from router.redact import MASK, SHORTEST

_MASK = MASK.encode()


def secret_words(*groups: Iterable[str]) -> tuple[str, ...]:
    """All secrets, each once, the longest first; what is too short to be one is left out."""
    words = {word for group in groups for word in group if len(word) >= SHORTEST}
    return tuple(sorted(words, key=lambda word: (-len(word), word)))


def redact(data: bytes, secrets: tuple[str, ...], cut: bool = False) -> bytes:
    """The bytes with every secret, as it is or as JSON writes it, replaced by the mask.

    `cut` says that there was more behind them: a beginning of a secret at the very end is replaced, too.
    """
    if not secrets:
        return data
    pattern, forms = _pattern(secrets)
    found: bytes = pattern.sub(_MASK, data)
    if cut:
        longest = max(len(form) for form in forms)
        for length in range(min(longest, len(found)), SHORTEST // 2, -1):
            if any(form.startswith(found[-length:]) for form in forms):
                return found[:-length] + _MASK
    return found


def holds_secret(data: bytes, secrets: tuple[str, ...]) -> bool:
    """Whether a secret is in there."""
    return bool(secrets) and _pattern(secrets)[0].search(data) is not None


@lru_cache(maxsize=64)
def _pattern(secrets: tuple[str, ...]) -> tuple[re.Pattern[bytes], tuple[bytes, ...]]:
    forms = {
        form.encode("utf-8", "surrogateescape")
        for word in secrets
        for form in (word, json.dumps(word)[1:-1], json.dumps(word, ensure_ascii=False)[1:-1])
    }
    ordered = tuple(sorted(forms, key=lambda form: (-len(form), form)))
    return re.compile(b"|".join(re.escape(form) for form in ordered)), ordered
