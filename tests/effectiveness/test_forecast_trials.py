"""The forecast: what is known of money and time, what so many tasks can show, and where no verdict can be reached."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from effects_made import manifest, replace, typed
from effects_made import task as written_task
from hypothesis import given
from hypothesis import strategies as st
from run_made import PRICE, SKILLS, Made, a_model, a_plan, an_agent, go, task, the_run

from skill_health.bench.prices import FREE, at_most, cost
from skill_health.core.errors import UsageError
from skill_health.documents._record import record_values
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.plan.forecast import (
    TYPICAL,
    EarlierTrials,
    forecast,
    read_controls,
    read_earlier,
    study_notes,
)
from skill_health.effectiveness.plan.opening import MOST_INPUT, MOST_OUTPUT, cap_of
from skill_health.effectiveness.plan.plan import AgentModel, TrialPlan
from skill_health.effectiveness.run.history import HISTORY, history_lines

TRIED = "when it was last tried"
TRIALS = 2 * (4 * 6 + 3)


def simulated() -> AgentModel:
    model = a_model("scripted")
    return replace(model, choice=replace(model.choice, agent=an_agent(SIMULATED=True, PROTOCOLS=()), protocol=""))


def notes(plan: TrialPlan, rates: dict[tuple[str, str | None], float] | None = None) -> str:
    return "\n".join(study_notes(plan, rates or {}))


def gate(said: str) -> list[str]:
    """The warnings of how many tasks must differ, for no skill alone."""
    lines = (line for line in said.splitlines() if "must differ" in line and "skill" not in line)
    return [line.removeprefix("warning: ") for line in lines if line.startswith("warning: ")]


def out_of_reach(said: str) -> bool:
    """Whether no verdict can be reached; where one can be, the warning begins with how many must differ."""
    return any(not line[0].isdigit() for line in gate(said))


def many(count: int, controls: int = 5, skills: int = 3) -> list[Any]:
    return [task(n, SKILLS[n % skills]) for n in range(count)] + [task(90 + n, "none") for n in range(controls)]


def test_money_ranges_from_typical_tokens_to_the_cap() -> None:
    cap = cap_of(PRICE, None)
    assert cap == at_most(PRICE, MOST_INPUT, MOST_OUTPUT) == (MOST_INPUT + MOST_OUTPUT) * 10 / 1e6
    told = forecast(a_plan(a_model(price=PRICE, cap=cap)), "prices of today", {})
    each = cost(PRICE, TYPICAL)
    assert each is not None and told.seconds is None and told.trials == TRIALS
    assert (told.usd_low, told.usd_high) == pytest.approx((each * TRIALS, cap * TRIALS))
    assert told.lines()[:4] == [
        f"forecast: {TRIALS} trials",
        f"  made:m  {TRIALS} trials, $137.7000 to $1112.4000",
        "  cost: $137.7000 to $1112.4000 by prices of today",
        "  a trial of made:m may spend up to $20.60 (without --max-usd-per-trial the price of 2,000,000 tokens read and "
        "60,000 written)",
    ]


def test_earlier_trials_tell_dollars_and_time() -> None:
    plan = a_plan(a_model("made:a", PRICE, 3.0), a_model("made:b", PRICE, 3.0))
    earlier = {"made:a": EarlierTrials(40, 0.5, 60.0), "made:b": EarlierTrials(9, 9.0, 30.0)}
    told = forecast(plan, "p", earlier, concurrency=4)
    first, second = told.models
    assert (first.usd_low, first.usd_high) == (0.5 * TRIALS, 3.0 * TRIALS)
    assert second.usd_low == 3.0 * TRIALS, "no trial can cost more than its cap"
    assert (first.seconds, second.seconds) == (TRIALS * 60 / 4, TRIALS * 30 / 4)
    assert told.seconds == TRIALS * 90 / 4, "they share a server"
    assert "  made:a  54 trials, $27.0000 to $162.0000 (from 40 earlier trials), about 13 min 30 s" in told.lines()


def test_servers_work_side_by_side_as_far_as_the_limit_of_all_trials_lets_them() -> None:
    models = [replace(a_model(f"made:{n}", concurrency=2), server=f"s{n}") for n in range(3)]
    earlier = {model.spec: EarlierTrials(9, None, 10.0) for model in models}
    assert forecast(a_plan(*models), "p", earlier, concurrency=6).seconds == TRIALS * 10 / 2
    assert forecast(a_plan(*models), "p", earlier, concurrency=2).seconds == 3 * TRIALS * 10 / 2


def test_what_is_done_is_not_told_again_and_nothing_is_known_of_an_unpriced_model() -> None:
    plan = a_plan(a_model(price=None))
    done = list(plan.keys())[:50]
    told = forecast(plan, "p", {}, (), done)
    assert (told.trials, told.usd_low, told.usd_high) == (4, None, None)
    assert "$" not in told.lines()[1]
    assert forecast(plan, "p", {}, (), list(plan.keys())).trials == 0


def test_simulated_agents_are_free_and_say_so() -> None:
    told = forecast(a_plan(simulated()), "p", {"scripted": EarlierTrials(99, 5.0, 1.0)})
    assert (told.usd_low, told.usd_high) == (0.0, 0.0)
    assert told.lines()[1] == f"  scripted  {TRIALS} trials, simulated, free, about 54 s"
    assert not any(line.startswith("  cost") for line in told.lines())


def test_time_is_at_most_what_tasks_and_the_command_line_allow() -> None:
    assert forecast(a_plan(), "p", {}, concurrency=1).seconds_most == TRIALS * 60
    assert forecast(a_plan(timeout_sec=5.0), "p", {}, concurrency=1).seconds_most == TRIALS * 5
    assert forecast(a_plan(timeout_sec=500.0), "p", {}, concurrency=1).seconds_most == TRIALS * 60


@given(st.integers(1, 30), st.integers(1, 5), st.integers(1, 8), st.integers(0, 10**6))
def test_dollars_and_time_of_a_plan_are_the_sums_of_its_trials(tasks: int, reps: int, at_once: int, seed: int) -> None:
    plan = a_plan(a_model(price=PRICE, cap=0.5), tasks=many(tasks, 0), arms=("target",), reps=reps, seed=seed)
    told = forecast(plan, "p", {"made:m": EarlierTrials(5, 0.25, 12.0)}, concurrency=at_once)
    assert told.trials == tasks * reps * 2
    assert told.usd_low == pytest.approx(told.trials * 0.25)
    assert told.seconds == pytest.approx(told.trials * 12 / at_once)


@pytest.mark.slow
def test_the_plans_size_is_preliminary_and_its_gate_can_be_reached() -> None:
    said = notes(a_plan(tasks=many(15), reps=3))
    wanted = (
        r"^tasks: 15 .*, 5 negative",
        r"^detectable: .* 25 points, .* 29 .*\bnegative\b.* \(15 tasks",
        r"^smallest p: 6\.1e-05 .* 15 tasks .*; 7\.6e-05 corrected for 1 agent",
        r", 0\.00049 for one",
        r"^note: .* 10 points .* 5 .* \+-45",
    )
    assert [each for each in wanted if not re.search(each, said, re.MULTILINE)] == [] and gate(said) == []
    assert "margin of" not in notes(a_plan(tasks=many(40, 40), reps=9, margin=0.2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tasks", "models", "needed"),
    [(5, 1, 6), (6, 1, 6), (12, 1, None), (6, 2, 7), (13, 3, 8), (16, 3, None), (7, 4, 8)],
)
def test_a_gate_that_cannot_be_reached_is_told(tasks: int, models: int, needed: int | None) -> None:
    said = notes(a_plan(*(a_model(f"made:{n}") for n in range(models)), tasks=many(tasks)))
    numbers = [[int(word) for word in re.findall(r"\d+", line)] for line in gate(said)]
    if needed is None:
        assert numbers == []
    else:
        assert numbers == [[needed, tasks]]
        assert out_of_reach(said) == (needed > tasks)


@pytest.mark.slow
def test_no_gate_says_what_the_statistics_then_deny() -> None:
    """Where the forecast sees no verdict, the report has none, though every task differs."""
    from effects_made import reported
    from run_made import manifest_of

    from skill_health.documents.effect_result import TrialResult

    for count in (5, 6):
        plan = a_plan(tasks=many(count, 0), arms=("target",), reps=1)
        made = manifest_of(plan) | {"run_id": "r", "created": "2026-01-01T00:00:00Z"}
        results = [TrialResult(*key, "pass" if key[2] == "target" else "fail") for key in plan.keys()]  # noqa: SIM118
        (model,) = reported(made, results)["models"]
        assert (model["verdict"]["word"] == "not testable") == out_of_reach(notes(plan))


def slowly(*given: Any) -> Any:
    return pytest.param(*given, marks=pytest.mark.slow)


HINTED = ("target+hint", "negative+hint")


@pytest.mark.parametrize(("plan", "told", "untold"), [
    slowly({"tasks": many(15)}, "skills can be reached for maps-work (5 tasks), notes-work (5 tasks)", "8 must"),
    slowly({"tasks": many(18)}, "skill maps-work: 6 tasks; no verdict: 8 must differ with 3 tested together", "best 92"),
    slowly({"tasks": many(24)}, "skill maps-work: 8 tasks, at best 92 points\n", "no verdict"),
    slowly({"tasks": many(15), "arms": HINTED, "reps": 3}, "tasks: 15 ", "no task"),
    slowly({"tasks": many(15), "arms": ("target",), "reps": 3}, "7.6e-05 corrected", "0.00049"),
    ({"tasks": many(4), "reps": 3}, "detectable: no difference (4 tasks, 3 replications, 80 % power)", "no task"),
    ({"arms": ("full",)}, "has both", "detectable"),
    ({"arms": ("target",)}, "arm negative", "has both"),
])  # fmt: skip
def test_what_a_plan_can_show_is_told(plan: dict[str, Any], told: str, untold: str) -> None:
    said = notes(a_plan(**plan))
    assert told in said and untold not in said


@pytest.mark.parametrize(("rate", "word"), [(0.99, "gain"), (0.85, "gain"), (0.02, "loss"), (0.5, "")])
def test_a_control_that_left_no_room_is_told(rate: float, word: str) -> None:
    said = notes(a_plan(tasks=many(15), reps=3), {("made:m", None): rate})
    told = [line for line in said.splitlines() if TRIED in line]
    assert len(told) == bool(word)
    assert not told or (f"passed {rate:.0%}".replace("%", " %") in told[0] and f"a {word} of the 25 points" in told[0])


def test_a_probe_of_the_ceiling_is_offered_where_nothing_is_known_of_it() -> None:
    offer = (
        "note: how often made:m passes without a skill is not known; `--arms control --reps 1`, 20 trials, tells first"
    )
    assert offer in notes(a_plan(tasks=many(15), reps=3))
    assert offer not in notes(a_plan(tasks=many(15), reps=3), {("made:m", None): 0.5})
    assert "`--arms control" not in notes(a_plan(simulated(), tasks=many(15), reps=3))


@pytest.mark.slow
def test_a_skill_whose_tasks_were_too_easy_is_told() -> None:
    said = notes(a_plan(tasks=many(15)), {("made:m", "maps-work"): 1.0, ("made:m", "notes-work"): 0.5})
    assert f"warning: made:m passed nearly always without maps-work {TRIED}" in said


@pytest.mark.slow
def test_earlier_runs_are_read_the_latest_first_and_damaged_ones_passed_over(tmp_path: Path) -> None:
    plan = a_plan()
    go(tmp_path, plan, Made(usd=0.5))
    folder = the_run(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert read_earlier(str(tmp_path), ["made:m", "other"]) == {
        "made:m": EarlierTrials(TRIALS, 0.5, 0.01), "other": EarlierTrials(),
    }  # fmt: skip
    with (folder / "results.jsonl").open("a") as file:
        file.write('{"no": 1}\nnot JSON\n{"task_id": "half')
    broken = folder.parent / "20990101T000000Z-x"
    broken.mkdir()
    (broken / "manifest.json").write_text("{")
    empty = folder.parent / "20990102T000000Z-y"
    empty.mkdir()
    (empty / "manifest.json").write_text(json.dumps(manifest | {"run_id": empty.name}))
    assert read_earlier(str(tmp_path), ["made:m"]) == {"made:m": EarlierTrials(TRIALS, 0.5, 0.01)}
    assert read_earlier(str(tmp_path / "nowhere"), ["made:m"]) == {"made:m": EarlierTrials()}


def test_too_few_trials_tell_nothing(tmp_path: Path) -> None:
    go(tmp_path, a_plan(), Made(), runs=4, concurrency=1)
    assert read_earlier(str(tmp_path), ["made:m"]) == {"made:m": EarlierTrials(4, None, None)}


def test_the_last_line_of_a_history_counts(tmp_path: Path) -> None:
    path, given = tmp_path / HISTORY, typed(manifest([written_task("000", "one")]))
    known = record_values(history_lines(given, build_report(given, []), [])[0])
    assert read_controls(str(path), ["m"]) == {}

    def line(rate: Any, skill: Any = None, model: str = "m", **more: Any) -> str:
        figure = {"value": rate, "low": None, "high": None, "n": 0, "clusters": 0}
        record = known | {"model": model, "skill": skill, "control": figure}
        return json.dumps(record | more) + "\n"

    path.write_text(
        line(0.1) + line(0.9) + line(0.3, "s") + line(1.0, model="n") + line(0.7, kind="router") + line(None) + line(9)
        + line(True) + line("x") + line(0.2, 5) + '{"half\n[1]\n' + json.dumps({"kind": "effectiveness", "model": "m"}) + "\n",
    )  # fmt: skip
    assert read_controls(str(path), ["m"]) == {("m", None): 0.9, ("m", "s"): 0.3}
    path.unlink()
    path.mkdir()
    with pytest.raises(UsageError, match="cannot read"):
        read_controls(str(path), ["m"])


@pytest.mark.parametrize(
    ("price", "asked", "cap"),
    [(FREE, None, None), (FREE, 2.0, None), (None, None, None), (None, 2.0, 2.0), (PRICE, 0.5, 0.5)],
)
def test_caps_of_a_trial(price: Any, asked: float | None, cap: float | None) -> None:
    assert cap_of(price, asked) == cap
