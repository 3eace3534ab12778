"""Keeps keys out of everything written, and makes what a server said safe to store."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from skill_health.text.terminal import clean

# Servers that need no key are given words such as "none" or "EMPTY", and masking those would damage answers.
SHORTEST = 8
MASK = "***"


def keys_in_use(names: Iterable[str], environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The values of these environment variables, longest first; values too short to be a key are left out."""
    given = os.environ if environment is None else environment
    values = {given.get(name, "").strip() for name in names}
    return tuple(sorted((value for value in values if len(value) >= SHORTEST), key=lambda value: (-len(value), value)))


def redacted(text: str, keys: Iterable[str]) -> str:
    """The text with every key, plain or JSON-escaped, replaced by MASK."""
    for key in keys:
        for form in (key, json.dumps(key)[1:-1], json.dumps(key, ensure_ascii=False)[1:-1]):
            if form in text:
                text = text.replace(form, MASK)
    return text


LINE = 300
TEXT = 1 << 18
_DEPTH, _ITEMS, _WHOLE = 6, 64, 2**63


@dataclass(frozen=True, slots=True)
class Scrubber:
    """Removes one key ("" for none) from texts. A word of fewer than SHORTEST letters is not a key and stays."""

    key: str

    def text(self, text: str, limit: int = TEXT) -> str:
        """The text without the key and without halves of surrogate pairs, at most `limit` characters of it."""
        return _paired(self._blot(text))[:limit]

    def line(self, text: str, limit: int = LINE) -> str:
        """The text on one line, without the key and control characters, shortened to `limit` characters."""
        # The key is removed first, since half a key would not be found; then only what can be shown is cleaned.
        whole = clean(" ".join(_paired(self._blot(text)[: 4 * limit]).split()))
        return whole if len(whole) <= limit else whole[: limit - 1] + "…"

    def optional(self, value: Any, limit: int = 200) -> str | None:
        """A short word from the server (an id, a reason); None if it is empty or not text."""
        return (self.line(value, limit) or None) if isinstance(value, str) else None

    def small(self, value: Any, depth: int = 0) -> Any:
        """A JSON value to show and store, with the rules of `line` for every text in it.

        Values that are too deep or too long, and numbers that others cannot read, become None.
        """
        if isinstance(value, str):
            return self.line(value)
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            return value if -_WHOLE <= value < _WHOLE else None
        if isinstance(value, float):
            return value if math.isfinite(value) else None
        if depth >= _DEPTH:
            return None
        if isinstance(value, Mapping):
            items = list(value.items())[:_ITEMS]
            return {self.line(str(key), 100): self.small(inner, depth + 1) for key, inner in items}
        return [self.small(inner, depth + 1) for inner in value[:_ITEMS]] if isinstance(value, list) else None

    def deep(self, value: Any) -> Any:
        """A JSON value of any size without the key; None if it cannot be written."""
        try:
            whole = json.dumps(value)
        except (ValueError, RecursionError):
            return None
        blotted = self._blot(whole)
        return value if blotted == whole else json.loads(blotted)

    def _blot(self, text: str) -> str:
        return redacted(text, (self.key,)) if len(self.key) >= SHORTEST else text


def _paired(text: str) -> str:
    """The text with halves of surrogate pairs replaced, so that UTF-8 can encode it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class KeyFilter:
    """Removes a key from a stream of bytes, wherever it is split; "" or a word too short for a key removes nothing."""

    def __init__(self, key: str) -> None:
        written = (key, json.dumps(key)[1:-1], key.replace("/", "\\/"), quote(key, safe=""))
        self._forms = [form.encode() for form in dict.fromkeys(written)] if len(key) >= SHORTEST else []
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """The bytes that can be passed on; the end is held back if it may be the beginning of the key."""
        data = self._held + data
        for form in self._forms:
            data = data.replace(form, MASK.encode())
        keep = max((_begun(data, form) for form in self._forms), default=0)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def finish(self) -> bytes:
        """The bytes held back, which are not a key, as the stream ends here."""
        rest, self._held = self._held, b""
        return rest

    def whole(self, data: bytes) -> bytes:
        """Filter a whole text at once."""
        return self.feed(data) + self.finish()


def _begun(data: bytes, form: bytes) -> int:
    """How many bytes at the end of the data are a proper prefix of the key's form."""
    start = max(0, len(data) - len(form) + 1)
    while (start := data.find(form[:1], start)) >= 0:
        if form.startswith(data[start:]):
            return len(data) - start
        start += 1
    return 0
