"""What others wrote, made visible."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.page.figures import escape_text
from skill_health.page.model import anchor
from skill_health.text.terminal import clean

_ALL = st.text(st.characters(), max_size=60)


@given(_ALL)
def test_nothing_is_hidden_and_all_of_it_can_be_written(text: str) -> None:
    told = escape_text(text)
    told.encode("utf-8")
    hidden = {each for each in told if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp")} - {"\n", "\t"}
    assert not hidden
    assert not {each for each in told if unicodedata.bidirectional(each) in {"LRE", "RLE", "LRO", "RLO", "PDF"}}


@given(_ALL)
def test_what_is_not_safe_on_a_terminal_is_not_on_the_page(text: str) -> None:
    told = escape_text(text).replace("\n", " ").replace("\t", " ")
    assert clean(told) == told


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_stays_as_it_is(text: str) -> None:
    assert escape_text(text) == text


@given(_ALL, st.integers(0, 80))
def test_a_limit_cuts_the_text_and_not_an_escape(text: str, limit: int) -> None:
    text = text.replace("\r\n", "")
    told = escape_text(text, limit)
    if len(text) <= limit:
        assert told == escape_text(text)
    else:
        assert told == f"{escape_text(text[:limit])}… (and {len(text) - limit:,} more characters)"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\r\nb\tc", "a\nb\tc"), ("\x00\x1b[31m\x7f\x9b", r"\x00\x1b[31m\x7f\x9b"),
        ("gpj.\u202eexe", r"gpj.\u{202e}exe"), ("\ud800 \udfff", r"\u{d800} \u{dfff}"),
        ("a\u00adb\u200bc\ufeff\U000e0041\ufffe", r"a\xadb\u{200b}c\u{feff}\u{e0041}\u{fffe}"),
        ("grün 日本 🎉 <b>&amp;", "grün 日本 🎉 <b>&amp;"), (None, "None"), (12, "12"),
    ],
)  # fmt: skip
def test_each_kind(text: object, told: str) -> None:
    assert escape_text(text) == told


@given(st.lists(_ALL, unique=True, min_size=2, max_size=20))
def test_places_are_plain_and_differ(paths: list[str]) -> None:
    places = [anchor(path) for path in paths]
    assert len(set(places)) == len(paths)
    assert all(place.startswith("skill-") and place.removeprefix("skill-").isalnum() for place in places)
    assert places == [anchor(path) for path in paths]
