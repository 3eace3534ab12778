"""The parts of the routers `lexical` and `hybrid`: fields, indexes, fusion, references; against scipy and by hand."""

from __future__ import annotations

import math
import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_collection import Write
from repositories import commit
from scipy.stats import zscore

from skill_health.config.settings import Config
from skill_health.router.inputs import catalogue_at, load_inputs
from skill_health.router.lexicon import search, term_index
from skill_health.router.lexicon.fields import read_fields, sections_of
from skill_health.router.lexicon.search import DEFAULT, PIVOTED, FieldSearch, fuse, rescale, standardise
from skill_health.router.lexicon.term_index import TermIndex
from skill_health.router.records import ListedSkill

CLAUSES = [
    ("Sorts lists. Use when order is lost.", "Sorts lists. Use when order is lost."),
    ("Sorts lists. Not for trees; use tree-sort instead.", "Sorts lists."),
    ("Sorts lists. For trees→tree-sort.", "Sorts lists."),
    ("Validate → run, then publish `a.b` and e.g. c.", "Validate → run, then publish `a.b` and e.g. c."),
    ("整理清單。不適用於樹狀結構。", "整理清單。"),
    ("Do not use for anything.", ""),
]


@pytest.mark.parametrize(("text", "positive"), CLAUSES)
def test_what_a_skill_is_not_for_is_not_searched(text: str, positive: str) -> None:
    assert read_fields(ListedSkill("a", text), "description").positive == positive


def test_only_the_index_decides_what_is_read() -> None:
    skill = ListedSkill("pack:list-sort_2", "Sorts.", body="# One\nx\n## Two\ny", references="far")
    narrow, body, content = (read_fields(skill, index) for index in ("description", "body", "content"))
    assert narrow.listed == "pack list sort 2\nSorts."
    assert [(fields.body, fields.references) for fields in (narrow, body, content)] == [
        ("", ""), (skill.body, ""), (skill.body, "far"),
    ]  # fmt: skip
    assert sections_of(content) == ["pack list sort 2\n# One\nx\n", "pack list sort 2\n## Two\ny"]


WORDS = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=8), min_size=1, max_size=7)


@given(WORDS, st.lists(st.sampled_from("abcdxyz"), max_size=6), st.sampled_from((1.0, PIVOTED)))
def test_an_index_is_the_weighted_cosine(texts: list[list[str]], query: list[str], slope: float) -> None:
    def weigh(words: list[str]) -> dict[str, float]:
        def idf(word: str) -> float:
            return math.log((1 + len(texts)) / (1 + sum(word in text for text in texts))) + 1

        return {word: (1 + math.log(times)) * idf(word) for word, times in Counter(words).items()}

    vectors, asked = [weigh(text) for text in texts], weigh(query)
    lengths = np.array([math.sqrt(sum(value**2 for value in vector.values())) for vector in vectors])
    pivoted = (1 - slope) * lengths.mean() + slope * lengths
    norm = math.sqrt(sum(value**2 for value in asked.values())) or 1
    dots = [sum(value * vector.get(word, 0) for word, value in asked.items()) for vector in vectors]
    expected = [dot / norm / (length or 1) for dot, length in zip(dots, pivoted, strict=True)]
    assert TermIndex(texts, slope).scores(query) == pytest.approx(expected, abs=1e-6)


def test_a_thing_is_as_close_as_the_closest_of_its_texts() -> None:
    texts = [["a"], ["a", "b"], ["c"]]
    alone = TermIndex(texts).scores(["a"])
    assert TermIndex(texts, owners=[1, 1, 2], size=4).scores(["a"]) == [0.0, max(alone[:2]), 0.0, 0.0]
    assert TermIndex([]).scores(["a"]) == []


SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=9)


@given(SCORES)
def test_standard_scores_are_those_of_scipy(scores: list[float]) -> None:
    found = standardise(scores)
    if np.std(scores) <= 1e-9:
        assert found == [0.0] * len(scores)
    else:
        assert found == pytest.approx(list(zscore(scores)), abs=1e-6)


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.tuples(
    st.sampled_from((0.0, 0.5, 1.0, 2.0)), st.lists(st.sampled_from((0.0, 0.25, 0.5, 1.0)), min_size=n, max_size=n)
), min_size=1, max_size=4)))  # fmt: skip
def test_fusion_is_the_weighted_mean_of_standard_scores(searches: list[tuple[float, list[float]]]) -> None:
    weights = np.array([weight for weight, _ in searches])
    rows = np.array([zscore(scores) if np.std(scores) > 1e-9 else np.zeros(len(scores)) for _, scores in searches])
    expected = weights @ rows / (weights.sum() or 1)
    fused = fuse(searches)
    assert fused == pytest.approx(list(expected), abs=1e-9)
    scaled = rescale(fused, 0.5)
    assert max(scaled) == 0.5 and min(scaled) > 0
    # Scores that differ by a rounding error may be made equal, but never change places.
    in_order = [scaled[n] for n in sorted(range(len(fused)), key=lambda n: fused[n])]
    assert in_order == sorted(in_order)


