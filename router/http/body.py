"""The bytes of an answer -> JSON, whatever bytes they are."""

from __future__ import annotations

import json
import math
import zlib
from typing import Any

from skill_health.router.http.failures import Failure


def decoded(raw: bytes, encoding: str, limit: int) -> bytes | Failure:
    """The body without its content encoding, at most `limit` bytes: a bomb is never unpacked further than that.

    We ask for no encoding; gzip and deflate are understood since some servers send them all the same.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return raw
    if encoding not in ("gzip", "x-gzip", "deflate"):
        return Failure("fatal", f"sent its answer in the encoding {encoding[:40]!r}, which was not asked for")
    # 32 + 15: zlib's or gzip's header; some servers call a bare stream "deflate".
    for bits in (47, -15) if encoding == "deflate" else (47,):
        stream = zlib.decompressobj(bits)
        try:
            data = stream.decompress(raw, limit + 1)
        except zlib.error:
            continue
        if len(data) > limit:
            return too_large(limit)
        if stream.eof:
            return data
    return Failure("costly", f"sent a damaged {encoding} answer")


def too_large(limit: int) -> Failure:
    """The failure of an answer with more bytes than we read."""
    return Failure("fatal", f"sent more than {limit:,} bytes, the most that is read of one answer")


def parsed(data: bytes) -> Any | Failure:
    """The JSON value; NaN and numbers beyond a double are None, as they cannot be written again."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Failure("fatal", f"sent an answer that is not UTF-8 (byte {error.start:,})")
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_float=_finite)
    except RecursionError:
        return Failure("fatal", "sent JSON that is nested too deeply")
    except ValueError as error:
        # A connection that was cut where nobody said how long the body is looks like this too.
        if isinstance(error, json.JSONDecodeError):
            return Failure("costly", "sent an answer that is not JSON, or was cut short")
        return Failure("costly", "sent JSON with a number of too many digits")


def is_json_type(content_type: str) -> bool:
    """Whether a Content-Type says JSON; a missing one may be anything, so the body decides."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind in ("", "application/json", "text/json") or kind.endswith("+json")


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None
