"""Fingerprints against a brute-force search for common runs, and the guarantee that they state."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from growth import is_linear, lines_run
from hypothesis import given
from hypothesis import strategies as st

from skill_health.text.fingerprints import (
    GRAM,
    GUARANTEE,
    WINDOW,
    SharedWords,
    extend,
    fingerprints,
    grams,
    shared_runs,
    split,
)

few = st.lists(st.sampled_from(["a", "b", "c"]), max_size=24)
many = st.lists(st.sampled_from([f"w{n}" for n in range(200)]), max_size=40)
distinct = st.lists(st.integers(0, 10_000).map(str), min_size=GUARANTEE, max_size=30, unique=True)


def brute_force_runs(a: Sequence[str], b: Sequence[str], least: int) -> list[SharedWords]:
    """Every maximal common run, by trying every pair of places."""
    found = []
    for i in range(len(a)):
        for j in range(len(b)):
            if i and j and a[i - 1] == b[j - 1]:
                continue
            length = 0
            while i + length < len(a) and j + length < len(b) and a[i + length] == b[j + length]:
                length += 1
            if length >= least:
                found.append(SharedWords(i, j, length))
    return sorted(found, key=lambda run: (run.a, run.b))


def test_the_guarantee_is_eight_words() -> None:
    assert (GRAM, WINDOW, GUARANTEE) == (5, 4, 8)


@given(few, few, st.integers(1, 4))
def test_shared_runs_are_those_of_brute_force(a: list[str], b: list[str], least: int) -> None:
    assert shared_runs(a, b, least) == brute_force_runs(a, b, least)


@given(many, many)
def test_shared_runs_of_longer_texts(a: list[str], b: list[str]) -> None:
    assert shared_runs(a, [*b, *a[3:12], *b], 5) == brute_force_runs(a, [*b, *a[3:12], *b], 5)


@given(many, many, distinct, many, many)
def test_a_shared_run_of_the_guaranteed_length_shares_a_fingerprint(
    before: list[str], after: list[str], passage: list[str], left: list[str], right: list[str]
) -> None:
    one = {value for value, _ in fingerprints([*before, *passage, *after])}
    other = {value for value, _ in fingerprints([*left, *passage, *right])}
    assert one & other


@given(few, few)
def test_the_guarantee_holds_for_repetitive_texts(a: list[str], b: list[str]) -> None:
    if brute_force_runs(a, b, GUARANTEE):
        assert {value for value, _ in fingerprints(a)} & {value for value, _ in fingerprints(b)}


@given(few)
def test_every_window_keeps_one_hash(words: list[str]) -> None:
    kept = {at for _, at in fingerprints(words)}
    count = len(grams(words))
    assert all(kept & set(range(at, at + WINDOW)) for at in range(count - WINDOW + 1))
    assert bool(kept) == (count > 0)
    assert [value for value, _ in fingerprints(words)] == [grams(words)[at] for _, at in fingerprints(words)]


def test_a_copy_with_small_edits_is_found_by_the_runs_between_them() -> None:
    original = "Write total_active=4182 and the median number of days to summary.txt, then sort every region by name."
    edited = (
        "write TOTAL_ACTIVE=4182 and the median number of days to summary.txt; afterwards sort every region by size"
    )
    runs = shared_runs(split(original).words, split(edited).words, GUARANTEE)
    assert [run.length for run in runs] == [12]
    assert {v for v, _ in fingerprints(split(original).words)} & {v for v, _ in fingerprints(split(edited).words)}


def test_words_know_where_they_stand() -> None:
    text = "Sort — the Größe,\n検索 now"
    words = split(text)
    assert words.words == ("sort", "the", "grösse", "検", "索", "now")
    assert [text[a:b] for a, b in zip(words.starts, words.ends, strict=True)] == [
        "Sort", "the", "Größe", "検", "索", "now",
    ]  # fmt: skip


@pytest.mark.parametrize("words", [[], ["a"], ["a"] * (GRAM - 1)])
def test_a_short_text_has_no_fingerprints(words: list[str]) -> None:
    assert grams(words) == []
    assert fingerprints(words) == []


def test_hashes_are_the_same_on_every_machine() -> None:
    assert grams(["a", "b", "c", "d", "e"]) == [3602959311]  # gzip says the same
    assert grams(["\ud800"] * 5)


def test_extend_gives_nothing_where_the_words_differ() -> None:
    assert extend(["a", "b"], ["a", "c"], 1, 1) == SharedWords(1, 1, 0)
    assert extend(["x", "a", "b"], ["a", "b", "y"], 2, 1) == SharedWords(1, 0, 2)


def test_a_long_text_takes_linear_time() -> None:
    words = [str(n % 97) for n in range(400)]
    assert is_linear(lambda times: lines_run(lambda: fingerprints(words * times)), sizes=(2,))
