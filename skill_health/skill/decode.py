"""Decodes bytes to text, and records what was odd about them."""

from __future__ import annotations

import re

from skill_health.core.files import MAX_BYTES
from skill_health.skill.model import Defect, Span
from skill_health.text.patterns import lazy

MAX_LINE = 20_000
_CONTROL = lazy("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_C0 = bytes(set(range(1, 32)) - set(b"\t\n\r")) + b"\x7f"


def decode(data: bytes) -> tuple[str, str, str, list[Defect]]:
    """Decode a Markdown file: (text with `\\n` line endings and no BOM, newline, encoding, defects).

    Never raises: undecodable bytes become U+FFFD and a defect.
    """
    defects: list[Defect] = []
    if len(data) > MAX_BYTES:
        message = f"more than {MAX_BYTES:,} bytes: only the frontmatter was read, the Markdown was not checked"
        defects.append(Defect("oversized", Span(1, 1), message))
        data = _cut(data)
    encoding = "utf-8"
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        defects.append(Defect("bom", Span(1, 0, 1, 1), "the file starts with a byte-order mark"))
    elif (utf16 := _utf16(data)) is not None:
        encoding = utf16
        defects.append(Defect("utf-16", Span(1, 1), "the file is UTF-16; hosts read UTF-8"))
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        text = data.decode(encoding, errors="replace")
        before = data[: error.start].decode(encoding, errors="replace")
        span = _span(before, len(before))
        defects.append(Defect("invalid-utf8", span, f"byte {error.start} is not valid {encoding.upper()}"))
    text = text.removeprefix("\ufeff") if encoding != "utf-8" else text
    newline = "\n"
    if "\r" in text:
        crlf, text = _newlines(text, defects)
        newline = "\r\n" if crlf else "\n"
    if "\0" in text:
        defects.append(Defect("nul", _span(text, text.index("\0")), "the file contains NUL characters"))
    if _may_control(data, encoding) and (control := _CONTROL.search(text)):
        code = f"U+{ord(control.group()):04X}"
        defects.append(Defect("control-character", _span(text, control.start()), f"control character {code}"))
    return text, newline, encoding, defects


def _cut(data: bytes) -> bytes:
    """The first `MAX_BYTES` bytes, less what would be half a character or half a line ending."""
    end = MAX_BYTES
    while end > MAX_BYTES - 4 and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end].removesuffix(b"\r")


def _may_control(data: bytes, encoding: str) -> bool:
    # Looking at the bytes is many times faster than matching a pattern on every character.
    return encoding != "utf-8" or b"\xc2" in data or len(data.translate(None, _C0)) != len(data)


def _utf16(data: bytes) -> str | None:
    if data.startswith(b"\xff\xfe"):
        return "utf-16-le"
    if data.startswith(b"\xfe\xff"):
        return "utf-16-be"
    head = data[:200]
    if b"\0" not in head or len(head) < 8:
        return None
    if head[1::2].count(0) > 0.8 * len(head[1::2]) and not head[0::2].count(0):
        return "utf-16-le"
    if head[0::2].count(0) > 0.8 * len(head[0::2]) and not head[1::2].count(0):
        return "utf-16-be"
    return None


def _newlines(text: str, defects: list[Defect]) -> tuple[bool, str]:
    crlf = text.count("\r\n")
    lone = text.count("\r") - crlf
    plain = text.count("\n") - crlf
    if lone or (crlf and plain):
        odd = "\r" if lone else "\n" if crlf >= plain else "\r\n"
        first = re.search({"\r": "\r(?!\n)", "\n": "(?<!\r)\n", "\r\n": "\r\n"}[odd], text)
        normal = text[: first.start() if first else 0].replace("\r\n", "\n").replace("\r", "\n")
        message = f"mixed line endings: {crlf} CRLF, {plain} LF, {lone} lone CR"
        defects.append(Defect("mixed-newlines", _span(normal, len(normal)), message))
    return crlf >= plain and crlf > 0, text.replace("\r\n", "\n").replace("\r", "\n")


def _span(text: str, offset: int) -> Span:
    line = text.count("\n", 0, offset) + 1
    col = offset - (text.rfind("\n", 0, offset) + 1) + 1
    return Span(line, col, line, col + 1)
