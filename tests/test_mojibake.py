"""Text that was read in the wrong encoding comes back as it was, and other text stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.text.mojibake import _WINDOWS, misread_spans

LETTERS = st.text(st.sampled_from("ab .\u2019\u201c\u201d\u2014\u2026éüñßøŁčαβЯщ日本語한🎉™"), min_size=1, max_size=20)


def misread(text: str, windows: bool, times: int) -> str:
    for _ in range(times):
        text = "".join(_WINDOWS[b - 0x80] if windows and 0x80 <= b < 0xA0 else chr(b) for b in text.encode())
    return text


def turned_back(line: str) -> str:
    for start, end, was in reversed(misread_spans(line)):
        line = line[:start] + was + line[end:]
    return line


@given(LETTERS, st.booleans(), st.integers(1, 3))
def test_what_was_misread_comes_back(text: str, windows: bool, times: int) -> None:
    assert turned_back(misread(text, windows, times)) == text


WORDS = [
    "café", "naïve", "’s", "—", "“", "”", " ", "Ä", "über", "…", "日本", " 100 €", " 5 °C", "á", "É", "–", "é",
    "Привет",
]  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=12).map("".join))
def test_what_was_not_stays(text: str) -> None:
    assert turned_back(text) == text


@pytest.mark.parametrize(
    "text", ["CAFÉ” “É” À la", "“Ä” – „Ö“", "é—— à… Ö–", "x\x85y \x9b31m", "Ã", "â€", "100 €", "naïve’s"]
)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert turned_back(text) == text
