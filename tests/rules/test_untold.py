"""The telling words of a body: properties for any text, against a plain computation, and how the rule is measured."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.risk import auc_within
from benchmarks.untold import choose_without
from skill_health.rules.routing.untold_words import TELLING, find_lacking, read_terms

WORDS = (
    "invoice", "invoices", "debtor", "writ", "sorted", "sorting", "table", "chart", "plum", "mail", "ledger",
    "court", "fee",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join)


@given(st.text(max_size=300), st.text(max_size=60), st.text(max_size=20))
def test_any_text_is_read_and_what_is_said_does_not_lack(body: str, description: str, name: str) -> None:
    terms = read_terms(body)
    assert terms == read_terms(body) and len({stem for stem, _, _ in terms}) == len(terms)
    holders = Counter(stem for stem, _, _ in terms)
    lacking = find_lacking(name, description, terms, holders, 10)
    assert set(lacking) <= set(terms) and len(lacking) <= TELLING
    assert find_lacking(name, f"{description} {body}", terms, holders, 10) == ()


@given(st.lists(TEXTS, min_size=3, max_size=8))
def test_the_most_telling_come_first(bodies: list[str]) -> None:
    read = [read_terms(body) for body in bodies]
    holders = Counter(stem for terms in read for stem, _, _ in terms)
    for terms in read:
        weights = {
            stem: (1 + math.log(n))
            * math.log((1 + len(bodies)) / (1 + sum(stem in {s for s, _, _ in t} for t in read)))
            for stem, n, _ in terms
        }
        found = find_lacking("", "", terms, holders, len(bodies))
        if len(terms) < TELLING:
            assert found == ()
            continue
        told = [weights[stem] for stem, _, _ in found]
        assert told == sorted(told, reverse=True) and len(found) == TELLING
        assert min(told) >= max((weights[stem] for stem in weights.keys() - {s for s, _, _ in found}), default=0.0)


def test_a_word_is_named_as_it_is_mostly_written() -> None:
    terms = {
        stem: (n, form) for stem, n, form in read_terms("Invoices, invoices, invoice.\n\n```\ninvoice invoice\n```\n")
    }
    assert terms == {"invoic": (3, "invoices")}
    assert {form for _, _, form in read_terms("dunningLetters in 発票 are sent.")} == {
        "dunning", "letters", "発票", "sent",
    }  # fmt: skip


def test_a_threshold_is_chosen_without_the_collection_that_it_is_for() -> None:
    lost = np.array([True, False, True, False, True, False])
    collection = np.array(["a", "a", "b", "b", "c", "c"])
    counts = np.array([9.0, 8.0, 5.0, 4.0, 5.0, 4.0])
    chosen = choose_without(counts, lost, collection)
    assert chosen.tolist() == [5, 5, 5, 5, 5, 5]
    assert auc_within((counts >= chosen).astype(float), lost, collection) == (0.5 + 1 + 1) / 3
