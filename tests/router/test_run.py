"""The run loop against scripted routers: results, caps, stops, resumption."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from made_runs import replace, values

from skill_health.bench.budget import Budget
from skill_health.bench.http.messages import Usage
from skill_health.bench.journal import ATTEMPTS, RESULTS, Journal, create, read_manifest, resume
from skill_health.bench.manifest import differences, identity
from skill_health.bench.prices import FREE, Rates, TieredPrice, price_table
from skill_health.config.settings import Provider, RouterSettings
from skill_health.core.errors import UsageError
from skill_health.discovery.changes import Revision
from skill_health.documents.router_manifest import FrozenSelection
from skill_health.router.plan.choices import RouterChoices
from skill_health.router.plan.plan import OpenModel, Questions, RouterPlan, to_manifest
from skill_health.router.records import NONE, Catalogue, ListedSkill, Mode, Prompt, Reply, RoutingRequest, RoutingResult
from skill_health.router.routers._api import Router
from skill_health.router.routers._load import RouterChoice, open_choice, resolve
from skill_health.router.run.run import RouterRunner
from skill_health.router.runs import OF_ROUTER, read_results
from skill_health.router.template import load_template

FIELDS = ("prompt_id", "model", "replication")
SKILLS = tuple(
    ListedSkill(f"skill-{n}", f"Does thing {n}. Use when {n}.", description=f"Does thing {n}.") for n in range(5)
)
PROMPTS = tuple(
    Prompt(f"p{n:02}", f"please do thing {n % 5}", None if n % 4 == 3 else f"skill-{n % 5}") for n in range(12)
)
PRICE = TieredPrice((Rates(10.0, 10.0, 10.0, 10.0),))


@dataclass
class Fake:
    """A router that answers as it is told, and notes what it was asked."""

    answer: Callable[[RoutingRequest], Reply]
    replicates: bool = True
    asked: list[tuple[str, int, int]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    seconds: float = 0.0
    under_way: int = 0
    peak: int = 0

    def describe(self) -> Mapping[str, Any]:
        return {}

    async def ask(self, request: RoutingRequest) -> Reply:
        self.asked.append((request.prompt.prompt_id, request.replication, request.attempt))
        self.texts.append(request.text)
        self.under_way += 1
        self.peak = max(self.peak, self.under_way)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.under_way -= 1
        return self.answer(request)

    async def close(self) -> None:
        pass


def right(request: RoutingRequest, **more: Any) -> Reply:
    text = json.dumps({"ranking": [request.prompt.expected or NONE], "confidence": 0.9, "rationale": "because"})
    return replace(Reply(text=text, usage=Usage(100, 10, raw={"in": 100}), model="resolved", duration_ms=1.0), **more)


def fake_model(
    router: Fake, spec: str = "fake:m", kind: str = "provider", price: TieredPrice | None = FREE, reps: int = 2
) -> OpenModel:
    module = SimpleNamespace(KIND=kind, EXTRA="", __name__="skill_health.router.routers.fake")
    choice = RouterChoice(spec, "m", cast(Any, module), Provider("fake", concurrency=4))
    return OpenModel(choice, cast(Router, router), reps, price)


def scripted(spec: str, reps: int = 3) -> OpenModel:
    choice = resolve(spec, RouterSettings())
    return OpenModel(choice, open_choice(choice, Catalogue(SKILLS)), reps, FREE)


def plan_of(*models: OpenModel, mode: Mode = "text", prompts: Sequence[Prompt] = PROMPTS, **more: Any) -> RouterPlan:
    choices = RouterChoices(tuple(model.spec for model in models), 3, 1, mode, "full", "none", "description", "cyclic")
    return RouterPlan(Catalogue(SKILLS), tuple(prompts), models, replace(choices, **more), load_template("none"))


def manifest_of(plan: RouterPlan, routing: RouterSettings = RouterSettings()) -> dict[str, Any]:  # noqa: B008
    made = to_manifest(plan, routing, price_table(routing), FrozenSelection(kind="all"), Revision())
    return {name: value for name, value in values(made).items() if name != "gaps"} | {"run_id": "r", "created": "c"}


def open_journal(folder: Path, plan: RouterPlan) -> Journal:
    manifest = manifest_of(plan)
    if (folder / "manifest.json").exists():
        return resume(str(folder), lambda stored: differences(stored, manifest), FIELDS, again=OF_ROUTER.missing)
    return create(str(folder), manifest, FIELDS)


def go(
    folder: Path,
    plan: RouterPlan,
    runs: int | None = None,
    usd: float | None = None,
    concurrency: int = 8,
    each: float = 0.0,
) -> RouterRunner:
    with open_journal(folder, plan) as journal:
        past = journal.past
        runner = RouterRunner(
            plan, journal, Budget(runs, usd, attempts=past.attempts, spent=past.usd), lambda model, request: each
        )
        asyncio.run(runner.run(concurrency))
        if not runner.left():
            journal.finish(plan.keys())
    return runner


def results(folder: Path) -> list[RoutingResult]:
    return read_results(str(folder / RESULTS))


def events(folder: Path, kind: str = "") -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (folder / ATTEMPTS).read_text("utf-8").splitlines()]
    return [event for event in found if event["event"] == kind or not kind]


MIXED = "scripted:skill=0.7,abstain=0.1,malformed=0.3,refusal=0.05,truncated=0.05,fenced=0.3"


def test_every_key_has_one_result_in_the_order_of_the_manifest(tmp_path: Path) -> None:
    plan = plan_of(scripted(MIXED), scripted("scripted:skill=1,seed=9", 2))
    runner = go(tmp_path / "run", plan)
    assert (runner.left(), runner.stopped, runner.capped) == (0, "", "")
    found = results(tmp_path / "run")
    assert [result.key for result in found] == list(plan.keys())
    assert len(found) == 12 * 5
    assert {result.status for result in found} > {"finished", "format_failure"}
    sure = [result for result in found if result.model != MIXED]
    assert all(result.primary == (PROMPTS[int(result.prompt_id[1:])].expected or NONE) for result in sure)
    starts = Counter((*event["key"], event["attempt"]) for event in events(tmp_path / "run", "start"))
    ends = Counter((*event["key"], event["attempt"]) for event in events(tmp_path / "run", "end"))
    assert starts == ends
    assert set(starts.values()) == {1}
    assert sum(starts.values()) == runner.budget.attempts == sum(result.attempts for result in found)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["text", "json_schema"])
def test_results_do_not_depend_on_concurrency(tmp_path: Path, mode: Mode) -> None:
    seen = set()
    for number, concurrency in enumerate((1, 3, 64)):
        plan = plan_of(scripted(MIXED), scripted(f"{MIXED},latency=1,seed=5"), mode=mode)
        go(tmp_path / str(number), plan, concurrency=concurrency)
        seen.add((tmp_path / str(number) / RESULTS).read_bytes())
    assert len(seen) == 1


def test_models_and_replications_share_the_time_of_day() -> None:
    plan = plan_of(scripted("scripted:seed=1", 2), scripted("scripted:seed=2", 1), prompts=PROMPTS[:2])
    assert [(call.replication, call.prompt.prompt_id, call.model.spec[-1]) for call in plan.calls()] == [
        (0, "p00", "1"), (0, "p00", "2"), (0, "p01", "1"), (0, "p01", "2"), (1, "p00", "1"), (1, "p01", "1"),
    ]  # fmt: skip


def test_all_models_see_one_order_and_positions_are_recorded_by_it(tmp_path: Path) -> None:
    one, two = Fake(right), Fake(right)
    plan = plan_of(fake_model(one, "fake:a"), fake_model(two, "fake:b"))
    go(tmp_path / "run", plan)
    assert sorted(one.texts) == sorted(two.texts)
    questions = Questions(plan)
    for call in plan.calls():
        result = next(result for result in results(tmp_path / "run") if result.key == call.key)
        place = questions.order(call).index(call.prompt.expected) + 1 if call.prompt.expected else None
        assert (result.target_position, result.picked_position) == (place, place)


def test_a_format_failure_is_asked_once_more_and_both_attempts_are_kept(tmp_path: Path) -> None:
    def answer(request: RoutingRequest) -> Reply:
        if request.prompt.prompt_id == "p00" or (request.prompt.prompt_id == "p01" and request.attempt == 1):
            return Reply(text="I would take skill-1.", usage=Usage(50, 5, raw={"n": request.attempt}))
        return right(request)

    fake = Fake(answer)
    go(tmp_path / "run", plan_of(fake_model(fake, price=PRICE, reps=1)))
    assert max(Counter(fake.asked).values()) == 1
    assert sorted(asked for asked in fake.asked if asked[2] > 1) == [("p00", 0, 2), ("p01", 0, 2)]
    found = results(tmp_path / "run")[:3]
    assert [(one.status, one.kinds, one.attempts, one.first_status, one.first_kinds) for one in found] == [
        ("format_failure", ("prose",), 2, "format_failure", ("prose",)),
        ("finished", (), 2, "format_failure", ("prose",)),
        ("finished", (), 1, "finished", ()),
    ]
    second = found[1]
    assert (second.usage.input_tokens, second.usage.output_tokens, second.usage.raw) == (150, 15, {"in": 100})
    assert second.cost_usd == pytest.approx(165 * 10 / 1e6)
    raw = [event["raw_text"] for event in events(tmp_path / "run", "end") if event["key"][0] == "p00"]
    assert raw == ["I would take skill-1."] * 2


@pytest.mark.parametrize("status", ["refusal", "truncated", "provider_error"])
def test_nothing_else_is_asked_again(tmp_path: Path, status: Any) -> None:
    fake = Fake(lambda request: Reply(status=status, text='{"ranking": ["sk', error="boom"))
    go(tmp_path / "run", plan_of(fake_model(fake, reps=1)))
    assert len(fake.asked) == 12
    found = results(tmp_path / "run")
    assert {(result.status, result.kinds, result.attempts, result.ranking) for result in found} == {(status, (), 1, ())}


def test_a_whole_answer_that_was_cut_off_at_its_end_counts(tmp_path: Path) -> None:
    fake = Fake(lambda request: right(request, status="truncated", stop_reason="length"))
    go(tmp_path / "run", plan_of(fake_model(fake)))
    assert {(result.status, result.notes) for result in results(tmp_path / "run")} == {("finished", ("truncated",))}


def test_a_model_that_is_gone_is_not_asked_again_and_the_others_go_on(tmp_path: Path) -> None:
    gone = Fake(lambda request: Reply(status="model_unavailable", error="no such model: m"))
    here = Fake(right)
    plan = plan_of(fake_model(gone, "fake:gone"), fake_model(here, "fake:here"))
    runner = go(tmp_path / "run", plan)
    assert len(gone.asked) <= 4
    assert runner.left() == 0
    found = [result for result in results(tmp_path / "run") if result.model == "fake:gone"]
    assert {(result.status, result.attempts, result.error) for result in found} == {
        ("model_unavailable", 0, "no such model: m")
    }
    assert len(found) == 24
    assert {result.status for result in results(tmp_path / "run") if result.model == "fake:here"} == {"finished"}


@pytest.mark.parametrize("stop", ["quota", "auth"])
def test_exhausted_credit_and_a_wrong_key_stop_the_run_and_keep_what_is_done(tmp_path: Path, stop: Any) -> None:
    def answer(request: RoutingRequest) -> Reply:
        if request.replication == 1 and request.prompt.prompt_id == "p03":
            return Reply(status="provider_error", stop=stop, error="the provider says: enough")
        return right(request)

    fake = Fake(answer, seconds=0.001)
    plan = plan_of(fake_model(fake))
    runner = go(tmp_path / "run", plan)
    assert runner.stopped == f"{stop}: the provider says: enough"
    found = {result.key for result in results(tmp_path / "run")}
    assert 12 <= len(found) < 22
    assert ("p03", "fake:m", 1) not in found
    assert len(events(tmp_path / "run", "end")) == len(fake.asked) == len(found) + 1
    better = Fake(right)
    assert go(tmp_path / "run", plan_of(fake_model(better))).left() == 0
    assert len(better.asked) == 24 - len(found)


@pytest.mark.slow
@pytest.mark.parametrize("cap", [0, 1, 7, 24, 30])
def test_a_cap_on_calls_counts_every_attempt_and_a_larger_one_goes_on(tmp_path: Path, cap: int) -> None:
    def answer(request: RoutingRequest) -> Reply:
        return right(request) if request.attempt > 1 or request.prompt.prompt_id > "p05" else Reply(text="prose")

    fake = Fake(answer)
    runner = go(tmp_path / "run", plan_of(fake_model(fake)), runs=cap)
    assert len(fake.asked) == min(cap, 36)
    assert runner.capped == f"the cap of {cap} calls is reached"
    assert runner.left() > 0
    again = Fake(answer)
    runner = go(tmp_path / "run", plan_of(fake_model(again)), runs=36)
    assert len(again.asked) == 36 - cap, "a first attempt that was recorded is not asked again"
    assert (runner.left(), runner.capped, runner.budget.attempts) == (0, "", 36)
    go(tmp_path / "other", plan_of(fake_model(Fake(answer))))
    assert (tmp_path / "run" / RESULTS).read_bytes() == (tmp_path / "other" / RESULTS).read_bytes()


def test_a_cap_does_not_keep_free_local_routers_from_answering(tmp_path: Path) -> None:
    paid, free = Fake(right), Fake(right, replicates=False)
    runner = go(tmp_path / "run", plan_of(fake_model(paid), fake_model(free, "lexical:fake", "local", reps=1)), runs=3)
    assert (len(paid.asked), len(free.asked)) == (3, 12)
    assert runner.left() == 21
    assert {tuple(event["key"])[1] for event in events(tmp_path / "run", "start")} == {"fake:m"}
    assert set(free.texts) == {""}


def test_a_budget_waits_for_what_calls_under_way_leave_of_their_reservations(tmp_path: Path) -> None:
    usd = 110 * 10 / 1e6
    fake = Fake(right, seconds=0.001)
    runner = go(tmp_path / "run", plan_of(fake_model(fake, price=PRICE)), usd=24 * usd + 0.001, each=0.01)
    assert runner.capped.startswith("the cap of $0.0274 leaves no room for another call: $0.0")
    assert len(fake.asked) == 16, "0.0176 are spent, and with 0.01 more the cap would be passed"
    assert runner.budget.spent == pytest.approx(16 * usd)
    assert fake.peak <= 2
    assert sum(event["cost_usd"] for event in events(tmp_path / "run", "end")) == pytest.approx(16 * usd)


def test_without_usage_the_reservation_is_charged(tmp_path: Path) -> None:
    fake = Fake(lambda request: right(request, usage=Usage()))
    runner = go(tmp_path / "run", plan_of(fake_model(fake, price=PRICE)), usd=0.1, each=0.01)
    assert len(fake.asked) == 10
    assert runner.budget.spent == pytest.approx(0.1)
    assert {result.cost_usd for result in results(tmp_path / "run")} == {None}
    with open_journal(tmp_path / "run", runner.plan) as journal:
        assert journal.past.usd == pytest.approx(0.1)


def test_missing_data_is_asked_again_when_a_run_is_resumed(tmp_path: Path) -> None:
    failed = Reply(status="provider_error", error="502")
    bad = Fake(lambda request: failed if request.prompt.prompt_id < "p06" else right(request))
    assert go(tmp_path / "run", plan_of(fake_model(bad))).left() == 0
    good = Fake(right)
    assert go(tmp_path / "run", plan_of(fake_model(good))).left() == 0
    assert sorted({asked[0] for asked in good.asked}) == [f"p0{n}" for n in range(6)]
    assert {result.status for result in results(tmp_path / "run")} == {"finished"}


@pytest.mark.slow
def test_a_server_that_is_down_is_left_alone_and_asked_again_later(tmp_path: Path) -> None:
    def answer(request: RoutingRequest) -> Reply:
        return right(request) if request.replication == 0 else Reply(status="provider_error", error="answered 502")

    down, here = Fake(answer), Fake(right)
    plan = plan_of(fake_model(down, "fake:down", reps=9), fake_model(here, "fake:here", reps=9))
    runner = go(tmp_path / "run", plan)
    assert runner.down == {"fake:down": "fake:down did not answer 20 calls in a row: answered 502"}
    assert 12 + 20 <= len(down.asked) <= 12 + 20 + 4
    assert len(here.asked) == 108
    assert runner.left() == 108 - len(down.asked)
    again = Fake(right)
    plan = plan_of(fake_model(again, "fake:down", reps=9), fake_model(here, "fake:here", reps=9))
    assert go(tmp_path / "run", plan).left() == 0
    assert len(again.asked) == 96


def test_a_bug_in_a_router_keeps_what_is_done(tmp_path: Path) -> None:
    def answer(request: RoutingRequest) -> Reply:
        if request.prompt.prompt_id == "p09":
            raise ZeroDivisionError("ours")
        return right(request)

    with pytest.raises(ZeroDivisionError):
        go(tmp_path / "run", plan_of(fake_model(Fake(answer), reps=1)), concurrency=1)
    assert len(results(tmp_path / "run")) == 9


def test_an_attempt_that_is_abandoned_is_spent_and_has_no_result(tmp_path: Path) -> None:
    fake = Fake(right, seconds=5)
    plan = plan_of(fake_model(fake, price=PRICE))

    async def main(runner: RouterRunner) -> None:
        running = asyncio.create_task(runner.run(3, grace=5))
        while len(fake.asked) < 3:
            await asyncio.sleep(0.001)
        assert runner.interrupt()
        assert not runner.interrupt()
        await running

    with open_journal(tmp_path / "run", plan) as journal:
        runner = RouterRunner(plan, journal, Budget(100, 1.0), lambda model, request: 0.25)
        asyncio.run(main(runner))
    assert (runner.stopped, runner.budget.spent, runner.left()) == ("interrupted", 0.75, 24)
    assert [event["status"] for event in events(tmp_path / "run", "end")] == ["cancelled"] * 3
    with open_journal(tmp_path / "run", plan) as journal:
        assert (journal.past.attempts, journal.past.usd, journal.past.lost) == (3, 0.75, 0)


CHANGES: list[tuple[str, Callable[[RouterPlan], RouterPlan], str]] = [
    ("seed", lambda plan: replace(plan, choices=replace(plan.choices, seed=2)), r"seed: 1 then, 2 now"),
    ("mode", lambda plan: replace(plan, choices=replace(plan.choices, mode="json_schema")), r'mode: "text" then, "json_schema" now'),
    (
        "text",
        lambda plan: replace(plan, catalogue=Catalogue((replace(SKILLS[0], text="Else."), *SKILLS[1:]))),
        r"the hash of catalogue differs \(changed: skill-0\)",
    ),
    (
        "skill-gone",
        lambda plan: replace(plan, catalogue=Catalogue(SKILLS[1:])),
        r"the hash of catalogue differs \(no longer there: skill-0\)",
    ),
    ("order", lambda plan: replace(plan, catalogue=Catalogue(SKILLS[::-1])), r"the hash of catalogue differs \(in another order\)"),
    (
        "label",
        lambda plan: replace(plan, prompts=(replace(PROMPTS[0], expected=None), *PROMPTS[1:])),
        r"the hash of prompts differs \(changed: p00\)",
    ),
    (
        "prompts",
        lambda plan: replace(plan, prompts=(*PROMPTS[5:], replace(PROMPTS[0], prompt_id="new"))),
        r"the hash of prompts differs \(no longer there: p00, p01, p02 and 2 more, new: new\)",
    ),
    ("template", lambda plan: replace(plan, template=load_template("plan")), r"template: changed: digest, name"),
    (
        "models",
        lambda plan: replace(plan, models=(scripted("scripted:skill=0.5"),)),
        r"models: no longer there: scripted:seed=3, new: scripted:skill=0.5",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), [case[1:] for case in CHANGES], ids=[case[0] for case in CHANGES])
def test_a_changed_manifest_is_refused_and_named(
    tmp_path: Path, change: Callable[[RouterPlan], RouterPlan], message: str
) -> None:
    plan = plan_of(scripted("scripted:seed=3"))
    go(tmp_path / "run", plan, runs=5)
    before = sorted((path.name, path.read_bytes()) for path in (tmp_path / "run").iterdir())
    with pytest.raises(UsageError, match=message):
        go(tmp_path / "run", change(plan))
    assert sorted((path.name, path.read_bytes()) for path in (tmp_path / "run").iterdir()) == before
    assert identity(manifest_of(plan)) != identity(manifest_of(change(plan)))


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: replace(plan, prompts=tuple(replace(prompt, source="moved:1", reason="!") for prompt in PROMPTS)),
        lambda plan: replace(plan, catalogue=Catalogue(tuple(replace(skill, path="elsewhere") for skill in SKILLS))),
        lambda plan: replace(plan, models=tuple(replace(model, price=PRICE) for model in plan.models)),
    ],
    ids=["where-a-label-stands", "where-a-skill-lies", "price-of-the-day"],
)
def test_what_changes_no_answer_changes_no_identity(change: Callable[[RouterPlan], RouterPlan]) -> None:
    plan = plan_of(scripted("scripted:seed=3"))
    then, now = manifest_of(plan), manifest_of(change(plan)) | {"run_id": "x", "created": "y", "commit": "z"}
    assert identity(then) == identity(now)
    assert differences(then, now) == []


def test_pace_is_no_part_of_a_run_and_the_server_is() -> None:
    plan = plan_of(fake_model(Fake(right)))
    slow, fast, other = (
        RouterSettings(providers={"fake": Provider("openai", base_url=url, concurrency=number)})
        for url, number in (("http://a", 1), ("http://a", 64), ("http://b", 1))
    )
    assert differences(manifest_of(plan, slow), manifest_of(plan, fast)) == []
    assert "the hash of config differs" in differences(manifest_of(plan, slow), manifest_of(plan, other))[0]


def test_a_frozen_manifest_is_read_back_as_it_was(tmp_path: Path) -> None:
    plan = plan_of(scripted(MIXED))
    go(tmp_path / "run", plan)
    stored = read_manifest(str(tmp_path / "run"))
    assert stored == json.loads(json.dumps(manifest_of(plan)))
    assert differences(stored, manifest_of(plan)) == []


def test_the_same_names_over_other_contents_are_said_to_be_edited() -> None:
    """A hash may cover more than the names that a manifest keeps of what it covers."""
    then, now = ({"staged": {"t": {"target": ["a"]}}, "hashes": {"staged": mark}} for mark in "xy")
    (said,) = differences(then, now)
    assert " staged " in said and said.endswith(" edited)")
