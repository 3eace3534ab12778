"""Edits of a file: what they make of its bytes."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable

from skill_health.rules._api import Edit, Fix
from skill_health.skill.model import Span
from skill_health.text.patterns import lazy

_LINE = lazy(r"[^\r\n]*(?:\r\n|\r|\n|$)")


def edit_bytes(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Apply edits to a UTF-8 file; of two that overlap only the first is applied.

    Column 0 of line 1 stands for a byte-order mark. A line break in the new text becomes the one that the
    file uses. Bytes that are not UTF-8 are returned as they are, since positions in them mean nothing.
    """
    mark = BOM_UTF8 if data.startswith(BOM_UTF8) else b""
    try:
        text = data[len(mark) :].decode("utf-8")
    except UnicodeDecodeError:
        return data
    starts = [match.start() for match in _LINE.finditer(text)]
    newline = "\r\n" if 0 < text.count("\r\n") >= text.count("\n") - text.count("\r\n") else "\n"
    pieces, done = [], 0
    for edit in sorted(edits, key=lambda e: (e.span.line, e.span.col, e.span.end_line, e.span.end_col, e.text)):
        if (edit.span.line, edit.span.col) == (1, 0):
            mark = b""
            if (edit.span.end_line, edit.span.end_col) <= (1, 1):
                continue
        start, end = _offset(text, starts, edit.span, True), _offset(text, starts, edit.span, False)
        if start < done or end < start:
            continue
        pieces += [text[done:start], edit.text.replace("\r\n", "\n").replace("\n", newline)]
        done = end
    return mark + ("".join(pieces) + text[done:]).encode("utf-8")


def _offset(text: str, starts: list[int], span: Span, first: bool) -> int:
    line, col = (span.line, span.col) if first else (span.end_line or span.line, span.end_col or span.col)
    if line > len(starts):
        return len(text)
    start = starts[line - 1]
    end = starts[line] if line < len(starts) else len(text)
    return min(start + max(0, col - 1), end)


def takes_effect(fix: Fix, data: bytes | None) -> bool:
    """Whether a fix, alone, changes a file of these bytes; None where it is too large or not to be read."""
    return fix.rename is not None or (data is not None and edit_bytes(data, fix.edits) != data)
