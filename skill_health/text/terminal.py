"""Prints text of any origin on a terminal: safely, in columns that fit, in colour only on request."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from skill_health.text.patterns import lazy

# C0, C1, DEL, bidi controls, zero-width characters, line separators, tag characters, surrogates, BOM.
_UNSAFE = lazy(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_STYLES = {"red": "31", "yellow": "33", "blue": "34", "green": "32", "dim": "2", "bold": "1", "cyan": "36"}


def clean(text: str) -> str:
    """The text with everything that could move the cursor or hide or reorder characters shown as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(escape_character, text.replace("\t", " "))


def escape_character(match: re.Match[str]) -> str:
    """The one character of a match as an escape, such as `\\x1b` or `\\u{202e}`."""
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{{{code:04x}}}"


def paint(text: str, style: str, color: bool) -> str:
    """The text in a colour or weight, if `color` is true."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if color else text


def wants_color(stream: TextIO | None = None, choice: str = "auto") -> bool:
    """Whether to colour: always / never; else by NO_COLOR (no-color.org) and FORCE_COLOR, else on a terminal."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    if os.environ.get("TERM") == "dumb":
        return False
    shown = stream or sys.stdout
    return shown is not None and shown.isatty()


def echo(text: str, err: bool = False) -> None:
    """Print text that is already safe to print."""
    stream = sys.stderr if err else sys.stdout
    if stream is not None:
        stream.write(text)


def markdown_text(text: str) -> str:
    """The text escaped so that Markdown shows it verbatim, without any markup, link, HTML, table cell or new line."""
    shown = clean(text.replace("\n", " ").replace("\r", " "))
    shown = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shown = re.sub(r"([\\`*_{}\[\]()#+!|~])", r"\\\1", shown)
    return shown.replace("://", "&#58;//").replace("www.", "www&#46;").replace("@", "&#64;")


NARROWEST, UNBOUNDED = 40, 1 << 20
"""The least number of columns that is laid out for, and one that no text reaches."""
_ASCII = str.maketrans({
    "–": "-", "…": "~", "─": "-", "├": "|", "┤": "|", "│": "|", "┼": "+", "●": "#", "○": "o", "·": ".", "→": ">", "×": "x",
})  # fmt: skip


def table_line(text: str) -> str:
    """The text on one line, without control characters."""
    return clean(text.replace("\n", " ").replace("\r", " "))


def columns(text: str) -> int:
    """How many columns a text takes on a terminal: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(0 if category(each) in ("Mn", "Me") else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def one_line(text: str, width: int = 300) -> str:
    """A text on one line, cut to `width` characters and safe to print."""
    whole = clean(" ".join(text[: 4 * width].split()))
    return whole if len(whole) <= width else whole[: width - 1] + "…"


def cut(text: str, width: int) -> str:
    """The text on one line of at most `width` columns, at least 1; what is left out is marked."""
    shown = table_line(text)
    if columns(shown) <= width:
        return shown
    while shown and columns(shown) > width - 1:
        shown = shown[: -max((columns(shown) - width + 1) // 2, 1)]
    return shown + "…"


def squeezed(text: str, width: int) -> str:
    """The same, but the middle is left out: for names that differ at the beginning or the end."""
    shown = table_line(text)
    if columns(shown) <= width:
        return shown
    half = (width - 1) // 2
    tail = shown[-half:] if half else ""
    while columns(tail) > half:
        tail = tail[1:]
    return cut(f"{shown[: len(shown) - len(tail)]}…", width - columns(tail)) + tail


def padded(text: str, width: int, right: bool = False) -> str:
    """The text padded with blanks, on the right or left, to this many columns."""
    blank = " " * (width - columns(text))
    return blank + text if right else text + blank


def wrapped(text: str, width: int, hang: str = "") -> list[str]:
    """The text wrapped on one or more lines; all but the first begin with `hang`."""
    lines: list[str] = []
    current = ""
    for word in table_line(text).split():
        while word:
            start = hang if lines else ""
            longer = f"{current} {word}" if current else start + word
            if columns(longer) <= width:
                current, word = longer, ""
            elif current:
                lines.append(current)
                current = ""
            else:
                piece = _start(word, width - columns(start))
                lines.append(start + piece)
                word = word[len(piece) :]
    return [*lines, current] if current or not lines else lines


def _start(word: str, width: int) -> str:
    """As much of a word as fits, at least one character."""
    end = 1
    while end < len(word) and columns(word[: end + 1]) <= width:
        end += 1
    return word[:end]


def lay_out_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int = UNBOUNDED, fewest: int = 2, least: int = 12
) -> Iterator[str]:
    """The lines of a table: the first column is left-aligned and shrinks down to `least`, the others right-aligned.

    Columns are dropped from the right until it fits, but `fewest` are kept. The first line is the header.
    """
    cells = [[cut(cell, width) for cell in row] for row in (head, *rows)]
    widths = [max(columns(row[at]) for row in cells) for at in range(len(head))]
    kept = len(head)
    while kept > fewest and min(widths[0], least) + sum(widths[1:kept]) + 2 * (kept - 1) > width:
        kept -= 1
    first = max(min(widths[0], width - sum(widths[1:kept]) - 2 * (kept - 1)), 1)
    for row in cells:
        others = (padded(row[at], widths[at], right=True) for at in range(1, kept))
        yield cut("  ".join([padded(squeezed(row[0], first), first), *others]).rstrip(), width)


def to_ascii(text: str) -> str:
    """Finished output for an ASCII-only terminal: our own signs are replaced, the rest becomes escapes."""
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")


def speaks_unicode(stream: object) -> bool:
    """Whether a stream can encode the signs of tables and plots."""
    try:
        "─●…".encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def ascii_values(value: Any) -> Any:
    """JSON values with every text in ASCII, so that columns stay aligned."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("ascii", "backslashreplace").decode("ascii")
    if isinstance(value, Mapping):
        return {ascii_values(key): ascii_values(each) for key, each in value.items()}
    return [ascii_values(each) for each in value] if isinstance(value, list | tuple) else value
