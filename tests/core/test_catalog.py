"""What hosts list: against budgets counted by hand and a host's own way of handing out characters, one at a time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.discovery.hosts import FULL, NAME_ONLY, OMITTED, TRUNCATED, CatalogEntry, Host, hosts, simulate

PLAIN = Host("plain", budget=40, entry="{name}: {description}\n", bare="{name}\n")
pairs = st.lists(st.tuples(st.text("abc", min_size=1, max_size=4), st.text("xyü ", max_size=30)), max_size=12)


def by_key(key: str) -> Host:
    return next(host for host in hosts() if host.key == key)


def one_character_at_a_time(texts: list[tuple[str, str]], host: Host) -> list[int]:
    """Round-robin, as Codex hands out what its bare entries leave of the budget."""

    def cost(name: str, text: str) -> int:
        line = (host.entry if text else host.bare).replace("{name}", name).replace("{description}", text)
        return -(-len(line.encode()) // 4) if host.unit == "tokens" else len(line)

    shown = [0] * len(texts)
    left = host.limit - sum(cost(name, "") for name, _ in texts)
    moved = True
    while moved:
        moved = False
        for at, (name, text) in enumerate(texts):
            if shown[at] < len(text):
                more = cost(name, text[: shown[at] + 1]) - cost(name, text[: shown[at]])
                if more <= left:
                    shown[at] += 1
                    left -= more
                    moved = True
    return shown


def test_the_table_is_dated_complete_and_says_where_from() -> None:
    assert [host.key for host in hosts()] == ["claude-code", "codex", "copilot-cli"]
    assert [host.limit for host in hosts()] == [8000, 5440, 15000]
    for host in hosts():
        assert host.title
        assert "{name}" in host.entry
        assert "{description}" in host.entry
        assert re.search(r"\w+\.com/", host.source)


def test_a_configuration_overrides_numbers_and_adds_hosts() -> None:
    found = {host.key: host for host in hosts({"codex": {"context_tokens": 100_000}, "mine": {"budget": 50}})}
    assert found["codex"].limit == 2000
    assert found["mine"].limit == 50
    assert found["mine"].overflow == "omit"
    told = hosts({"copilot-cli": {"context_tokens": 1000, "budget_percent": 10}})
    assert {host.key: host.limit for host in told}["copilot-cli"] == 400
    assert hosts({"codex": {"colour": 3}}) == hosts()


def test_everything_fits_and_nothing_is_listed_of_nothing() -> None:
    listing = simulate([("b", "two"), ("a", "one")], PLAIN)
    assert listing.skills == (CatalogEntry("b", FULL, 3), CatalogEntry("a", FULL, 3))
    assert (listing.used, listing.wanted) == (14, 14)
    assert simulate([], PLAIN).skills == ()
    assert simulate([("a", "x" * 500)], PLAIN._replace(budget=0)).skills == (CatalogEntry("a", FULL, 500),)


def test_omitting_stops_at_the_first_entry_that_does_not_fit() -> None:
    listing = simulate([("c", "x"), ("a", "x" * 20), ("b", "x" * 20)], PLAIN)
    assert [shown.state for shown in listing.skills] == [OMITTED, FULL, OMITTED]
    assert (listing.used, listing.wanted) == (24, 53)
    assert 0 < listing.tokens < 24


def test_names_stay_where_descriptions_are_dropped() -> None:
    listing = simulate([("c", "x"), ("a", "x" * 20), ("b", "x" * 20)], PLAIN._replace(overflow="names"))
    assert listing.skills == (CatalogEntry("c", FULL, 1), CatalogEntry("a", FULL, 20), CatalogEntry("b", NAME_ONLY, 0))
    assert listing.used == 5 + 24 + 2


def test_a_cap_cuts_one_description_whatever_the_budget() -> None:
    listing = simulate([("a", "x" * 12), ("b", "x" * 10)], PLAIN._replace(skill_chars=10))
    assert listing.skills == (CatalogEntry("a", TRUNCATED, 10), CatalogEntry("b", FULL, 10))


def test_line_breaks_count_as_one_blank() -> None:
    assert simulate([("a", "one\n  two\n")], PLAIN).skills == (CatalogEntry("a", FULL, 7),)


def test_an_empty_description_is_shown_in_full() -> None:
    assert simulate([("a", ""), ("b", "x" * 90)], PLAIN._replace(overflow="names")).skills[0] == CatalogEntry(
        "a", FULL, 0
    )


@given(pairs, st.integers(1, 200), st.sampled_from(["characters", "tokens"]))
def test_shortening_is_handing_out_one_character_at_a_time(
    texts: list[tuple[str, str]], budget: int, unit: str
) -> None:
    texts = [(name, " ".join(text.split())) for name, text in texts]
    host = PLAIN._replace(overflow="shorten", unit=unit, budget=budget, bare="{name}:\n")
    listing = simulate(texts, host)
    assert listing.used <= budget
    if listing.count(OMITTED) == 0 and texts:
        shown = [each.chars for each in listing.skills]
        expected = one_character_at_a_time(texts, host)
        # The host gives what is left over, less than a round, to some of the entries.
        assert 0 <= sum(expected) - sum(shown) <= (5 if unit == "tokens" else 2) * len(texts)
        assert max(shown) <= max(expected)


@given(pairs, st.integers(1, 200), st.sampled_from(["names", "shorten", "omit"]))
def test_no_host_shows_more_than_there_is(texts: list[tuple[str, str]], budget: int, overflow: str) -> None:
    listing = simulate(texts, PLAIN._replace(overflow=overflow, budget=budget))
    assert [shown.name for shown in listing.skills] == [name for name, _ in texts]
    for shown, (_, text) in zip(listing.skills, texts, strict=True):
        whole = len(" ".join(text.split()))
        assert shown.chars <= whole
        assert (shown.state == FULL) == (shown.chars == whole and shown.state not in (OMITTED, NAME_ONLY))
    if overflow == "omit":
        assert listing.used <= budget
    assert listing.used <= listing.wanted


@pytest.mark.parametrize(("count", "chars", "states"), [(92, 260, {"copilot-cli": 36})])
def test_what_users_report(count: int, chars: int, states: dict[str, int]) -> None:
    """36 of 92 skills shown by Copilot CLI (reported in 2026, with entries of about 110 characters beside the text)."""
    texts = [(f"some-skill-{n:03d}", "x" * (chars + n % 40)) for n in range(count)]
    for key, shown in states.items():
        assert abs(simulate(texts, by_key(key)).count(FULL) - shown) <= 3
