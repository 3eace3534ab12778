"""What an agent printed, as JSON objects: whatever else stands between them is counted and never an error."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.text.terminal import clean

MOST_EVENTS = 200_000
LONGEST_LINE = 16 << 20
_DEEPEST = 64
_PLAIN, _PLAIN_WIDTH = 20, 300


@dataclass(frozen=True, slots=True)
class JsonStream:
    """The objects of a stream of JSON lines, in order.

    `junk` counts the lines that are not blank and no JSON object (a line that was cut off is one of them), or beyond
    the limits. `plain` are the first of them that are text, cut and safe to print: where agents say why they failed.
    """

    events: tuple[Mapping[str, Any], ...] = ()
    junk: int = 0
    plain: tuple[str, ...] = ()


def read_stream(raw: bytes, most: int = MOST_EVENTS) -> JsonStream:
    """Read JSON lines. Never raises; numbers that JSON does not have become None, halves of surrogate pairs U+FFFD."""
    events: list[Mapping[str, Any]] = []
    plain: list[str] = []
    junk = 0
    for line in raw.split(b"\n"):
        if not line.strip():
            continue
        event = _object(line) if len(line) <= LONGEST_LINE and len(events) < most else None
        if event is not None:
            events.append(event)
            continue
        junk += 1
        if len(plain) < _PLAIN and not line.lstrip().startswith((b"{", b"[")):
            plain.append(one_line(line[: 4 * _PLAIN_WIDTH].decode("utf-8", "replace"), _PLAIN_WIDTH))
    return JsonStream(tuple(events), junk, tuple(plain))


def one_line(text: str, width: int = _PLAIN_WIDTH) -> str:
    """A text of the stream on one line, cut to `width` characters and safe to print."""
    whole = clean(" ".join(text[: 4 * width].split()))
    return whole if len(whole) <= width else whole[: width - 1] + "…"


def words_of(value: Any) -> str:
    """The text in a content that is text, or blocks with `text` in them, or a list of both; "" for anything else."""
    return "\n".join(_words(value, 0))


def _words(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < 4:
        for item in value:
            yield from _words(item, depth + 1)
    elif isinstance(value, dict) and depth < 4:
        for key in ("text", "content"):
            if key in value:
                yield from _words(value[key], depth + 1)


def _object(line: bytes) -> Mapping[str, Any] | None:
    try:
        data = json.loads(line.decode("utf-8", "replace"), parse_constant=lambda _: None)
        if b"\\u" in line:
            data = json.loads(_paired(json.dumps(data, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and not _too_deep(data) else None


def _paired(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _too_deep(data: Any) -> bool:
    level = [data]
    for _ in range(_DEEPEST):
        level = [
            child
            for value in level
            if isinstance(value, (dict, list))
            for child in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return False
    return True
