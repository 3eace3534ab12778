"""Texts cut to what a page has room for: each cut says how much it leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from skill_health.page.figures import escape_text


@dataclass(frozen=True, slots=True)
class TextExcerpt:
    """The beginning of a text, and how much of it is left out, in `unit`s ("character", "line", "byte")."""

    text: str
    left: int = 0
    unit: str = "character"

    @property
    def note(self) -> str:
        """What is left out in words; "" where nothing is."""
        return f"{self.left:,} more {self.unit}{'s' * (self.left != 1)}" if self.left else ""


@dataclass(slots=True)
class HtmlBudget:
    """The bytes of HTML that may still be spent. Whoever is most in need is served first."""

    left: int

    def pay(self, price: int) -> bool:
        """Take a price out of it, if it is there; whether it was."""
        if price > self.left:
            return False
        self.left -= price
        return True


def cut(text: str, most: int) -> TextExcerpt:
    """At most so many characters of a text."""
    return TextExcerpt(text[:most], max(0, len(text) - most))


def fitted(text: str, most: int, room: int) -> TextExcerpt:
    """At most so many characters of a text, and no more than take `room` bytes of HTML."""
    most = min(most, room)
    while most > 0 and price(text[:most]) > room:
        most = most * 3 // 4
    return cut(text, max(0, most))


def from_file(data: bytes, size: int, most: int, room: int) -> TextExcerpt:
    """The beginning of a file of `size` bytes, of which `data` were read. Bytes that are no UTF-8 show as escapes."""
    text = data.decode("utf-8", "surrogateescape")
    if size <= len(data):
        return fitted(text, most, room)
    part = fitted(text, min(most, len(text) - 1), room)
    return TextExcerpt(part.text, size - len(part.text.encode("utf-8", "surrogateescape")), "byte")


def price(text: str) -> int:
    """How many bytes of HTML a text takes."""
    return len(escape(escape_text(text)).encode("utf-8", "surrogatepass"))
