"""What is safe to print: colour only where asked for, no control characters of the input."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

from skill_health.core.patterns import lazy

# C0, C1, DEL, bidi controls, zero-width characters, line separators, tag characters, surrogates, BOM.
_UNSAFE = lazy(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_STYLES = {"red": "31", "yellow": "33", "blue": "34", "green": "32", "dim": "2", "bold": "1", "cyan": "36"}


def clean(text: str) -> str:
    """The text with everything that could move a cursor, hide or reorder characters shown as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_escape, text.replace("\t", " "))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{{{code:04x}}}"


def paint(text: str, style: str, color: bool) -> str:
    """The text in a colour or weight, where `color` is true."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if color else text


def wants_color(stream: TextIO | None = None, choice: str = "auto") -> bool:
    """Whether to colour: always / never, else on a terminal unless NO_COLOR is set (no-color.org)."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return (stream or sys.stdout).isatty()


def echo(text: str, err: bool = False) -> None:
    """Print text that is already safe to print."""
    stream = sys.stderr if err else sys.stdout
    if stream is not None:
        stream.write(text)


def markdown_text(text: str) -> str:
    """The text so that Markdown shows it as it is: no markup, link, HTML, table cell or new line can come of it."""
    shown = clean(text.replace("\n", " ").replace("\r", " "))
    shown = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shown = re.sub(r"([\\`*_{}\[\]()#+!|~])", r"\\\1", shown)
    return shown.replace("://", "&#58;//").replace("www.", "www&#46;").replace("@", "&#64;")
