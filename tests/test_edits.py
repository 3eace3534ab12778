"""Edits touch what they name and nothing else, whatever the line endings and however they overlap."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.lint.fixing.edits import edit_bytes
from skill_health.rules._api import Edit
from skill_health.skill.model import Span

TEXT = st.lists(st.sampled_from(["a", "é", "𝄞", " ", "\n", "\r\n", "\r", "'", ":"]), max_size=30).map("".join)
SPAN = st.builds(Span, st.integers(1, 8), st.integers(1, 8), st.integers(1, 8), st.integers(1, 8))
EDITS = st.lists(st.builds(Edit, SPAN, st.sampled_from(["", "x", "yy", "z\n"])), max_size=4)


@pytest.mark.parametrize(
    ("before", "edits", "after"),
    [
        ("", [], ""),
        ("name: a\n", [Edit(Span(1, 7, 1, 8), "'a'")], "name: 'a'\n"),
        ("a\r\nb\r\n", [Edit(Span(2, 1, 2, 2), "c")], "a\r\nc\r\n"),
        ("a\r\nb\r\n", [Edit(Span(1, 1, 1, 1), "n\n")], "n\r\na\r\nb\r\n"),
        ("a\rb", [Edit(Span(2, 1, 2, 2), "c")], "a\rc"),
        ("abc", [Edit(Span(1, 1, 1, 3), "x"), Edit(Span(1, 2, 1, 4), "y")], "xc"),
        ("a\nb\n", [Edit(Span(1, 1, 2, 1), "")], "b\n"),
        ("a\n", [Edit(Span(9, 1, 9, 9), "end")], "a\nend"),
    ],
)
def test_edits(before: str, edits: list[Edit], after: str) -> None:
    assert edit_bytes(before.encode(), edits) == after.encode()


def test_the_byte_order_mark_is_column_zero() -> None:
    data = b"\xef\xbb\xbfname: a\r\n"
    assert edit_bytes(data, [Edit(Span(1, 7, 1, 8), "b")]) == b"\xef\xbb\xbfname: b\r\n"
    assert edit_bytes(data, [Edit(Span(1, 0, 1, 1), "")]) == b"name: a\r\n"


def test_bytes_that_are_not_utf8_are_left_alone() -> None:
    assert edit_bytes(b"caf\xe9", [Edit(Span(1, 1, 1, 2), "x")]) == b"caf\xe9"


@given(TEXT)
def test_no_edit_no_change(text: str) -> None:
    assert edit_bytes(text.encode(), []) == text.encode()


@given(TEXT, EDITS)
def test_order_of_edits_does_not_matter(text: str, edits: list[Edit]) -> None:
    assert edit_bytes(text.encode(), edits) == edit_bytes(text.encode(), edits[::-1])


@given(TEXT, st.integers(0, 29), st.integers(0, 29))
def test_one_edit_keeps_every_other_byte(text: str, one: int, two: int) -> None:
    """The oracle: cut the text at the same two characters by hand."""
    start, end = sorted((min(one, len(text)), min(two, len(text))))
    breaks = [match.end() for match in re.finditer("\r\n|\r|\n", text)]
    for offset in (start, end):
        if 0 < offset < len(text) and text[offset - 1 : offset + 1] == "\r\n":
            return

    def place(offset: int) -> tuple[int, int]:
        before = [at for at in breaks if at <= offset]
        return len(before) + 1, offset - (before[-1] if before else 0) + 1

    edit = Edit(Span(*place(start), *place(end)), "NEW")
    assert edit_bytes(text.encode(), [edit]).decode() == text[:start] + "NEW" + text[end:]
