"""Paths into home folders are looked for where they may begin, and found as a search everywhere finds them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skill_health.rules.leakage import personal_path

PARTS = st.sampled_from(
    ["/Users/", "/home/", "/home/home", "Users", "bob", "al", "/", "x", ".", "~", "-", " ", "\n", "C:", "C:\\", "\\Users\\",
     "\\\\Users\\\\", "C:/Users/"]
)  # fmt: skip


@given(st.lists(PARTS, max_size=12).map("".join))
def test_any_mix_of_paths(text: str) -> None:
    unix, windows = personal_path._unix_paths(text), personal_path._windows_paths(text)
    assert [match.span() for match in unix] == [match.span() for match in personal_path._UNIX.finditer(text)]
    assert [match.span() for match in windows] == [match.span() for match in personal_path._WINDOWS.finditer(text)]
