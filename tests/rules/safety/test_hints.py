"""Rules look fast for hints first: whatever a pattern matches has one."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from skill_health.rules.safety import hidden_from_user, reverse_shell, secret_sent_away
from skill_health.rules.safety._passages import _as_text

SECRET = secret_sent_away._HINTS
PRINTED = (*SECRET, *secret_sent_away._HINTS_OF_PRINTED)
COVERED = {
    "hides": (hidden_from_user._HIDES, hidden_from_user._HINTS),
    "opens": (reverse_shell._OPENS, reverse_shell._HINTS), "secret-file": (secret_sent_away._SECRET_FILE, SECRET),
    "source": (secret_sent_away._SOURCE, SECRET), "in-call": (secret_sent_away._IN_CALL, SECRET),
    "piped": (secret_sent_away._PIPED, PRINTED), "given": (secret_sent_away._GIVEN, PRINTED),
}  # fmt: skip


# Drawing texts of these patterns is slow.


@pytest.mark.slow
@pytest.mark.parametrize("name", COVERED)
@given(st.data())
@settings(suppress_health_check=list(HealthCheck), deadline=None)
def test_what_a_pattern_matches_has_a_hint(name: str, data: st.DataObject) -> None:
    pattern, hints = COVERED[name]
    text = data.draw(st.from_regex(re.compile(pattern.pattern, pattern.flags)))
    assume(found := pattern.search(text))
    assert _as_text(None, True, text[found.start() :], "").hints_at(hints)


@pytest.mark.slow
@given(st.data())
@settings(suppress_health_check=list(HealthCheck), deadline=None)
def test_what_hides_is_found_around_its_hint(data: st.DataObject) -> None:
    pattern = hidden_from_user._HIDES
    drawn = data.draw(st.from_regex(re.compile(pattern.pattern, pattern.flags)))
    assume(found := pattern.search(drawn))
    text = f"{'word ' * 50}\n{drawn[found.start() : found.end()]}.\n\n{'word ' * 50}"
    assume(pattern.search(text))
    assert list(hidden_from_user._hides(_as_text(None, True, text, "")))


@given(st.text(max_size=100))
def test_a_text_to_look_in_has_the_places_of_the_text(text: str) -> None:
    lower = _as_text(None, True, text.replace("\\", ""), "").lower
    assert len(lower) == len(text.replace("\\", ""))
    assert lower.isascii()
    assert lower == lower.lower()


def test_letters_that_a_pattern_takes_for_ascii_are_folded() -> None:
    letters = "".join(map(chr, range(0x80, 0xD800)))
    lower = _as_text(None, True, letters, "").lower
    for plain in "abcdefghijklmnopqrstuvwxyz":
        for match in re.finditer(plain, letters, re.IGNORECASE):
            assert lower[match.start()] == plain
