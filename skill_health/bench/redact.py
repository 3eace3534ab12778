"""Keys stay out of everything that is written, and what a server said is made safe to keep."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from skill_health.text.terminal import clean

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


LINE = 300
TEXT = 1 << 18
_DEPTH, _ITEMS, _WHOLE = 6, 64, 2**63


@dataclass(frozen=True, slots=True)
class Scrubber:
    """Cleans texts of one key ("" for none). A word of fewer than SHORTEST letters is no key and stays."""

    key: str

    def text(self, text: str, limit: int = TEXT) -> str:
        """The text without the key and without halves of surrogate pairs, at most `limit` characters of it."""
        return _paired(self._blot(text))[:limit]

    def line(self, text: str, limit: int = LINE) -> str:
        """The text on one line, without the key and control characters, shortened to `limit` characters."""
        # The key goes first, since half of one would not be found; then no more is cleaned than can be shown.
        whole = clean(" ".join(_paired(self._blot(text)[: 4 * limit]).split()))
        return whole if len(whole) <= limit else whole[: limit - 1] + "…"

    def optional(self, value: Any, limit: int = 200) -> str | None:
        """A short word of the server (an id, a reason); None where it is no text or empty."""
        return (self.line(value, limit) or None) if isinstance(value, str) else None

    def small(self, value: Any, depth: int = 0) -> Any:
        """A JSON value to be shown and kept, with the rules of `line` for every text in it.

        What is too deep, too long or a number that others cannot read becomes None.
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
        """A JSON value of any size without the key in it; None where it cannot be written."""
        try:
            whole = json.dumps(value)
        except (ValueError, RecursionError):
            return None
        blotted = self._blot(whole)
        return value if blotted == whole else json.loads(blotted)

    def _blot(self, text: str) -> str:
        return redacted(text, (self.key,)) if len(self.key) >= SHORTEST else text


def _paired(text: str) -> str:
    """The text as UTF-8 can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class KeyFilter:
    """Takes a key out of a stream of bytes ("" or what is too short to be one: nothing), wherever the stream is cut."""

    def __init__(self, key: str) -> None:
        written = (key, json.dumps(key)[1:-1], key.replace("/", "\\/"), quote(key, safe=""))
        self._forms = [form.encode() for form in dict.fromkeys(written)] if len(key) >= SHORTEST else []
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """The bytes that can go on; the end waits where it may be the beginning of the key."""
        data = self._held + data
        for form in self._forms:
            data = data.replace(form, MASK.encode())
        keep = max((_begun(data, form) for form in self._forms), default=0)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def finish(self) -> bytes:
        """What was held back and is no key, as it ends here."""
        rest, self._held = self._held, b""
        return rest

    def whole(self, data: bytes) -> bytes:
        """All of a text at once."""
        return self.feed(data) + self.finish()


def _begun(data: bytes, form: bytes) -> int:
    """How many bytes at the end of the data are the beginning of the form, but not all of it."""
    start = max(0, len(data) - len(form) + 1)
    while (start := data.find(form[:1], start)) >= 0:
        if form.startswith(data[start:]):
            return len(data) - start
        start += 1
    return 0
