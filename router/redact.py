"""Keys stay out of everything that is written: the last line of defence, behind never having them there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping

# Servers that want no key are given words such as "none" or "EMPTY": to blot them out would damage answers.
SHORTEST = 8
MASK = "***"


def keys_in_use(names: Iterable[str], environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The values of these environment variables, the longest first; what is too short to be a key is left out."""
    given = os.environ if environment is None else environment
    values = {given.get(name, "").strip() for name in names}
    return tuple(sorted((value for value in values if len(value) >= SHORTEST), key=lambda value: (-len(value), value)))


def redacted(text: str, keys: Iterable[str]) -> str:
    """The text with every key, as it is or as JSON writes it, replaced by MASK."""
    for key in keys:
        for form in (key, json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1]):
            if form in text:
                text = text.replace(form, MASK)
    return text
