"""Positions as an editor counts them: from 0, columns in UTF-16 units unless it was agreed otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"
_BOM = "\ufeff"


class EditorPosition(NamedTuple):
    """A line and a column, from 0."""

    line: int
    character: int


class TextColumns:
    """The lines of a text as an editor has it, and what its positions are in ours: from 1, in characters.

    A byte-order mark that the editor shows as a character is none in our columns.
    """

    def __init__(self, text: str, encoding: str = UTF16) -> None:
        self.encoding = encoding
        self.lines: Sequence[str] = split_lines(text)
        self.mark = len(_BOM) if text.startswith(_BOM) else 0

    def to_editor(self, line: int, col: int) -> EditorPosition:
        """A position of ours; what is beyond the text is at its end."""
        if line > len(self.lines):
            return EditorPosition(len(self.lines) - 1, self._units(self.lines[-1]))
        source = self.lines[max(line, 1) - 1]
        before = source[: max(0, col - 1) + (self.mark if line == 1 else 0)]
        return EditorPosition(max(line, 1) - 1, self._units(before))

    def from_editor(self, line: int, character: int) -> tuple[int, int]:
        """A position of the editor's; what is beyond a line is at its end, and within a character before it."""
        if line >= len(self.lines):
            return len(self.lines), len(self.lines[-1]) + 1
        source, units = self.lines[max(0, line)], 0
        for at, char in enumerate(source):
            units += self._units(char)
            if units > character:
                return max(0, line) + 1, max(1, at + 1 - (self.mark if line == 0 else 0))
        return max(0, line) + 1, max(1, len(source) + 1 - (self.mark if line == 0 else 0))

    def _units(self, text: str) -> int:
        if self.encoding == UTF32 or text.isascii():
            return len(text)
        if self.encoding == UTF8:
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text.encode("utf-16-le", "surrogatepass")) // 2


def split_lines(text: str) -> list[str]:
    """The lines of a text, ended by what ends a line for an editor and for us, and by nothing else."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
