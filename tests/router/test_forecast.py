"""Forecasts: what a run will take, what a call may cost at most, and what earlier runs tell about both."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_runs import values

from skill_health.bench.http.messages import Usage
from skill_health.bench.prices import FREE, Rates, TieredPrice, cost, price_table
from skill_health.config.settings import Provider, RouterSettings
from skill_health.discovery.changes import Revision
from skill_health.documents._record import TokenUsage
from skill_health.documents.router_manifest import FrozenSelection
from skill_health.router.plan.choices import RouterChoices
from skill_health.router.plan.forecast import (
    MARGIN,
    TYPICAL_OUTPUT,
    UNCALIBRATED,
    EarlierCalls,
    Factor,
    Load,
    forecast,
    forecast_plan,
    most,
    read_earlier,
    reservations,
    study_notes,
    tokens_at_most,
)
from skill_health.router.plan.plan import OpenModel, Questions, RouterPlan, to_manifest
from skill_health.router.records import Catalogue, ListedSkill, Mode, Prompt, RoutingResult, Status
from skill_health.router.routers._load import RouterChoice
from skill_health.router.template import load_template, question_size, size_of

PAID = TieredPrice((Rates(1.0, 10.0, 0.1, 1.25),))
SKILLS = tuple(ListedSkill(f"skill-{n}", f"Does thing {n}. Use when {n} is näher.") for n in range(12))
PROMPTS = tuple(Prompt(f"p{n}", f"please dö thing {n}", None if n % 4 == 3 else f"skill-{n}") for n in range(12))


def model(
    spec: str = "fake:m", kind: str = "provider", price: TieredPrice | None = PAID, reps: int = 3, **provider: Any
) -> OpenModel:
    router = SimpleNamespace(describe=lambda: {})
    module = SimpleNamespace(KIND=kind, EXTRA="", __name__="skill_health.router.routers.fake")
    choice = RouterChoice(spec, "m", cast(Any, module), Provider("fake", **provider) if kind == "provider" else None)
    return OpenModel(choice, cast(Any, router), reps, price)


def plan_of(
    *models: OpenModel, mode: Mode = "text", prompts: Sequence[Prompt] = PROMPTS, template: str = "none"
) -> RouterPlan:
    choices = RouterChoices(tuple(each.spec for each in models), 3, 1, mode, "full", template, "description", "cyclic")
    return RouterPlan(Catalogue(SKILLS), tuple(prompts), models, choices, load_template(template))


def test_the_arithmetic_of_one_model() -> None:
    load = Load(
        "m", 100, 400_000, 50, 1000, PAID, factor=Factor(1.2, 1.5, 40), concurrency=4, seconds=2.0, repeated=100
    )
    found = forecast([load], "table 1")
    each = found.models[0]
    assert (each.input_tokens, each.output_low, each.output_high) == (120_000, 5_000, 100_000)
    assert each.usd_low == pytest.approx(0.12 + 0.05)
    assert each.usd_high == pytest.approx(100 * (1500 * 1.25 + 1000 * 10) / 1e6)
    assert each.usd_repeated == pytest.approx(2 * (each.usd_high or 0))
    assert found.seconds == each.seconds == 50.0
    calls, of_m, cost, *rest = found.lines()
    assert [calls, of_m] == [
        "forecast: 100 calls",
        "  m  100 calls, 120,000 tokens in, 5,000 to 100,000 out, $0.1700 to $1.1875, about 50 s",
    ]
    assert cost.startswith("  cost: $0.1700 to $1.1875 by table 1; ") and re.findall(r"\$[\d.]+", cost)[2:] == [
        "$2.3750"
    ]
    assert rest == [
        "  time: 50 s",
        "  tokens of m: bytes / 4 x 1.20, from 40 calls of earlier runs",
    ]


def test_limits_and_groups_decide_how_long_it_takes() -> None:
    slow = Load("a:x", 60, seconds=1.0, concurrency=60, per_minute=30, group="a")
    same = replace(slow, model="a:y")
    other = Load("b:x", 10, seconds=3.0, group="b")
    assert forecast([slow], "").seconds == 120
    assert forecast([slow, same, other], "").seconds == 240
    assert forecast([slow, replace(other, seconds=None)], "").seconds is None
    assert forecast([replace(slow, local=True)], "").seconds == 0
    assert "not known" in "\n".join(forecast([replace(other, seconds=None)], "").lines())


def test_what_is_not_known_is_not_zero() -> None:
    known, unknown = Load("m", 10, 1000, 5, 10, PAID), Load("n", 10, 1000, 5, 10, None)
    found = forecast([known, unknown], "t")
    assert found.models[0].usd_high is not None
    assert (found.usd_low, found.usd_high, found.usd_repeated) == (None, None, None)
    assert any("price not known" in line for line in found.lines())
    assert forecast([], "t").usd_high == 0.0


def test_local_models_are_free_and_said_to_be() -> None:
    found = forecast([Load("lexical:bm25", 50, 9999, 5, 10, FREE, local=True)], "t", ["a note"])
    calls, local, note = found.lines()
    assert (calls, note) == ("forecast: 50 calls", "  a note")
    assert local.startswith("  lexical:bm25  50 calls, ") and "free" in local and "$" not in local


@given(st.integers(0, 10**7), st.floats(0.1, 20), st.integers(0, 10**6))
def test_a_reservation_covers_every_call_within_its_bounds(size: int, factor: float, output: int) -> None:
    bound = Factor(factor / 2, factor, 9)
    held = most(PAID, size, bound, output)
    limit = tokens_at_most(size, bound)
    assert limit <= max(size, 0) and limit <= math.ceil(size / 4 * factor)
    for read, written in ((limit, output), (limit // 2, output), (limit, 0)):
        for cached, stored in ((0, 0), (read, 0), (0, read)):
            assert (cost(PAID, Usage(read, written, cached, stored)) or 0) <= held
    assert most(None, size, bound, output) == 0.0


@pytest.mark.parametrize("mode", ["text", "json_schema"])
@pytest.mark.parametrize("template", ["none", "plan"])
def test_the_size_of_a_question_is_that_of_what_is_sent(mode: Mode, template: str) -> None:
    plan = plan_of(model(), mode=mode, template=template)
    size = question_size(plan.template, plan.catalogue.shown, mode)
    questions = Questions(plan)
    for call in plan.calls():
        request = questions.request(call, 1)
        schema = len(json.dumps(request.schema)) if request.schema else 0
        assert size(call.prompt.text) == len(request.text.encode()) + schema


def test_a_plan_without_what_is_done() -> None:
    paid, local = model(concurrency=2, requests_per_minute=30), model("lexical:x", "local", FREE, reps=1)
    plan = plan_of(paid, local)
    done = [call.key for call in plan.calls() if call.model is paid][:6]
    earlier = {"fake:m": EarlierCalls(Factor(2.0, 2.5, 10), 33, 1.5)}
    found = forecast_plan(plan, "t", earlier, ("note",), done)
    assert [each.load.calls for each in found.models] == [30, 12]
    load = found.models[0].load
    assert (load.concurrency, load.per_minute, load.seconds) == (2, 30, 1.5)
    assert (load.typical_output, load.max_output, load.repeated, found.notes) == (33, 1024, 30, ("note",))
    assert found.seconds == 60.0
    assert found.models[1].load.local and found.usd_high == found.models[0].usd_high
    fresh = forecast_plan(plan, "t", {})
    assert fresh.models[0].load.typical_output == TYPICAL_OUTPUT
    assert fresh.models[0].load.factor == UNCALIBRATED
    assert fresh.seconds is None


def test_reservations_are_within_the_forecast() -> None:
    one = model()
    plan = plan_of(one)
    reserve, questions = reservations({}), Questions(plan)
    held = [reserve(one, questions.request(call, 1)) for call in plan.calls()]
    total = forecast_plan(plan, "t", {}).usd_high
    assert total == pytest.approx(sum(held), rel=0.01)
    size = size_of(questions.request(plan.calls()[0], 1).text)
    assert held[0] == most(PAID, size, UNCALIBRATED, 1024)
    calibrated = reservations({"fake:m": EarlierCalls(Factor(1.0, 1.1, 9))})
    assert calibrated(one, questions.request(plan.calls()[0], 1)) < held[0]
    assert reserve(model(price=None), questions.request(plan.calls()[0], 1)) == 0.0


def of_one_skill(count: int, families: int = 0, split: str = "") -> list[Prompt]:
    family = [f"f{n % families}" if families else "" for n in range(count)]
    return [Prompt(f"q{n}", "x", "skill-1", family=family[n], split=split) for n in range(count)]


NULLS = [Prompt(f"null-{n}", "x", None) for n in range(10)]
UNTESTABLE = [Prompt("q", "x", "elsewhere"), Prompt("r", "x", None, known=False)]


@pytest.mark.parametrize(
    ("prompts", "train", "template", "said", "unsaid"),
    [
        pytest.param(PROMPTS, (), "none", ("12 over 12 skills", "12 clusters", "3 of them", "preliminary: ", "(12)"), ("abstention",), id="few"),
        pytest.param(PROMPTS, of_one_skill(2, split="train"), "none", ("chosen on 2 train prompts",), (), id="train"),
        pytest.param(PROMPTS, PROMPTS, "none", ("local routers: their own",), (), id="too few without a split"),
        pytest.param(PROMPTS, (*of_one_skill(10), *NULLS), "none", ("cross-fitted on 20 prompts",), (), id="without a split"),
        pytest.param(of_one_skill(40), (), "none", ("0 of 40 prompts expect no skill",), ("fewer",), id="no nulls"),
        pytest.param(of_one_skill(40), (), "plan", ("detectable",), ("preliminary",), id="nulls are not asked for"),
        pytest.param(PROMPTS, (), "plan", ("9 with a right answer",), (), id="nulls cannot be answered"),
        pytest.param(of_one_skill(40, 5), (), "none", ("(5 clusters)",), (), id="families"),
        pytest.param(of_one_skill(1), (), "none", ("(1 cluster)",), ("detectable",), id="one prompt"),
        pytest.param(UNTESTABLE, (), "none", ("0 with a right answer",), ("detectable",), id="none to count"),
    ],
)  # fmt: skip
def test_what_a_study_can_show(
    prompts: Sequence[Prompt], train: Sequence[Prompt], template: str, said: Sequence[str], unsaid: Sequence[str]
) -> None:
    notes = "\n".join(
        study_notes(plan_of(model(), model("lexical:x", "local", FREE, 1), prompts=prompts, template=template), train)
    )
    assert [text for text in said if text not in notes] == []
    assert [text for text in unsaid if text in notes] == []


def test_the_detectable_effect_is_that_of_the_published_table() -> None:
    prompts = [Prompt(f"q{n}", "x", "skill-1" if n % 4 else None) for n in range(50)]
    for reps, points in ((1, 15.9), (3, 9.1)):
        (note,) = [note for note in study_notes(plan_of(model(reps=reps), prompts=prompts)) if "detectable" in note]
        shown = float(note.partition("difference of ")[2].partition(" points")[0])
        assert shown == pytest.approx(points, abs=0.25)


def write_run(
    folder: Path, plan: RouterPlan, tokens: float, *, output: int = 40, status: Status = "finished", **more: Any
) -> None:
    """A finished run in which each call read `tokens` for 4 bytes."""
    prices, whole = price_table(RouterSettings()), FrozenSelection(kind="all")
    manifest = values(to_manifest(plan, RouterSettings(), prices, whole, Revision()))
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(
        json.dumps({**manifest, "run_id": folder.name, "created": "2026-01-01T00:00:00Z"}), encoding="utf-8"
    )
    size = question_size(plan.template, plan.catalogue.shown, plan.choices.mode)
    results = []
    for call in plan.calls():
        usage = TokenUsage(input_tokens=round(size(call.prompt.text) / 4 * tokens), output_tokens=output)
        results.append(RoutingResult(*call.key, status, usage=usage, **{"duration_ms": 1500.0, **more}))
    lines = "".join(json.dumps(values(result)) + "\n" for result in results)
    (folder / "results.jsonl").write_text(lines, encoding="utf-8")


def test_earlier_runs_calibrate(tmp_path: Path) -> None:
    plan = plan_of(model(), model("fake:other"))
    write_run(tmp_path / "router" / "20260101T000000Z-a", plan, 1.25)
    found = read_earlier(str(tmp_path), ["fake:m", "fake:new"], "text")
    told = found["fake:m"]
    assert told.factor.mean == pytest.approx(1.25, abs=0.01) and told.factor.calls == 36
    assert told.factor.mean < told.factor.most <= 1.25 * 1.15
    assert (told.output_tokens, told.seconds) == (40, 1.5)
    assert found["fake:new"] == EarlierCalls(UNCALIBRATED, None, None)
    assert read_earlier(str(tmp_path), ["fake:m"], "json_schema")["fake:m"] == EarlierCalls()


def test_the_latest_run_comes_first_and_enough_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skill_health.router.plan.forecast.CALLS", 36)
    plan = plan_of(model())
    for name, tokens in (("20260101T000000Z-a", 3.0), ("20260301T000000Z-a", 1.0), ("20260201T000000Z-a", 2.0)):
        write_run(tmp_path / "router" / name, plan, tokens)
    assert read_earlier(str(tmp_path), ["fake:m"], "text")["fake:m"].factor.mean == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"attempts": 2}, id="two attempts in one sum of tokens"),
        pytest.param({"status": "provider_error"}, id="no answer"),
    ],
)
def test_what_tells_nothing_is_passed_over(tmp_path: Path, more: Mapping[str, Any]) -> None:
    write_run(tmp_path / "router" / "20260101T000000Z-a", plan_of(model()), 2.0, **more)
    assert read_earlier(str(tmp_path), ["fake:m"], "text")["fake:m"] == EarlierCalls()


def test_few_calls_and_absurd_ones(tmp_path: Path) -> None:
    write_run(tmp_path / "router" / "20260101T000000Z-a", plan_of(model(reps=1), prompts=PROMPTS[:4]), 2.0)
    assert read_earlier(str(tmp_path), ["fake:m"], "text")["fake:m"] == EarlierCalls()
    write_run(tmp_path / "router" / "20260102T000000Z-a", plan_of(model()), 100.0, duration_ms=1e12, output=10**9)
    told = read_earlier(str(tmp_path), ["fake:m"], "text")["fake:m"]
    assert 0.25 <= told.factor.mean <= told.factor.most <= 8.0 * 1.1
    assert (told.output_tokens, told.seconds) == (None, None)


RUBBISH = b"\xff\xfe\n" + "\n".join(
    (
        '{"prompt_id": 3}', "null", "[]", "[" * 100_000,
        '{"prompt_id":"p1","model":"fake:m","replication":0,"status":"finished","usage":{"input_tokens":"many"}}',
    )
).encode()  # fmt: skip


def test_damaged_runs_keep_nobody_from_forecasting(tmp_path: Path) -> None:
    runs = tmp_path / "router"
    write_run(runs / "20260101T000000Z-a", plan_of(model()), 2.0)
    damages: dict[str, dict[str, bytes]] = {
        "b": {"manifest.json": b"{"}, "c": {"manifest.json": b'{"models": 3}'}, "d": {},
        "e": {"manifest.json": b'{"models": [{"spec": "fake:m"}], "kind": "router", "mode": "text"}'},
        "f": {"manifest.json": (runs / "20260101T000000Z-a" / "manifest.json").read_bytes()},
        "g": {"manifest.json": (runs / "20260101T000000Z-a" / "manifest.json").read_bytes(), "results.jsonl": RUBBISH},
    }  # fmt: skip
    for name, files in damages.items():
        folder = runs / f"20260202T000000Z-{name}"
        folder.mkdir()
        for file, data in files.items():
            (folder / file).write_bytes(data)
    assert read_earlier(str(tmp_path), ["fake:m"], "text")["fake:m"].factor.mean == pytest.approx(2.0, abs=0.01)
    assert read_earlier(str(tmp_path / "nowhere"), ["fake:m"], "text")["fake:m"] == EarlierCalls()


def test_a_changed_template_tells_nothing_about_tokens(tmp_path: Path) -> None:
    folder = tmp_path / "router" / "20260101T000000Z-a"
    write_run(folder, plan_of(model()), 2.0)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["template"]["digest"] = "0" * 32
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    told = read_earlier(str(tmp_path), ["fake:m"], "text")["fake:m"]
    assert told.factor == UNCALIBRATED and told.seconds == 1.5
    assert MARGIN > 1
