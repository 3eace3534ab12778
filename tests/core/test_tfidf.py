"""TF-IDF against scikit-learn's recorded numbers and a plain computation; the searches against all pairs."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.text import similarity

TEXTS = [
    "Formats Python code with ruff. Use when Python files changed.",
    "Formats Python code with black and ruff. Use when code style matters.",
    "Writes release notes from a changelog; use when a release is cut.",
    "Cuts releases. Use when a release is due and the changelog is ready!",
    "x y z",
]
# python -c "from sklearn.feature_extraction.text import TfidfVectorizer as T; from sklearn.metrics.pairwise import
# cosine_similarity as c; print(c(T().fit_transform(TEXTS)))" with scikit-learn 1.9.1: the upper triangle, row by row.
SKLEARN = [
    0.6016571210095373,
    0.07756813392190992,
    0.07100793561393906,
    0.0,
    0.07050137064527631,
    0.13071617363209134,
    0.0,
    0.416899145754066,
    0.0,
    0.0,
]

word = st.sampled_from([f"w{n}" for n in range(12)])
texts = st.lists(st.lists(word, max_size=14), max_size=14)


def plain_cosine(a: list[str], b: list[str], all_texts: list[list[str]]) -> float:
    """The textbook formula, term by term."""
    n = len(all_texts)

    def weight(term: str, text: list[str]) -> float:
        df = sum(term in other for other in all_texts)
        return text.count(term) * (math.log((1 + n) / (1 + df)) + 1)

    vocabulary = sorted({*a, *b})
    dot = sum(weight(t, a) * weight(t, b) for t in vocabulary)
    norms = [math.sqrt(sum(weight(t, text) ** 2 for t in vocabulary)) for text in (a, b)]
    return dot / (norms[0] * norms[1]) if all(norms) else 0.0


def test_terms_are_lower_case_words_of_two_or_more_characters() -> None:
    assert similarity.terms("A Snake_case v2, ÄPFEL and x") == ["snake_case", "v2", "äpfel", "and"]
    assert similarity.terms("use the tool", {"use", "the"}) == ["tool"]
    assert similarity.terms("") == []


def test_cosine_is_that_of_scikit_learn() -> None:
    vectors = similarity.vectors([similarity.terms(text) for text in TEXTS])
    found = [similarity.cosine(vectors[i], vectors[j]) for i in range(5) for j in range(i + 1, 5)]
    assert found == pytest.approx(SKLEARN, abs=1e-12)


@given(texts)
def test_cosine_is_the_textbook_formula(given_texts: list[list[str]]) -> None:
    vectors = similarity.vectors(given_texts)
    for i, a in enumerate(given_texts):
        for j, b in enumerate(given_texts):
            assert similarity.cosine(vectors[i], vectors[j]) == pytest.approx(plain_cosine(a, b, given_texts), abs=1e-9)


@given(texts)
def test_vectors_have_length_one(given_texts: list[list[str]]) -> None:
    for text, vector in zip(given_texts, similarity.vectors(given_texts), strict=True):
        assert math.fsum(v * v for v in vector.values()) == pytest.approx(1.0 if text else 0.0)


@given(texts, st.sampled_from([0.05, 0.3, 0.5, 0.75, 0.9, 0.999, 1.0]))
def test_similar_pairs_are_all_pairs_above_the_threshold(given_texts: list[list[str]], threshold: float) -> None:
    vectors = similarity.vectors(given_texts)
    expected = [
        (i, j, similarity.cosine(vectors[i], vectors[j]))
        for j in range(len(vectors))
        for i in range(j)
        if similarity.cosine(vectors[i], vectors[j]) >= threshold
    ]
    assert list(similarity.similar_pairs(vectors, threshold)) == expected


@given(texts, st.sampled_from([0.1, 0.5, 2 / 3, 0.9, 1.0]), st.integers(0, 4))
def test_contained_pairs_are_all_pairs_above_the_threshold(
    given_texts: list[list[str]], threshold: float, least: int
) -> None:
    sets = [set(text) for text in given_texts]
    expected = []
    for small, a in enumerate(sets):
        for large, b in enumerate(sets):
            if small != large and len(a) >= max(1, least) and (len(b), large) > (len(a), small):
                share = len(a & b) / len(a)
                if share >= threshold:
                    expected.append((small, large, share))
    assert list(similarity.contained_pairs(given_texts, threshold, least)) == expected


def test_containment_is_the_share_of_the_smaller_set() -> None:
    assert similarity.containment(["a", "b"], ["b", "c", "d"]) == 0.5
    assert similarity.containment([], ["a"]) == 0.0


def test_frequencies_count_texts_and_not_occurrences() -> None:
    assert similarity.frequencies([["a", "a", "b"], ["b"]]) == Counter({"b": 2, "a": 1})
