"""The instrument check: what it must find, and what it must leave alone."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner
from loopback import Loopback, Reaction, Seen, answer, ranking
from made_runs import frozen, manifest, replace, values
from thinned import repeated

from skill_health.bench.budget import Budget
from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import FREE, Rates, TieredPrice, price_table
from skill_health.commands.router import command as router_command
from skill_health.config.settings import Provider, RouterSettings
from skill_health.core.errors import SkillHealthError
from skill_health.documents._record import convert_record
from skill_health.documents.router_check import InstrumentFinding, ModelVerdict
from skill_health.router.instrument.check import DirectAsker, InstrumentCheck, check_plan
from skill_health.router.instrument.finished import judge_finished
from skill_health.router.instrument.planted import (
    DESCRIPTION,
    NAME,
    UNWANTED,
    WANTED,
    Planted,
    failures,
    judge_planted,
    lines,
    plant,
    to_record,
)
from skill_health.router.plan.choices import RouterChoices
from skill_health.router.plan.opening import open_models
from skill_health.router.plan.orders import presentation
from skill_health.router.plan.plan import OpenModel, RouterPlan
from skill_health.router.records import (
    NONE,
    Catalogue,
    ListedSkill,
    Prompt,
    Reply,
    RoutingRequest,
    RoutingResult,
    Status,
)
from skill_health.router.routers._load import RouterChoice
from skill_health.router.scores.judge import judge, read_facts
from skill_health.router.template import load_template

SKILLS = tuple(ListedSkill(f"skill-{n}", f"Does thing {n}. Use when {n}.") for n in range(6))
CATALOGUE = Catalogue(SKILLS)
PAID = TieredPrice((Rates(1.0, 2.0, 1.0, 1.0),))
WORLD = plant(CATALOGUE, none_allowed=True)
S1, S2, S3 = (f"check:sentinel-{n}" for n in (1, 2, 3))
N1, N2, N3 = (f"check:none-{n}" for n in (1, 2, 3))
GOOD = {S1: NAME, S2: NAME, S3: NAME, N1: NONE, N2: NONE, N3: NONE}


def answers(picks: Mapping[str, str], world: Planted = WORLD) -> list[RoutingResult]:
    """Results that pick what is named for each planted prompt; "!status" ends the call so."""
    statuses = {name: pick[1:] for name, pick in picks.items() if pick.startswith("!")}
    return [
        RoutingResult(
            name, "m", 0, cast(Status, statuses.get(name, "finished")),
            () if name in statuses else (pick,), cost_usd=0.25,
        )
        for name, pick in picks.items()
    ]  # fmt: skip


def keys(verdict: ModelVerdict, level: str = "fail") -> list[str]:
    return [finding.key for finding in verdict.findings if finding.level == level]


def test_the_planted_skill_is_unmistakable() -> None:
    from skill_health.text.similarity import STOP, terms

    own = set(terms(DESCRIPTION, STOP))
    assert all(len(own.intersection(terms(text))) >= 3 for text in WANTED)
    assert not any(own.intersection(terms(text)) for sort in UNWANTED for text in sort)
    assert not any(NAME in text for text in WANTED)
    assert len({text for sort in UNWANTED for text in sort}) == sum(map(len, UNWANTED))


def test_planting_leaves_the_collection_as_it_is() -> None:
    assert WORLD.catalogue.shown[:-1] == SKILLS
    assert [prompt.prompt_id for prompt in WORLD.prompts] == list(GOOD)
    assert [prompt.target for prompt in WORLD.prompts] == [NAME] * 3 + [NONE] * 3
    forced = plant(CATALOGUE, none_allowed=False)
    assert [prompt.target for prompt in forced.prompts] == [NAME] * 3
    taken = plant(Catalogue((*SKILLS, ListedSkill(NAME, "x")), omitted=(ListedSkill(f"{NAME}-2", "y"),)), True)
    assert taken.name == f"{NAME}-2-2"
    assert taken.prompts[0].expected == taken.name


def test_requests_for_no_skill_avoid_the_words_of_the_collection() -> None:
    greedy = ListedSkill("spiders", "Answers how many legs a spider has, greets with hello, nice to meet everybody.")
    texts = {prompt.text for prompt in plant(Catalogue((greedy,)), True).prompts[3:]}
    assert not texts.intersection(("How many legs does a spider have?", "Hello there, nice to meet you."))
    assert all(sum(text in sort for text in texts) == 1 for sort in UNWANTED)


def test_the_planted_skill_stands_in_several_places_of_what_is_asked() -> None:
    seen: list[RoutingRequest] = []

    def note(request: RoutingRequest) -> Reply:
        seen.append(request)
        return right(request)

    check(Fake(note), Budget(None, None))
    names = WORLD.catalogue.names
    for request in seen:
        order = presentation(names, request.prompt.prompt_id, "fake:m", 0, 1)
        assert tuple(skill.name for skill in request.skills) == order
        assert request.prompt.text in request.text and DESCRIPTION in request.text
    assert len({[skill.name for skill in request.skills].index(NAME) for request in seen}) > 2


@pytest.mark.parametrize(
    ("picks", "fails", "notes"),
    [
        pytest.param({}, [], [], id="all right"),
        pytest.param({S1: "!format_failure", S2: "!truncated"}, ["sentinel_missed"], [], id="failed answers are misses"),
        pytest.param({S1: NONE, S2: NONE, S3: NONE}, ["always_none"], [], id="it abstains whatever is asked"),
        pytest.param({S1: NONE, S2: "skill-3"}, ["sentinel_missed"], [], id="it abstains once"),
        pytest.param({N1: NAME, N2: NAME, N3: NAME}, ["false_fires"], [], id="the planted skill everywhere"),
        pytest.param({N1: "skill-1", N2: "skill-1", N3: "skill-1"}, [], ["false_fires"], id="a skill that asks for all"),
        pytest.param(dict.fromkeys(GOOD, "skill-0"), ["sentinel_missed"], ["false_fires"], id="one answer"),
        pytest.param(dict.fromkeys(GOOD, "!format_failure"), ["sentinel_missed", "format_failures"], [], id="prose"),
        pytest.param(dict.fromkeys(GOOD, "!refusal"), ["sentinel_missed", "refusals"], [], id="refusals"),
        pytest.param(dict.fromkeys(GOOD, "!truncated"), ["sentinel_missed", "truncations"], [], id="cut off"),
        pytest.param({S1: "!provider_error", S2: "skill-1"}, [], [], id="one missing and one wrong decide nothing"),
    ],
)  # fmt: skip
def test_planted(picks: Mapping[str, str], fails: Sequence[str], notes: Sequence[str]) -> None:
    verdict = judge_planted("m", "provider", WORLD, answers({**GOOD, **picks}))
    assert keys(verdict) == list(fails)
    assert keys(verdict, "note") == list(notes)
    assert verdict.failed == bool(fails)
    missing = sum(pick == "!provider_error" for pick in picks.values())
    assert (verdict.asked, verdict.answered) == (6, 6 - missing)
    assert verdict.cost_usd == 1.5


@pytest.mark.parametrize(("hits", "misses", "word"), [
    (3, 0, "trusted"), (2, 1, "trusted"), (2, 0, "trusted"), (1, 2, "failed"), (1, 1, "open"), (1, 0, "open"),
    (0, 3, "failed"), (0, 2, "failed"), (0, 1, "open"), (0, 0, "open"),
])  # fmt: skip
def test_the_planted_skill_must_be_found_twice_of_three_times(hits: int, misses: int, word: str) -> None:
    picks = [NAME] * hits + ["skill-1"] * misses + ["!provider_error"] * (3 - hits - misses)
    verdict = judge_planted("m", "provider", WORLD, answers({**GOOD, **dict(zip((S1, S2, S3), picks, strict=True))}))
    assert (verdict.trusted, verdict.failed) == (word == "trusted", word == "failed")
    assert (verdict.tested, len(verdict.untested)) == (word != "open", int(word == "open"))
    assert [(one.key, one.hits, one.n) for one in verdict.findings] == [("sentinel_missed", hits, hits + misses)] * (
        word == "failed"
    )
    numbers = [int(found) for text in verdict.untested for found in re.findall(r"\d+", text)]
    assert numbers == ([3 - hits - misses, 3] if word == "open" else [])


@pytest.mark.parametrize(("fires", "silent", "numbers"), [
    (0, 3, []), (1, 2, []), (2, 1, []), (3, 0, []), (0, 2, []), (1, 1, []), (2, 0, []), (0, 1, [2, 3]), (1, 0, [2, 3]),
    (0, 0, [3, 3]),
])  # fmt: skip
def test_requests_for_no_skill_are_judged_if_two_of_three_have_an_answer(
    fires: int, silent: int, numbers: list[int]
) -> None:
    picks = [f"skill-{n}" for n in range(fires)] + [NONE] * silent + ["!provider_error"] * (3 - fires - silent)
    verdict = judge_planted("m", "provider", WORLD, answers({**GOOD, **dict(zip((N1, N2, N3), picks, strict=True))}))
    assert [int(found) for text in verdict.untested for found in re.findall(r"\d+", text)] == numbers
    assert [(one.key, one.hits, one.n) for one in verdict.findings] == [("false_fires", fires, fires + silent)] * (
        fires >= 2
    )
    assert verdict.tested and verdict.trusted == (fires < 2)


@pytest.mark.parametrize(("hits", "of", "told"), [
    (0, 4, False), (2, 4, False), (3, 4, True), (4, 4, True), (3, 3, False), (3, 6, False), (4, 6, True),
])  # fmt: skip
@pytest.mark.parametrize(("status", "key"), [
    ("format_failure", "format_failures"), ("truncated", "truncations"), ("refusal", "refusals"),
])  # fmt: skip
def test_failures_are_told_if_more_than_the_share_of_enough_answers(
    hits: int, of: int, told: bool, status: str, key: str
) -> None:
    answered = answers({f"p{n}": f"!{status}" if n < hits else NONE for n in range(of)})
    found = [(one.key, one.hits, one.n) for one in failures(answered, 0.5, 4)]
    assert found == ([(key, hits, of)] if told else [])


def test_without_any_answer_there_is_no_verdict() -> None:
    gone = judge_planted("m", "provider", WORLD, answers(dict.fromkeys(GOOD, "!model_unavailable")))
    assert (gone.tested, gone.trusted, gone.failed) == (False, False, False)
    assert gone.findings[0].text == "none of 6 planted requests was answered (model_unavailable 6)"
    errors = [
        replace(one, error=f"answered 500 \x1b[2J {'x' * 900}")
        for one in answers(dict.fromkeys(GOOD, "!provider_error"))
    ]
    down = judge_planted("m", "provider", WORLD, errors).findings[0].text
    assert "(provider_error 6): answered 500 \\x1b[2J xxx" in down
    assert len(down) < 400 and down.isprintable()
    silent = judge_planted("m", "provider", WORLD, [])
    assert not silent.trusted and "nothing was asked" in silent.findings[0].text


def test_a_local_router_without_a_threshold_is_told_and_trusted() -> None:
    fired = answers({**GOOD, N1: "skill-1", N2: "skill-2", N3: NAME})
    verdict = judge_planted("m", "local", WORLD, fired)
    assert verdict.trusted
    assert keys(verdict, "note") == ["false_fires"]
    assert not judge_planted("m", "simulated", WORLD, fired).trusted


def test_the_plans_template_has_no_requests_for_no_skill() -> None:
    world = plant(CATALOGUE, none_allowed=False)
    verdict = judge_planted("m", "provider", world, answers({S1: NAME, S2: NAME, S3: NAME}))
    assert verdict.trusted and verdict.asked == 3
    assert verdict.untested == ("requests that need no skill: the template gives no way to say so",)


def test_results_of_others_do_not_count() -> None:
    others = [replace(result, model="other", ranking=("skill-1",)) for result in answers(GOOD)]
    strange = [replace(result, prompt_id="p1") for result in others]
    assert judge_planted("m", "provider", WORLD, [*answers(GOOD), *others, *strange]).trusted


def test_the_cost_of_a_check_is_unknown_where_one_call_is() -> None:
    results = answers(GOOD)
    results[0] = replace(results[0], cost_usd=None)
    assert judge_planted("m", "provider", WORLD, results).cost_usd is None


def test_records_and_lines() -> None:
    bad = ModelVerdict(
        "m\x1b", 6, 6, True, (InstrumentFinding("one_answer", "said so", 3, 4),), ("this and that",), 0.5
    )
    good, unknown = ModelVerdict("n", 6, 6, True), ModelVerdict("o", 6, 0, False)
    for verdict in (bad, good, unknown):
        assert convert_record(values(verdict), ModelVerdict) == verdict
    record = to_record([bad, good, unknown])
    assert record.trusted == {"m\x1b": False, "n": True, "o": False}
    later = to_record([replace(bad, model="n")], [good, unknown])
    assert later.trusted == {"n": False, "o": False}
    assert lines([bad, good, unknown]) == [
        "m\\x1b: not to be trusted (6 of 6 answered)",
        "  fail  one_answer: said so",
        "  not testable  this and that",
        "n: trusted (6 of 6 answered)",
        "o: not tested (0 of 6 answered)",
    ]


def finished(
    prompts: Sequence[Prompt],
    pick: Callable[[Prompt, tuple[str, ...], int], str],
    skills: int = 6,
    reps: int = 3,
    none_allowed: bool = True,
    planted: Sequence[ModelVerdict] = (),
) -> ModelVerdict:
    """The verdict on a run whose answers `pick` gives from the prompt, the order and the replication."""
    names = [f"skill-{n}" for n in range(skills)]
    model = {"spec": "m", "replications": reps}
    given = manifest(prompts, [model], names, reps)
    given["template"]["none_allowed"] = none_allowed
    results = []
    for prompt in prompts:
        for replication in range(reps):
            order = presentation(names, prompt.prompt_id, "m", replication, 1)
            name = pick(prompt, order, replication)
            if name == "absent":
                continue
            status = cast(Status, name[1:] if name.startswith("!") else "finished")
            ranking = () if name.startswith("!") else (name,)
            results.append(
                RoutingResult(
                    prompt.prompt_id, "m", replication, status, ranking,
                    target_position=order.index(prompt.expected) + 1 if prompt.expected in order else None,
                    picked_position=order.index(name) + 1 if name in order else None,
                )
            )  # fmt: skip
    return judge_finished(judge(read_facts(frozen(given)), results), planted)[0]


def labelled(count: int, targets: Sequence[str | None]) -> list[Prompt]:
    return [Prompt(f"p{n}", f"text {n}", targets[n % len(targets)]) for n in range(count)]


MIXED = labelled(30, [*(f"skill-{n}" for n in range(4)), None])
TWO = ("skill-1", "skill-2")
HINTS = [Prompt(f"r{n}", "x", None, known=False, rejected=("skill-1",)) for n in range(9)]
Pick = Callable[[Prompt, tuple[str, ...], int], str]


def correct(prompt: Prompt, order: tuple[str, ...], replication: int) -> str:
    return prompt.expected or NONE


def first(prompt: Prompt, order: tuple[str, ...], replication: int) -> str:
    return order[0]


def wrong(prompt: Prompt, order: tuple[str, ...], replication: int) -> str:
    """One of three skills that no label of TWO names, the same for each replication of a prompt."""
    return random.Random(prompt.prompt_id).choice(["skill-0", "skill-3", "skill-4"])


def never_none(prompt: Prompt, order: tuple[str, ...], replication: int) -> str:
    return prompt.expected or "skill-1"


def always(name: str) -> Pick:
    return lambda prompt, order, replication: name


def lost(status: str, *ids: str) -> Pick:
    """Right, but for these prompts, which end with a status."""
    return lambda prompt, order, replication: status if prompt.prompt_id in ids else prompt.expected or NONE


def a_third(status: str) -> Pick:
    """Right, but for the first replication of each prompt."""
    return lambda prompt, order, replication: prompt.expected or NONE if replication else status


@pytest.mark.parametrize(
    ("prompts", "pick", "fails"),
    [
        pytest.param(MIXED, correct, [], id="all right"),
        pytest.param(MIXED, always("skill-5"), ["one_answer"], id="one wrong answer"),
        pytest.param(MIXED, always("skill-1"), ["one_answer"], id="one answer that is sometimes right"),
        pytest.param(MIXED, always(NONE), ["always_none"], id="always none"),
        pytest.param(MIXED, first, ["first_position"], id="always the first"),
        pytest.param(MIXED, a_third("!format_failure"), ["format_failures"], id="a third is broken"),
        pytest.param(MIXED, a_third("!refusal"), ["refusals"], id="a third is refused"),
        pytest.param(MIXED, lost("!format_failure", *(f"p{n}" for n in range(6))), [], id="a fifth is broken"),
        pytest.param(MIXED, always("!truncated"), ["truncations"], id="all cut off"),
        pytest.param(MIXED, lost("!provider_error", "p1", "p2"), ["missing"], id="6 of 90 missing"),
        pytest.param(MIXED, lost("!provider_error", "p1"), [], id="3 of 90 missing"),
        pytest.param(MIXED, lost("absent", "p1", "p2"), ["missing"], id="6 of 90 not run"),
        pytest.param(MIXED, always("!model_unavailable"), ["missing"], id="a model that is gone"),
        pytest.param(labelled(40, [None]), always(NONE), [], id="no prompt expects a skill"),
        pytest.param(labelled(40, [None]), always("skill-1"), [], id="no prompt expects a skill, and one fires"),
        pytest.param(labelled(4, TWO), always("skill-0"), [], id="four prompts show no pattern"),
        pytest.param(labelled(9, TWO), wrong, [], id="nine prompts are too few for a recall of 0"),
        pytest.param(labelled(10, TWO), wrong, ["recall_zero"], id="ten are enough"),
        pytest.param([replace(p, acceptable=("skill-0",)) for p in labelled(20, TWO)], wrong, ["recall_zero"], id="seldom acceptable"),
        pytest.param(labelled(40, ["skill-1"] * 19 + ["skill-2"]), always("skill-1"), [], id="a frequent label"),
        pytest.param(labelled(20, ["skill-1", None]), always("skill-1"), [], id="one skill and near misses"),
        pytest.param([*labelled(20, TWO), *HINTS], never_none, [], id="prompts without a right answer"),
        pytest.param([replace(p, acceptable=("skill-5",)) for p in labelled(20, TWO)], always("skill-5"), [], id="acceptable"),
    ],
)  # fmt: skip
def test_finished(prompts: Sequence[Prompt], pick: Pick, fails: Sequence[str]) -> None:
    verdict = finished(prompts, pick)
    assert keys(verdict) == list(fails), lines([verdict])
    assert verdict.asked == 3 * len(prompts)
    assert verdict.trusted == (not fails)


def test_small_collections_raise_no_alarm() -> None:
    one = finished(labelled(20, ["skill-0", None]), always("skill-0"), skills=1)
    assert one.trusted and not one.findings
    two = finished(labelled(20, ["skill-0", "skill-1"]), first, skills=2)
    assert two.trusted


def test_never_choosing_the_only_label_is_a_note_where_the_planted_skill_was_found() -> None:
    prompts = labelled(20, ["skill-0"])
    for pick, key in ((NONE, "always_none"), ("skill-1", "recall_zero")):
        alone = finished(prompts, always(pick))
        assert keys(alone) == [key]
        told = finished(prompts, always(pick), planted=[ModelVerdict("m", 6, 6, True)])
        assert told.trusted and keys(told, "note") == [key]
        assert "look at the description" in told.findings[0].text


def test_a_dry_run_has_no_verdict() -> None:
    dry = finished(MIXED, always("!dry_run"))
    assert (dry.tested, dry.failed, dry.trusted) == (False, False, False)
    assert keys(dry, "note") == ["no_answer"]


def test_prompts_that_cannot_be_answered_are_left_out() -> None:
    verdict = finished(MIXED, never_none, none_allowed=False)
    assert verdict.trusted


@pytest.mark.parametrize("accuracy", [0.25, 0.5, 0.9])
@pytest.mark.parametrize("count", [5, 12, *repeated(30, 100)])
def test_a_working_router_raises_no_alarm(accuracy: float, count: int) -> None:
    """A router that is right this often, and else picks anything: less than one alarm in a hundred runs."""
    alarms = 0
    for seed in range(100):
        draw = random.Random(f"{seed}|{accuracy}|{count}")
        targets = [None, *(f"skill-{n}" for n in range(6))]
        prompts = [Prompt(f"p{n}", "x", draw.choice(targets)) for n in range(count)]

        def pick(prompt: Prompt, order: tuple[str, ...], _: int, draw: random.Random = draw) -> str:
            return (prompt.expected or NONE) if draw.random() < accuracy else draw.choice([*order, NONE])

        alarms += finished(prompts, pick).failed
    assert alarms == 0


class Fake:
    """A router that answers by a function of the request, and remembers that it was closed."""

    replicates = True

    def __init__(self, reply: Callable[[RoutingRequest], Reply]) -> None:
        self.reply, self.asked, self.closed = reply, list[tuple[str, int]](), 0

    def describe(self) -> Mapping[str, Any]:
        return {}

    async def ask(self, request: RoutingRequest) -> Reply:
        self.asked.append((request.prompt.prompt_id, request.attempt))
        await asyncio.sleep(0)
        return self.reply(request)

    async def close(self) -> None:
        self.closed += 1


def right(request: RoutingRequest) -> Reply:
    text = json.dumps({"ranking": [request.prompt.expected or NONE], "confidence": 0.9, "rationale": "because"})
    return Reply(text=text, usage=Usage(1000, 100))


def check(
    router: Fake, budget: Budget, price: TieredPrice | None = PAID, kind: str = "provider"
) -> tuple[RouterPlan, InstrumentCheck]:
    module = SimpleNamespace(
        KIND=kind, EXTRA="", __name__="skill_health.router.routers.fake", open_router=lambda setup: router
    )
    model = OpenModel(RouterChoice("fake:m", "m", cast(Any, module), Provider("fake")), cast(Any, None), 3, price)
    choices = RouterChoices(("fake:m",), 3, 1, "text", "full", "none", "description", "cyclic")
    plan = RouterPlan(CATALOGUE, (Prompt("p", "x", "skill-1"),), (model,), choices, load_template("none"))
    return plan, asyncio.run(check_plan(plan, (), DirectAsker(plan, budget, lambda model, request: 0.01).ask, 8))


def test_a_check_asks_six_questions_charges_them_and_closes() -> None:
    router, budget = Fake(right), Budget(None, 1.0)
    plan, checked = check(router, budget)
    assert sorted(router.asked) == sorted((name, 1) for name in GOOD)
    assert router.closed == 1
    assert checked.verdicts[0].trusted and not checked.stop
    assert budget.attempts == 6 and budget.reserved == 0
    assert budget.spent == checked.verdicts[0].cost_usd == pytest.approx(6 * 0.0012)
    assert checked.blocking(plan) == ()


def test_a_format_failure_is_asked_again_once() -> None:
    router = Fake(lambda request: right(request) if request.attempt == 2 else Reply(text="Sure thing."))
    budget = Budget(None, None)
    _, checked = check(router, budget)
    assert len(router.asked) == budget.attempts == 12
    assert checked.verdicts[0].trusted
    assert budget.spent == pytest.approx(6 * (0.01 + 0.0012))


def test_only_what_is_not_free_is_held_back() -> None:
    def wrong(request: RoutingRequest) -> Reply:
        return Reply(text=json.dumps({"ranking": ["skill-1"], "confidence": 1, "rationale": ""}), usage=Usage(1, 1))

    prices = [(PAID, "provider", 1), (None, "provider", 1), (FREE, "provider", 0), (FREE, "local", 0)]
    for price, kind, blocked in prices:
        plan, checked = check(Fake(wrong), Budget(None, None), price, kind)
        assert checked.verdicts[0].failed
        assert len(checked.blocking(plan)) == blocked


def test_a_model_that_is_gone_is_asked_no_more_and_blocks_nothing() -> None:
    router = Fake(lambda request: Reply(status="model_unavailable", error="no such model"))
    plan, checked = check(router, Budget(None, None))
    assert len(router.asked) <= 4
    assert not checked.verdicts[0].tested and checked.blocking(plan) == ()
    assert "model_unavailable 6" in checked.verdicts[0].findings[0].text


def test_exhausted_credit_and_caps_end_the_check() -> None:
    router = Fake(lambda request: Reply(status="provider_error", stop="quota", error="no credit left"))
    _, checked = check(router, Budget(None, None))
    assert checked.stop == "quota: no credit left" and router.closed == 1
    assert not checked.verdicts[0].tested
    budget = Budget(2, None)
    _, checked = check(Fake(right), budget)
    assert "cap" in checked.stop and budget.attempts == 2 and budget.reserved == 0


def test_a_router_that_breaks_is_closed_and_its_reservation_charged() -> None:
    def breaks(request: RoutingRequest) -> Reply:
        raise RuntimeError("a bug")

    router, budget = Fake(breaks), Budget(None, None)
    with pytest.raises(RuntimeError, match="a bug"):
        check(router, budget)
    assert router.closed == 1 and budget.reserved == 0


@pytest.mark.parametrize(
    ("spec", "trusted"),
    [("lexical:overlap", True), ("lexical:tfidf", True), ("scripted:skill=1", True), ("scripted:skill=0", False),
     ("scripted:abstain=1", False), ("scripted:bias=1", False), ("scripted:skill=1,prose=1", False),
     ("scripted:skill=1,error=1", False)],
)  # fmt: skip
def test_real_routers(spec: str, trusted: bool) -> None:
    choices = RouterChoices((spec,), 1, 1, "text", "full", "none", "description", "cyclic")
    template, routing = load_template("none"), RouterSettings()
    models = open_models(choices, routing, CATALOGUE, template, (), price_table(routing))
    plan = RouterPlan(CATALOGUE, (), models, choices, template)
    checked = asyncio.run(
        check_plan(plan, (), DirectAsker(plan, Budget(None, None), lambda model, request: 0.0).ask, 4)
    )
    assert checked.verdicts[0].trusted is trusted, lines(checked.verdicts)
    assert checked.blocking(plan) == ()


@pytest.fixture
def cli(checkout: Path) -> Callable[..., tuple[int, str, str]]:
    """Run `router check` over the fixtures: exit code, standard output, standard error."""

    def call(*args: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(
            router_command, ["check", str(checkout / "fixtures"), *args], standalone_mode=False, catch_exceptions=True
        )
        code = result.return_value
        if isinstance(result.exception, SkillHealthError):
            return result.exception.exit_code, result.stdout, str(result.exception)
        assert result.exception is None, result.output
        return code, result.stdout, result.stderr

    return call


@pytest.mark.slow
def test_the_command(cli: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = cli("--models", "lexical:overlap,scripted:skill=1")
    assert (code, err) == (0, "")
    assert out == "lexical:overlap: trusted (6 of 6 answered)\nscripted:skill=1: trusted (6 of 6 answered)\n"
    code, out, _ = cli("--models", "scripted:skill=0", "--format", "json")
    record = json.loads(out)
    assert code == 1 and record["trusted"] == {"scripted:skill=0": False} and record["stop"] == ""
    code, out, _ = cli("--models", "scripted:skill=1", "--template", "plan")
    assert code == 0 and "template" in out


@pytest.mark.slow
def test_the_command_asks_a_server_within_its_cap(
    cli: Callable[..., tuple[int, str, str]], tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-secret-of-this-test"
    monkeypatch.setenv("SOME_KEY", key)
    settings = (checkout / "fixtures" / "skill-health.toml").read_text(encoding="utf-8")
    picks = dict.fromkeys(WANTED, NAME) | {text: NONE for sort in UNWANTED for text in sort}

    def react(seen: Seen) -> Reaction:
        (pick,) = [name for text, name in picks.items() if text in seen.text]
        return answer(seen, ranking(pick), usage=(1000, 100))

    with Loopback(react) as server:
        config = tmp_path / "skill-health.toml"
        config.write_text(
            f"""{settings}
[router.providers.here]
protocol = "openai"
base-url = "{server.url}"
key-env = "SOME_KEY"
[router.prices."here:one"]
input = 10
output = 100
[router.prices."here:free"]
input = 0
output = 0
""",
            encoding="utf-8",
        )
        given = ("--config", str(config), "--format", "json")
        code, out, err = cli("--models", "here:one", "--max-budget-usd", "5", *given)
        assert code == 0 and len(server.seen) == 6
        (verdict,) = json.loads(out)["planted"]
        assert verdict["trusted"] and verdict["cost_usd"] == pytest.approx(6 * 0.02)
        assert "2 overrides" in err and key not in out + err
        assert cli("--models", "here:free", *given)[0] == 0
        before = len(server.seen)
        code, _, err = cli("--models", "here:one", "--max-budget-usd", "0.0001", *given)
        assert code == 3 and "cap" in err and len(server.seen) == before


def test_the_command_spends_nothing_unasked(
    cli: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    code, _, err = cli("--models", "openai:gpt-5-mini")
    assert code == 2 and "--max-budget-usd" in err
    code, _, err = cli("--models", "openai:no-such-model", "--max-budget-usd", "1")
    assert code == 2 and '[router.prices."openai:no-such-model"]' in err
