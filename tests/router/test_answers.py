"""Raw text -> ranking, or what is wrong with it, by kind."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.router.records import NONE, RankedReply
from skill_health.router.run.outcome import KINDS, MAX_CHARS, read_answer

NAMES = ("alpha", "beta", "gamma")


def said(ranking: object = ("alpha",), confidence: object = 0.5, rationale: object = "why") -> str:
    return json.dumps({"ranking": ranking, "confidence": confidence, "rationale": rationale})


GOOD = [
    (said(), ("alpha",), ()),
    (said(["beta", "alpha"]), ("beta", "alpha"), ()),
    (said([NONE]), (NONE,), ()),
    (said(NONE), (NONE,), ()),
    (said(["alpha", NONE]), ("alpha", NONE), ()),
    (f"```json\n{said()}\n```", ("alpha",), ("fenced",)),
    (f"\n```\n{said()}\n ```\n", ("alpha",), ("fenced",)),
    (said(confidence=0), ("alpha",), ()),
    (said(confidence=1), ("alpha",), ()),
    (said() [:-1] + ', "extra": [1]}', ("alpha",), ()),
]  # fmt: skip
BAD = [
    ("", {"empty_answer"}),
    (" \n\t", {"empty_answer"}),
    ("alpha", {"prose"}),
    (f"Sure: {said()}", {"prose"}),
    (f"{said()} Hope this helps", {"prose"}),
    ("{'ranking': []}", {"not_json"}),
    (said()[:-5], {"not_json"}),
    ("[" * 5000, {"not_json"}),
    ('{"ranking": ["alpha"], "ranking": ["beta"], "confidence": 1, "rationale": ""}', {"not_json"}),
    ('{"ranking": ["alpha"], "confidence": NaN, "rationale": ""}', {"not_json"}),
    ('["alpha"]', {"not_an_object"}),
    (said([]), {"empty_ranking"}),
    (said(["delta"]), {"unknown_skill"}),
    (said(["Alpha"]), {"unknown_skill"}),
    (said(["alpha", "alpha"]), {"duplicate"}),
    (said(["alpha", "alpha", "delta"], 2), {"duplicate", "unknown_skill", "confidence_range"}),
    (said(confidence=-0.1), {"confidence_range"}),
    (said(confidence="high"), {"wrong_type"}),
    (said(confidence=True), {"wrong_type"}),
    (said(confidence=None), {"wrong_type"}),
    (said(rationale=3), {"wrong_type"}),
    (said("alpha"), {"wrong_type"}),
    (said([1]), {"wrong_type"}),
    ('{"ranking": ["alpha"]}', {"missing_key"}),
    ("{}", {"missing_key"}),
    ("x" * (MAX_CHARS + 1), {"too_long"}),
    (f"```json\n{said()}\n```\nand more", {"prose"}),
]


@pytest.mark.parametrize(("text", "ranking", "notes"), GOOD)
def test_good_answers(text: str, ranking: tuple[str, ...], notes: tuple[str, ...]) -> None:
    answer = read_answer(text, NAMES)
    assert (answer.ranking, answer.kinds, answer.notes) == (ranking, (), notes)


@pytest.mark.parametrize(("text", "kinds"), BAD, ids=range(len(BAD)))
def test_bad_answers(text: str, kinds: set[str]) -> None:
    answer = read_answer(text, NAMES)
    assert set(answer.kinds) == kinds
    assert answer.ranking == ()


THOUGHTFUL = [
    (f"<think>Is it beta?</think>\n{said()}", ("alpha",), ("thoughts",)),
    (f"<think>\n\n</think>\n\n```json\n{said()}\n```", ("alpha",), ("thoughts", "fenced")),
    (f'<think>{{"ranking": ["beta"]}} no</think>{said()}', ("alpha",), ("thoughts",)),
    (f"The opening tag stood in the server's prompt.</think>{said()}", ("alpha",), ("thoughts",)),
    (f"<think>{'hm ' * MAX_CHARS}</think>{said()}", ("alpha",), ("thoughts",)),
    (said(), ("alpha",), ()),
]  # fmt: skip


@pytest.mark.parametrize(("text", "ranking", "notes"), THOUGHTFUL, ids=range(len(THOUGHTFUL)))
def test_thoughts_before_an_answer_are_accepted_where_they_are_declared(
    text: str, ranking: tuple[str, ...], notes: tuple[str, ...]
) -> None:
    answer = read_answer(text, NAMES, think_tags=True)
    assert (answer.ranking, answer.kinds, answer.notes) == (ranking, (), notes)
    if notes:
        assert set(read_answer(text, NAMES).kinds) <= {"prose", "too_long"}
        assert read_answer(text, NAMES).kinds


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("<think>all of it", ("prose",)),
        ("<think>all of it</think>", ("empty_answer",)),
        (f"<think>one</think><think>two</think>{said()}", ("prose",)),
        (f"{said()}<think>after</think>", ("empty_answer",)),
    ],
)
def test_thoughts_anywhere_else_are_a_failure(text: str, kinds: tuple[str, ...]) -> None:
    assert read_answer(text, NAMES, think_tags=True).kinds == kinds


def test_rationales_hold_nothing_that_a_terminal_obeys() -> None:
    shown = read_answer(said(rationale="a\x1b[31mred\x07\x9b2J\u202eright\nnext\ud800"), NAMES).rationale
    assert shown == "a\\x1b[31mred\\x07\\x9b2J\\u{202e}right next\\u{d800}"
    shown.encode()


def test_every_kind_has_a_case() -> None:
    assert set().union(*(kinds for _, kinds in BAD)) == set(KINDS)


def test_none_is_an_unknown_skill_where_the_template_does_not_allow_it() -> None:
    assert read_answer(said([NONE]), NAMES, none_allowed=False).kinds == ("unknown_skill",)


@given(st.text() | st.recursive(st.none() | st.floats() | st.text(), st.lists).map(json.dumps))
def test_no_text_is_too_strange(text: str) -> None:
    answer = read_answer(text, NAMES)
    assert isinstance(answer, RankedReply)
    assert bool(answer.kinds) != bool(answer.ranking)
    assert set(answer.kinds) <= set(KINDS)


@given(st.lists(st.sampled_from((*NAMES, NONE, "delta"))), st.floats(-1, 2), st.text())
def test_what_is_accepted_is_a_ranking(ranking: list[str], confidence: float, rationale: str) -> None:
    answer = read_answer(said(ranking, confidence, rationale), NAMES)
    right = bool(ranking) and len(set(ranking)) == len(ranking) and "delta" not in ranking and 0 <= confidence <= 1
    assert (answer.ranking == tuple(ranking)) if right else answer.kinds
    answer.rationale.encode()
