"""The bytes of an answer on their way to the agent: without their encoding, without the key, and measured."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from urllib.parse import quote

from skill_health.bench.redact import MASK, SHORTEST
from skill_health.effectiveness.gateway.meter import AnswerMeter

LIMIT = 64 << 20
"""So many bytes of one answer pass."""
_STEP = 1 << 20


class Unreadable(Exception):
    """An answer that cannot be passed on; the text says what is wrong with it."""


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


class Unpacker:
    """Undoes gzip and deflate, which some servers send unasked. Raises Unreadable for any other encoding."""

    def __init__(self, encoding: str) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise Unreadable(f"sent its answer in the encoding {encoding[:40]!r}, which was not asked for")
        # 32 + 15: zlib's or gzip's header.
        self._stream = zlib.decompressobj(47) if encoding not in ("", "identity") else None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bytes, in pieces of bounded size however much they were packed."""
        if self._stream is None:
            yield data
            return
        while data:
            try:
                yield self._stream.decompress(data, _STEP)
            except zlib.error:
                raise Unreadable("sent a damaged answer") from None
            data = self._stream.unconsumed_tail


class Passing:
    """One answer on its way. Raises Unreadable for one that is too large or in no form that we know."""

    def __init__(self, meter: AnswerMeter, key: str, encoding: str = "") -> None:
        self.meter = meter
        self._unpacker, self._filter = Unpacker(encoding), KeyFilter(key)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What may go on of the answer so far; pieces are never empty."""
        for piece in self._unpacker.feed(data):
            if shown := self.meter.feed(self._filter.feed(piece)):
                yield shown
            if self.meter.size > LIMIT:
                raise Unreadable(f"sent more than {LIMIT:,} bytes, the most that passes of one answer")

    def finish(self) -> bytes:
        """What is left at the end."""
        return self.meter.feed(self._filter.finish()) + self.meter.finish()
