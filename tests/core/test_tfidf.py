"""TF-IDF against scikit-learn's recorded numbers and a plain computation; the searches against all pairs."""

from __future__ import annotations

import math
import random
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
    0.6016571210095373, 0.07756813392190992, 0.07100793561393906, 0.0, 0.07050137064527631, 0.13071617363209134, 0.0,
    0.416899145754066, 0.0, 0.0,
]  # fmt: skip

word = st.sampled_from([f"w{n}" for n in range(12)])
rare = st.sampled_from([f"r{n}" for n in range(60)])
texts = st.lists(st.lists(word, max_size=14) | st.lists(word | rare, max_size=30), max_size=30)
blocks = st.sampled_from([1, 2, 3, 5, 8192])


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


@given(texts, st.sampled_from([0.05, 0.3, 0.5, 0.75, 0.9, 0.999, 1.0]), blocks)
def test_similar_pairs_are_all_pairs_above_the_threshold(
    given_texts: list[list[str]], threshold: float, block: int
) -> None:
    vectors = similarity.Vectors(given_texts)
    expected = [
        (i, j, similarity.cosine(vectors[i], vectors[j]))
        for j in range(len(vectors))
        for i in range(j)
        if similarity.cosine(vectors[i], vectors[j]) >= threshold
    ]
    assert list(similarity.similar_pairs(vectors, threshold, block)) == expected


@given(texts, st.sampled_from([0.1, 0.5, 2 / 3, 0.9, 1.0]), st.integers(0, 4), blocks)
def test_contained_pairs_are_all_pairs_above_the_threshold(
    given_texts: list[list[str]], threshold: float, least: int, block: int
) -> None:
    sets = [set(text) for text in given_texts]
    expected = []
    for small, a in enumerate(sets):
        for large, b in enumerate(sets):
            if small != large and len(a) >= max(1, least) and (len(b), large) > (len(a), small):
                share = len(a & b) / len(a)
                if share >= threshold:
                    expected.append((small, large, share))
    assert list(similarity.contained_pairs(given_texts, threshold, least, block)) == expected


def test_containment_is_the_share_of_the_smaller_set() -> None:
    assert similarity.containment(["a", "b"], ["b", "c", "d"]) == 0.5
    assert similarity.containment([], ["a"]) == 0.0


def test_frequencies_count_texts_and_not_occurrences() -> None:
    assert similarity.frequencies([["a", "a", "b"], ["b"]]) == Counter({"b": 2, "a": 1})


@pytest.mark.parametrize("block", [70, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 64, 8192))])
def test_searches_find_all_near_copies_among_many(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_MANY", block % 3)
    rng = random.Random(block)
    common, seldom = [f"c{n}" for n in range(40)], [f"s{n}" for n in range(900)]
    many = [rng.choices(common, k=rng.randint(1, 9)) + rng.choices(seldom, k=rng.randint(1, 15)) for _ in range(150)]
    for text in many[:60]:
        kept = rng.sample(text, k=max(1, len(text) * rng.randint(6, 10) // 10))
        many.append(kept + rng.choices(seldom, k=rng.randint(0, 4)))
    # Terms that often stand together, so that a few of them tell nothing.
    many += [[f"t{n}" for n in range(8)] * rng.randint(1, 2) + rng.choices(seldom, k=9) for _ in range(40)]
    rng.shuffle(many)
    found = similarity.Vectors(many, 200)
    everything = list(found)
    cosines = [(i, j, similarity.cosine(everything[i], everything[j])) for j in range(len(many)) for i in range(j)]
    for threshold in (0.5, 0.75, 0.9):
        expected = [pair for pair in cosines if pair[2] >= threshold]
        assert expected
        assert list(similarity.similar_pairs(found, threshold, block)) == expected
    sets = [frozenset(text) for text in many]
    for threshold in (0.6, 0.9, 1.0):
        contained = [
            (a, b, len(sets[a] & sets[b]) / len(sets[a]))
            for a in range(len(sets))
            for b in range(len(sets))
            if len(sets[a]) >= 6 and (len(sets[b]), b) > (len(sets[a]), a) and a != b
        ]
        expected = [pair for pair in contained if pair[2] >= threshold]
        assert list(similarity.contained_pairs(many, threshold, 6, block)) == expected


@given(st.lists(st.lists(st.integers(0, 2**20)), max_size=4), st.integers(1, 60))
def test_bits_are_counted_by_the_weight_of_their_plane(planes: list[list[int]], least: int) -> None:
    def count(bit: int) -> int:
        return sum((number >> bit & 1) << weight for weight, numbers in enumerate(planes) for number in numbers)

    expected = sum(1 << bit for bit in range(21) if count(bit) >= least)
    assert similarity._in_at_least(planes, least) == expected


def test_texts_are_held_once_and_come_back_as_they_were() -> None:
    texts = similarity.TermTexts()
    assert [texts.add(text) for text in (["a", "b", "a"], ["b"], ["a", "b", "a"], [], ["b"])] == [0, 1, 0, 2, 1]
    assert list(texts) == [("a", "b", "a"), ("b",), ()]
