"""The scripted router does what its name says: every share is recovered, and no order of calls changes an answer."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulators.routers.scripted import SHARES, Script, Scripted, broken, parse_script, right
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.router.records import NONE, Catalogue, ListedSkill, Prompt, Reply, RoutingRequest
from skill_health.router.routers._load import open_choice, resolve
from skill_health.router.run.outcome import KINDS, read_answer

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon")
CALLS = 2000
SIGMAS = 4.5
"""How many standard errors a share may be off; the draws are fixed, so that a test passes always or never."""


def opened(text: str = "", none_allowed: bool = True, seed: int = 1) -> Scripted:
    choice = resolve(f"scripted:{text}" if text else "scripted", RouterSettings())
    return cast(Scripted, open_choice(choice, Catalogue(()), none_allowed=none_allowed, seed=seed))


def request(number: int, expected: str | None = None, replication: int = 0, known: bool = True) -> RoutingRequest:
    """Every skill stands in every position equally often, and is the right one equally often."""
    size = len(NAMES)
    shift = number // size % size
    order = NAMES[shift:] + NAMES[:shift]
    expected = NAMES[number % size] if expected is None else expected
    prompt = Prompt(f"p{number}", "text", None if expected == NONE else expected, known=known)
    return RoutingRequest(
        prompt, replication, tuple(ListedSkill(name, name) for name in order), "a question of 26 bytes ..."
    )


def ask(router: Scripted, requests: Iterable[RoutingRequest]) -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        return [await router.ask(each) for each in requests]

    return asyncio.run(all_of_them())


def firsts(router: Scripted, requests: Sequence[RoutingRequest]) -> list[str]:
    answers = [read_answer(reply.text, NAMES) for reply in ask(router, requests)]
    assert all(not answer.kinds for answer in answers)
    return [answer.ranking[0] for answer in answers]


def near(hits: int, total: int, share: float) -> bool:
    return abs(hits - total * share) <= SIGMAS * (total * share * (1 - share)) ** 0.5


def share_right(text: str) -> int:
    requests = [request(number) for number in range(CALLS)]
    return sum(
        first == each.prompt.target for first, each in zip(firsts(opened(text), requests), requests, strict=True)
    )


FIRST_PLACE = [
    ("skill=0", 0.0),
    ("skill=1", 1.0),
    ("skill=0.7", 0.7),
    ("skill=0.7,spread=1", 0.7),
    ("skill=0.7,spread=0.4", 0.7),
    ("skill=0.9,abstain=0.25", 0.75 * 0.9),
    ("skill=0.9,bias=0.5", 0.5 / 5 + 0.5 * 0.9),
    ("skill=0.9,bias=0.5,position=last", 0.5 / 5 + 0.5 * 0.9),
    ("skill=0.9,noise=0.5", 0.5 / 5 + 0.5 * 0.9),
    ("skill=1,confusion=alpha>beta@0.5", 0.9),
    ("skill=0.8,abstain=0.1,bias=0.2,noise=0.3,confusion=alpha>beta@0.5+alpha>gamma@0.2,fenced=0.5",
     0.9 * (0.2 / 5 + 0.8 * (0.3 / 5 + 0.7 * (1 - 0.7 / 5) * 0.8))),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("text", "share"), FIRST_PLACE)
def test_first_places_are_right_as_often_as_the_formula_says(text: str, share: float) -> None:
    assert near(share_right(text), CALLS, share)


@pytest.mark.parametrize(("text", "share"), FIRST_PLACE)
def test_the_true_probability_averages_to_the_same(text: str, share: float) -> None:
    script = opened(text).script
    mean = sum(right(script, request(number)) for number in range(CALLS)) / CALLS
    # Only which prompts are settled is left to chance.
    assert abs(mean - share) <= SIGMAS * (script.spread * share * (1 - share) / CALLS) ** 0.5 + 1e-9


@pytest.mark.slow
def test_calibrated_confidence_is_the_true_probability() -> None:
    router = opened("skill=0.6,spread=0.5,bias=0.3,calibrated=1")
    requests = [request(number) for number in range(CALLS)]
    bins: dict[float, list[bool]] = {}
    for each, reply in zip(requests, ask(router, requests), strict=True):
        answer = read_answer(reply.text, NAMES)
        assert answer.confidence == round(right(router.script, each), 4)
        bins.setdefault(answer.confidence, []).append(answer.ranking[0] == each.prompt.target)
    assert len(bins) == 6  # settled right, settled wrong or neither; the right skill in the first position or not
    assert all(near(sum(hits), len(hits), said) for said, hits in bins.items())
    plain = read_answer(ask(opened("confidence=0.25"), requests[:1])[0].text, NAMES)
    assert plain.confidence == 0.25


@pytest.mark.slow
def test_spread_is_the_correlation_of_two_replications() -> None:
    for text, expected in (("skill=0.7", 0.0), ("skill=0.7,spread=0.5", 0.5), ("skill=0.7,spread=1", 1.0)):
        router = opened(text)
        hits = [
            [float(first == NAMES[number % 5]) for number, first in enumerate(firsts(router, requests))]
            for requests in ([request(number, None, rep) for number in range(CALLS)] for rep in (0, 1))
        ]
        means = [sum(row) / CALLS for row in hits]
        covariance = sum((a - means[0]) * (b - means[1]) for a, b in zip(*hits, strict=True)) / CALLS
        assert abs(covariance / (0.7 * 0.3) - expected) < SIGMAS / CALLS**0.5


@pytest.mark.slow
def test_difficulty_is_shared_by_models_unless_said_otherwise() -> None:
    requests = [request(number) for number in range(400)]
    one, two = (firsts(opened(f"skill=0.5,spread=1,seed={seed}"), requests) for seed in (1, 2))
    other = firsts(opened("skill=0.5,spread=1,seed=1,difficulty=9"), requests)

    def solved(found: list[str]) -> list[bool]:
        return [first == each.prompt.target for first, each in zip(found, requests, strict=True)]

    assert solved(one) == solved(two) != solved(other)
    assert one != two


@pytest.mark.slow
def test_abstention_has_a_share_on_either_side() -> None:
    router = opened("skill=0.5,abstain=0.2,reject=0.7")
    answerable = firsts(router, [request(number) for number in range(CALLS)])
    nulls = firsts(router, [request(number, NONE) for number in range(CALLS)])
    assert near(answerable.count(NONE), CALLS, 0.2)
    assert near(nulls.count(NONE), CALLS, 0.7)
    assert all(near(nulls.count(name), CALLS, 0.3 / 5) for name in NAMES)
    assert near(firsts(opened("skill=0.4"), [request(n, NONE) for n in range(CALLS)]).count(NONE), CALLS, 0.4)


@pytest.mark.slow
@pytest.mark.parametrize(("position", "place"), [("first", 0), ("last", -1)])
def test_bias_goes_to_the_position(position: str, place: int) -> None:
    requests = [request(number) for number in range(CALLS)]
    found = firsts(opened(f"skill=0,bias=0.3,position={position}"), requests)
    hits = sum(first == each.skills[place].name for first, each in zip(found, requests, strict=True))
    assert near(hits, CALLS, 0.3 + 0.7 * (4 / 5) / 4)


@pytest.mark.slow
def test_confusion_and_second_places() -> None:
    router = opened("skill=1,confusion=alpha>beta@0.3+alpha>gamma@0.2,second=0.6")
    replies = ask(router, [request(number, "alpha") for number in range(CALLS)])
    rankings = [read_answer(reply.text, NAMES).ranking for reply in replies]
    counts = Counter(ranking[0] for ranking in rankings)
    assert set(counts) == {"alpha", "beta", "gamma"}
    assert near(counts["beta"], CALLS, 0.3) and near(counts["gamma"], CALLS, 0.2)
    wrong = [ranking for ranking in rankings if ranking[0] != "alpha"]
    assert near(sum(ranking[1] == "alpha" for ranking in wrong), len(wrong), 0.6)
    assert all(ranking.index("alpha") == 1 for ranking in wrong if "alpha" in ranking)
    assert all(len(set(ranking)) == 3 for ranking in rankings)


FAILURES = "error=0.1,unavailable=0.05,refusal=0.1,truncated=0.1,malformed=0.2,prose=0.1"


@pytest.mark.slow
def test_failures_come_in_their_shares() -> None:
    replies = ask(opened(FAILURES), [request(number) for number in range(CALLS)])
    status = Counter(reply.status for reply in replies)
    kinds = Counter(read_answer(reply.text, NAMES).kinds for reply in replies if reply.status == "finished")
    assert near(status["provider_error"], CALLS, 0.1) and near(status["model_unavailable"], CALLS, 0.05)
    assert near(status["refusal"], CALLS, 0.1) and near(status["truncated"], CALLS, 0.1)
    assert near(kinds[()], CALLS, 0.35)
    for kind in KINDS:
        assert near(kinds[(kind,)], CALLS, 0.2 / len(KINDS) + (0.1 if kind == "prose" else 0))
    assert sum(kinds.values()) == status["finished"]
    for reply in replies:
        missing = reply.status in ("provider_error", "model_unavailable")
        assert bool(reply.error) == missing == (reply.usage.input_tokens is None) == (reply.duration_ms is None)
        assert missing or read_answer(reply.text, NAMES).kinds or reply.status == "finished"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ranking", [["alpha", "beta"], [NONE]])
def test_a_broken_answer_is_broken_in_one_way(kind: str, ranking: list[str]) -> None:
    text = broken({"ranking": ranking, "confidence": 0.5, "rationale": "why"}, kind, NAMES)
    assert read_answer(text, NAMES).kinds == (kind,)
    assert {read_answer(reply.text, NAMES).kinds for reply in ask(opened(f"{kind}=1"), [request(1)])} == {(kind,)}


def test_the_order_of_calls_changes_nothing_and_every_part_of_the_key_counts() -> None:
    text = f"skill=0.6,spread=0.2,bias=0.2,noise=0.2,fenced=0.3,abstain=0.1,{FAILURES}"
    requests = [request(number, None, replication) for number in range(60) for replication in (0, 1, 2)]
    forwards, backwards = ask(opened(text), requests), ask(opened(text), requests[::-1])
    assert forwards == backwards[::-1] == ask(opened(f"{text},seed=1"), requests)
    assert forwards != ask(opened(f"{text},seed=2"), requests) == ask(opened(text, seed=2), requests)
    for one, other in pairwise(requests[:3]):
        assert replace(one, replication=other.replication) == other
    assert len({reply.text for reply in forwards[:3]}) > 1 or len({reply.status for reply in forwards[:3]}) > 1
    again = ask(opened(text), [replace(each, attempt=2) for each in requests])
    assert again != forwards
    assert len({reply.request_id for reply in forwards + again if reply.request_id}) == sum(
        bool(reply.request_id) for reply in forwards + again
    )


def test_the_latency_is_slept_and_reported_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    reply = ask(opened("latency=30"), [request(0)])[0]
    assert slept == [0.03]
    assert reply.duration_ms == 30.0
    assert (reply.model, reply.requests, reply.usage.input_tokens) == ("scripted", 1, 7)
    assert reply.usage.output_tokens == -(-len(reply.text) // 4)


def test_where_a_skill_must_be_named_none_is_never_said() -> None:
    router = opened("abstain=1,reject=1", none_allowed=False)
    found = firsts(router, [request(number, NONE if number % 2 else None) for number in range(200)])
    assert NONE not in found
    assert right(router.script, request(0, NONE)) == 0


def test_odd_requests_are_answered_too() -> None:
    router = opened("skill=0,bias=0.5")
    alone = replace(request(0), skills=(ListedSkill("alpha", ""),))
    assert firsts(router, [alone]) == ["alpha"]
    unknown = request(3, known=False)
    gone = request(4, "not-listed")
    assert set(firsts(router, [unknown, gone])) <= set(NAMES)
    assert right(router.script, unknown) == right(router.script, gone) == 0
    nothing = replace(request(0), skills=())
    assert read_answer(ask(router, [nothing])[0].text, ()).ranking == (NONE,)


MISTAKES = [
    ("skil=0.8", "there is no 'skil=0.8'; did you mean skill=?"),
    ("0.8", "there is no '0.8'; the keys are skill, "),
    ("skill", "there is no 'skill'; did you mean skill=?"),
    ("skill=high", "skill='high': take "),
    ("skill=80", "skill='80': take"),
    ("bias=-0.1", "bias='-0.1': take a share"),
    ("bias=nan", "bias='nan': take a share"),
    ("skill=1,skill=1", "skill is given twice"),
    ("latency=0.5", "latency='0.5': take "),
    ("latency=99999999999", "latency='99999999999': take a whole number from 0 to 3600000"),
    ("seed=²", "seed='²': take "),
    ("position=middle", "position='middle': take first or last"),
    ("confusion=a@0.3", "confusion='a@0.3': write right-skill>wrong-skill@share"),
    ("confusion=a>a@0.3", "confusion='a>a@0.3': write"),
    ("confusion=a>b@0.6+a>c@0.6", "the confusions of a come to more than 1"),
    ("error=0.6,prose=0.6", "error, prose come to more than 1 in all"),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_mistake_in_a_script_is_named(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        opened(text)
    assert message in str(caught.value)


def test_what_is_not_said_has_its_default() -> None:
    assert parse_script("", 5) == Script(seed=5)
    assert parse_script(" skill = 0.3 , ", 5) == Script(skill=0.3, reject=0.3, seed=5)
    assert parse_script("malformed=0,error=0.5", 1).failures == {"error": 0.5}
    told = opened("skill=0.25,confusion=a>b@0.5").describe()
    assert told["skill"] == 0.25 and told["confusion"] == {"a": [["b", 0.5]]}


@given(st.dictionaries(st.sampled_from(SHARES), st.floats(0, 0.05).map(lambda share: round(share, 4))))
def test_every_share_can_be_given(shares: dict[str, float]) -> None:
    script = parse_script(",".join(f"{key}={share}" for key, share in shares.items()), 1)
    for key, share in shares.items():
        assert getattr(script, key, None) == share or script.failures.get(key, 0) == share