def test_a_certain_search_outweighs_two_that_barely_say_anything() -> None:
    """Which ranks could not tell: the skill that two searches put a hair above the rest has both first ranks."""
    faint = [0.501, 0.5, 0.499, 0.5, 0.5, 0.5]
    clear = [0.0, 0.0, 0.0, 0.9, 0.0, 0.0]
    fused = fuse([(1, faint), (1, clear), (1, clear)])
    assert fused.index(max(fused)) == 3


SKILLS = [
    ListedSkill("jam", "Cooks jam from plums.", body="# Jam\nWeigh sugar.", references="Pectin sets."),
    ListedSkill("tax", "Fills in forms.", body="# Forms\nReceipts.", references="Deductions."),
    ListedSkill("map", "Draws maps.", body="# Stars\nConstellations.", references="Azimuth."),
]


@pytest.mark.parametrize(
    ("index", "text", "found"),
    [
        ("description", "plum jams", "jam"), ("description", "weighing sugars", None), ("description", "azimuths", None),
        ("body", "weighing sugars", "jam"), ("body", "azimuths", None),
        ("content", "weighing sugars", "jam"), ("content", "azimuths", "map"),
    ],
)  # fmt: skip
def test_each_mode_finds_what_it_reads_and_nothing_else(index: str, text: str, found: str | None) -> None:
    scores = FieldSearch(SKILLS, index).score(text)
    named = SKILLS[scores.index(max(scores))].name if max(scores) >= DEFAULT else None
    assert named == found


@given(st.permutations(SKILLS), st.text(), st.text(max_size=80))
def test_the_order_of_skills_is_nothing_and_any_text_is_taken(
    skills: list[ListedSkill], text: str, listed: str
) -> None:
    odd = [*skills, ListedSkill("odd", listed, body=listed, references=text)]
    by_name = dict(zip((skill.name for skill in odd), FieldSearch(odd, "content").score(text), strict=True))
    ordered = sorted(odd, key=lambda skill: skill.name)
    again = dict(zip((skill.name for skill in ordered), FieldSearch(ordered, "content").score(text), strict=True))
    assert by_name == pytest.approx(again, abs=1e-9)
    assert all(0 <= score <= 2 for score in by_name.values())


@given(st.lists(st.text("abc 測試.", max_size=40), min_size=1, max_size=6), st.text("abc 測試", max_size=30))
def test_without_numpy_every_bit_is_the_same(texts: list[str], asked: str) -> None:
    skills = [ListedSkill(f"s{n}", text, body=text[::-1], references=asked) for n, text in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(term_index, "_LONG", 1)
        quick = FieldSearch(skills, "content").score(asked)
        for module in (search, term_index):
            patch.setattr(module, "find_numpy", lambda: None)
        assert FieldSearch(skills, "content").score(asked) == quick


def md(name: str, body: str = "") -> str:
    return f"---\nname: {name}\ndescription: Does {name}.\n---\n{body}\n"


@pytest.mark.slow
def test_references_are_markdown_of_the_skill_and_no_tests(write: Write) -> None:
    root = write({
        "skills/a/SKILL.md": md("a"), "skills/a/more.md": "more of it", "skills/a/deep/last.MD": "last of it",
        "skills/a/script.py": "code", "skills/a/evals/prompts.md": "leak", "skills/a/test-cases.md": "leak",
        "skills/a/inner/SKILL.md": md("inner"), "skills/a/inner/own.md": "of the inner one",
        "prompts.jsonl": '{"prompt_id": "p", "prompt": "x", "expected_primary_skill": "a"}\n',
    })  # fmt: skip
    shown = {skill.name: skill.references for skill in load_inputs([str(root)], index="content").catalogue.shown}
    assert shown == {"a": "last of it\nmore of it", "inner": "of the inner one"}
    assert {skill.references for skill in load_inputs([str(root)]).catalogue.shown} == {""}
    commit(root)
    (root / "skills/a/more.md").write_text("changed", encoding="utf-8")
    old = catalogue_at(os.path.realpath(root), Config(), "HEAD", index="content")
    assert {skill.name: skill.references for skill in old.shown} == shown
    assert {skill.references for skill in catalogue_at(os.path.realpath(root), Config(), "HEAD").shown} == {""}


def test_a_link_out_of_the_collection_is_no_reference(write: Write, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("outside") / "secret.md"
    secret.write_text("secret", encoding="utf-8")
    root = write({
        "skills/a/SKILL.md": md("a"),
        "prompts.jsonl": '{"prompt_id": "p", "prompt": "x", "expected_primary_skill": "a"}\n',
    })  # fmt: skip
    (root / "skills/a/linked.md").symlink_to(secret)
    (skill,) = load_inputs([str(root)], index="content").catalogue.shown
    assert skill.references == ""
