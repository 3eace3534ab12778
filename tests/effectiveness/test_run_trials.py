"""The run loop against trials that are made up: results, retries, caps, stops, resumption."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import run_made
from effects_made import replace
from hypothesis import given
from hypothesis import strategies as st
from run_made import PRICE, TASKS, Made, a_model, a_plan, events, failing, go, open_journal, rows, the_run

from skill_health.bench.budget import Budget
from skill_health.bench.run_folder import find_place, load_result_records
from skill_health.core.errors import UsageError
from skill_health.documents._record import TokenUsage, convert_record, record_values
from skill_health.documents.effect_result import Invoked, Outcome, TrialResult
from skill_health.effectiveness.plan.plan import OF_TRIALS, TrialPlan
from skill_health.effectiveness.run.conduct import TrialRunner
from skill_health.effectiveness.run.runner import OUTAGE
from skill_health.effectiveness.run.runs import folder_of, read_result
from skill_health.effectiveness.trial.spec import TrialSpec

KEYS = 2 * (4 * 6 + 3)


def at(victim: tuple[str, str, str, int], **changes: Any) -> Callable[[TrialSpec, TrialResult], TrialResult]:
    """One trial comes to something else."""
    return lambda cell, result: replace(result, **changes) if cell.key == victim else result


def results(reports: Path) -> list[TrialResult]:
    return list(load_result_records(str(the_run(reports)), TrialResult))


@pytest.mark.slow
def test_every_key_has_one_result_in_canonical_order(tmp_path: Path) -> None:
    plan, trial = a_plan(a_model("made:a"), a_model("made:b")), Made()
    runner = go(tmp_path, plan, trial)
    assert (runner.left(), runner.stopped, runner.capped, runner.down) == (0, "", "", {})
    found = results(tmp_path)
    assert [result.key for result in found] == list(plan.keys())
    assert len(found) == 2 * KEYS == len(trial.made)
    assert {result.outcome for result in found} == {"pass", "fail"}
    starts, ends = (
        [(*event["key"], event["attempt"]) for event in events(tmp_path, kind)] for kind in ("start", "end")
    )
    assert sorted(starts) == sorted(ends) and len(starts) == len(set(starts))
    for result in found:
        assert result.folder == folder_of(result.key)
        assert (the_run(tmp_path) / result.folder / "trial.json").exists()


@pytest.mark.slow
def test_results_do_not_depend_on_concurrency(tmp_path: Path) -> None:
    seen = set()
    for concurrency in (1, 3, 64):
        go(tmp_path / str(concurrency), a_plan(), Made(seconds=0.001, also=failing(1)), concurrency=concurrency)
        seen.add((the_run(tmp_path / str(concurrency)) / "results.jsonl").read_bytes())
    assert len(seen) == 1


@pytest.mark.slow
def test_a_servers_own_limit_holds_and_so_does_that_of_all(tmp_path: Path) -> None:
    trial = Made(seconds=0.001)
    go(tmp_path / "a", a_plan(a_model(concurrency=3)), trial, concurrency=50)
    assert trial.peak == 3
    trial = Made(seconds=0.001)
    go(tmp_path / "b", a_plan(), trial, concurrency=5)
    assert trial.peak == 5


@pytest.mark.slow
def test_infrastructure_is_tried_three_times_and_counted_and_its_traces_are_kept(tmp_path: Path) -> None:
    def also(cell: TrialSpec, result: TrialResult) -> TrialResult:
        most = {"t00": 1, "t01": 2, "t02": 3}.get(cell.task.id, 0) if cell.arm.name == "target" else 0
        return failing(most)(cell, result)

    trial = Made(also=also)
    runner = go(tmp_path, a_plan(reps=1), trial)
    assert runner.left() == 0
    found = {result.key: result for result in results(tmp_path)}
    attempts = {key[0]: (result.outcome, result.attempts) for key, result in found.items() if key[2] == "target"}
    assert attempts["t00"][1] == 2 and attempts["t00"][0] in ("pass", "fail")
    assert attempts["t01"][1] == 3 and attempts["t01"][0] in ("pass", "fail")
    assert attempts["t02"] == ("infrastructure", 3)
    assert attempts["t03"][1] == 1
    assert len(trial.made) == KEYS // 2 + 5
    place = the_run(tmp_path) / found["t01", "made:m", "target", 0].folder
    for attempt, more in enumerate(("--attempt-1", "--attempt-2", ""), 1):
        assert json.loads((place.parent / f"{place.name}{more}" / "trial.json").read_text())[-1] == attempt
    ends = [event for event in events(tmp_path, "end") if event["key"][:3] == ["t02", "made:m", "target"]]
    assert [event["outcome"] for event in ends] == ["infrastructure"] * 3


@pytest.mark.slow
def test_missing_data_is_tried_again_by_name_and_what_counts_is_kept(tmp_path: Path) -> None:
    def also(cell: TrialSpec, result: TrialResult) -> TrialResult:
        return failing(9 if cell.arm.name == "target" and cell.replication else 0)(cell, result)

    plan = a_plan(tasks=TASKS[:3])
    go(tmp_path, plan, Made(also=also))
    missing = [result for result in results(tmp_path) if not result.scored]
    kept = {result.key for result in results(tmp_path)} - {result.key for result in missing}
    good = Made()
    runner = go(tmp_path, plan, good)
    assert runner.left() == 0
    assert {made[:4] for made in good.made} == {result.key for result in missing}
    # Earlier attempts are counted.
    assert {result.attempts for result in results(tmp_path) if result.key not in kept} == {4}


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["quota", "auth"])
def test_exhausted_credit_and_a_wrong_key_stop_the_run_and_keep_what_is_done(tmp_path: Path, stop: Any) -> None:
    plan = a_plan()
    victim = [planned.key for planned in plan.trials()][20]
    trial = Made(also=at(victim, outcome=stop, reward=None, error="the server says: enough"), seconds=0.001)
    runner = go(tmp_path, plan, trial)
    assert runner.stopped == f"{stop}: the server says: enough"
    found = {result.key for result in results(tmp_path)}
    assert victim not in found and 20 <= len(found) < 24
    assert len(trial.made) == len(events(tmp_path, "end")) == len(found) + 1
    better = Made()
    assert go(tmp_path, plan, better).left() == 0
    assert len(better.made) == KEYS - len(found)


def test_a_trial_whose_agent_saw_other_skills_stops_the_run(tmp_path: Path) -> None:
    plan = a_plan()
    victim = [planned.key for planned in plan.trials()][7]
    what = "sums-work is listed"
    runner = go(tmp_path, plan, Made(also=at(victim, outcome="infrastructure", error="odd", disagreement=what)))
    task, model, arm, _ = victim
    assert runner.disagreed == f"{model}, {arm}, task {task}: {what}" == runner.stopped
    assert victim not in {result.key for result in results(tmp_path)}
    assert [event["attempt"] for event in events(tmp_path, "start") if event["key"] == list(victim)] == [1]


@pytest.mark.slow
def test_a_model_that_never_comes_to_an_end_is_left_alone_and_the_others_go_on(tmp_path: Path) -> None:
    def also(cell: TrialSpec, result: TrialResult) -> TrialResult:
        return failing(9 if cell.choice.spec == "made:down" and cell.replication else 0)(cell, result)

    trial = Made(also=also)
    runner = go(tmp_path, a_plan(a_model("made:down"), a_model("made:up")), trial)
    assert list(runner.down) == ["made:down"]
    assert f" {OUTAGE} trials" in runner.down["made:down"] and "the server is gone" in runner.down["made:down"]
    tried = [made for made in trial.made if made[1] == "made:down" and made[3] == 1]
    assert 3 * OUTAGE <= len(tried) <= 3 * OUTAGE + 9
    found = Counter(result.model for result in results(tmp_path))
    assert found["made:up"] == KEYS and KEYS // 2 <= found["made:down"] < KEYS
    assert all(result.scored for result in results(tmp_path) if result.model == "made:up")


def first_fails(cell: TrialSpec, result: TrialResult) -> TrialResult:
    """The first attempt at each trial of the first replication fails."""
    return failing(1 if cell.replication == 0 else 0)(cell, result)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The results of a run without a cap."""
    root = tmp_path_factory.mktemp("whole")
    go(root, a_plan(), Made(also=first_fails))
    return (the_run(root) / "results.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("cap", [0, 1, 40, KEYS + 10])
def test_a_cap_on_trials_counts_every_attempt_and_a_larger_one_goes_on(tmp_path: Path, whole: bytes, cap: int) -> None:
    trial, again = Made(also=first_fails), Made(also=first_fails)
    runner = go(tmp_path / "run", a_plan(), trial, runs=cap)
    assert len(trial.made) == cap
    assert f" {cap} trials " in runner.capped and runner.left() > 0
    runner = go(tmp_path / "run", a_plan(), again, runs=KEYS * 3 // 2)
    assert len(again.made) == KEYS * 3 // 2 - cap, "an attempt that failed is not made again"
    assert (runner.left(), runner.capped) == (0, "")
    assert (the_run(tmp_path / "run") / "results.jsonl").read_bytes() == whole


@pytest.mark.slow
def test_a_budget_waits_for_what_trials_under_way_leave_of_their_reservations(tmp_path: Path) -> None:
    trial = Made(seconds=0.001, usd=0.02)
    runner = go(tmp_path, a_plan(a_model(price=PRICE, cap=0.5)), trial, usd=1.0)
    assert "$1.0000" in runner.capped and ": $0.5" in runner.capped
    assert len(trial.made) == 26, "0.52 are spent, and 0.5 more would pass the cap"
    assert trial.peak <= 2
    assert runner.budget.spent == pytest.approx(0.52)


def test_what_nobody_knows_the_cost_of_costs_what_was_reserved(tmp_path: Path) -> None:
    plan = a_plan(a_model(price=PRICE, cap=0.25))
    runner = go(tmp_path, plan, Made(usd=None), usd=1.0)
    assert (len(results(tmp_path)), runner.budget.spent) == (4, 1.0)
    with open_journal(tmp_path, plan) as journal:
        assert journal.past.usd == pytest.approx(1.0)


def test_what_a_free_agent_pretends_to_cost_is_not_spent(tmp_path: Path) -> None:
    runner = go(tmp_path, a_plan(a_model(), tasks=TASKS[:2], reps=1), Made(usd=5.0), usd=1.0)
    assert (runner.left(), runner.budget.spent, runner.capped) == (0, 0.0, "")
    assert {result.cost_usd for result in results(tmp_path)} == {5.0}


@pytest.mark.slow
def test_a_recorded_end_is_a_result_though_its_process_died(tmp_path: Path) -> None:
    """What a process wrote of a trial before it was killed is never paid for twice."""
    plan = a_plan()
    go(tmp_path / "whole", plan, Made())
    go(tmp_path / "run", plan, Made())
    kept, whole = (the_run(tmp_path / name) / "results.jsonl" for name in ("run", "whole"))
    lines = kept.read_bytes().splitlines(keepends=True)
    kept.write_bytes(b"".join(lines[:9]) + lines[9][:30])
    trial = Made()
    assert go(tmp_path / "run", plan, trial).left() == 0
    assert trial.made == []
    assert kept.read_bytes() == whole.read_bytes()


def interrupted(reports: Path, plan: TrialPlan, seconds: float, words: list[bool], usd: float | None) -> TrialRunner:
    """A run that was interrupted when three trials were under way; the words are what it answers to each time."""
    trial = Made(seconds=seconds)

    async def main(runner: TrialRunner) -> None:
        running = asyncio.create_task(runner.run(3, grace=5))
        while len(trial.made) < 3:
            await asyncio.sleep(0.001)
        assert [runner.interrupt() for _ in words] == words
        await running

    with open_journal(reports, plan) as journal:
        runner = TrialRunner(plan, journal, Budget(None, usd), trial)
        asyncio.run(main(runner))
    return runner


def test_an_attempt_that_is_abandoned_is_spent_and_has_no_result(tmp_path: Path) -> None:
    plan = a_plan(a_model(price=PRICE, cap=0.25))
    runner = interrupted(tmp_path, plan, 5, [True, False], 1.0)
    assert (runner.stopped, runner.budget.spent, runner.left()) == ("interrupted", 0.75, KEYS)
    assert [event["outcome"] for event in events(tmp_path, "end")] == ["cancelled"] * 3
    with open_journal(tmp_path, plan) as journal:
        assert (journal.past.attempts, journal.past.usd, journal.past.lost) == (3, 0.75, 0)


def test_trials_under_way_may_end_within_the_grace(tmp_path: Path) -> None:
    runner = interrupted(tmp_path, a_plan(), 0.05, [True], None)
    assert (runner.stopped, runner.left()) == ("interrupted", KEYS - 3)


def test_a_mistake_of_ours_in_a_trial_keeps_what_is_done(tmp_path: Path) -> None:
    def also(cell: TrialSpec, result: TrialResult) -> TrialResult:
        if cell.key == victim:
            raise ZeroDivisionError("ours")
        return result

    plan = a_plan()
    victim = [planned.key for planned in plan.trials()][9]
    with pytest.raises(ZeroDivisionError):
        go(tmp_path, plan, Made(also=also), concurrency=1)
    assert len(results(tmp_path)) == 9


def test_what_a_killed_process_left_where_a_trial_shall_lie_is_removed(tmp_path: Path) -> None:
    plan = a_plan(tasks=TASKS[:1], arms=("control", "target"), reps=1)
    go(tmp_path, plan, Made(), runs=0)
    half = the_run(tmp_path) / folder_of(next(plan.keys()))
    half.mkdir(parents=True)
    (half / "left.txt").write_text("half")
    go(tmp_path, plan, Made())
    assert [path.name for path in half.iterdir()] == ["trial.json"]


def test_cells_hold_what_the_plan_says(tmp_path: Path) -> None:
    trial, arms = Made(), ("control", "target", "full+hint", "placebo")
    go(tmp_path, a_plan(tasks=TASKS[:2], arms=arms, reps=1, timeout_sec=7.0), trial)
    by_arm = {cell.arm.name: cell for cell in trial.cells if cell.task.id == "t01"}
    assert [copy.name for copy in by_arm["target"].skills] == ["notes-work"]
    assert by_arm["control"].prompt == by_arm["target"].prompt == "Do 1."
    assert "maps-work, notes-work, sums-work, tides-work" in by_arm["full+hint"].prompt
    assert by_arm["placebo"].skills[0].placebo
    assert {cell.limits.timeout_sec for cell in trial.cells} == {7.0}
    assert {tuple(cell.collection) for cell in trial.cells} == {run_made.SKILLS}
    alike = {
        repr(replace(cell, arm=by_arm["control"].arm, skills=(), prompt="", replication=0)) for cell in by_arm.values()
    }
    assert len(alike) == 1, "arms differ in nothing but the staged skills and the hint"


DAMAGE: dict[str, dict[str, Any]] = {
    "outcome": {"outcome": "won"}, "invoked": {"invoked": 1}, "attempts": {"attempts": 0}, "rep": {"replication": -1},
    "reward": {"reward": float("nan")}, "cost": {"cost_usd": -1}, "skills": {"skills": ["a"]}, "usage": {"usage": {"x": 1}},
    "notes": {"notes": "text"}, "seen": {"seen": 5}, "turns": {"turns": True}, "rewards": {"rewards": [1]}, "task": {"task_id": 3},
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_result_is_none_and_is_tried_again(tmp_path: Path, name: str) -> None:
    plan = a_plan(tasks=TASKS[:1], arms=("control", "target"), reps=1)
    go(tmp_path, plan, Made())
    path = the_run(tmp_path) / "results.jsonl"
    first, second = rows(path)
    with pytest.raises(ValueError):
        read_result(first | DAMAGE[name])
    path.write_text(json.dumps(first | DAMAGE[name]) + "\n" + json.dumps(second) + "\n", "utf-8")
    attempts = the_run(tmp_path) / "attempts.jsonl"
    attempts.write_bytes(b"")
    trial = Made()
    assert go(tmp_path, plan, trial).left() == 0
    assert len(trial.made) == 1
    assert rows(path) == [first, second]


def test_a_changed_run_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    go(tmp_path, a_plan(), Made(), runs=5)
    folder = the_run(tmp_path)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    other = run_made.manifest_of(
        a_plan(skills=[run_made.skill("maps-work", "Else."), *map(run_made.skill, run_made.SKILLS[1:])])
    )
    with pytest.raises(UsageError, match=r"hash of skills differs \(changed: maps-work\).*hash of staged"):
        find_place(str(tmp_path), other, run_made.TIME, OF_TRIALS, folder.name)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert find_place(str(tmp_path), other, run_made.TIME, kind=OF_TRIALS).stored is None, "it is a run of its own"
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["staged"]["t00"]["target"] = ["sums-work"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UsageError, match="is damaged"):
        find_place(str(tmp_path), run_made.manifest_of(a_plan()), run_made.TIME, OF_TRIALS, folder.name)


texts = st.text(max_size=20)
counts = st.none() | st.integers(0, 10**9)
amounts = st.none() | st.floats(0, 1e9)


@given(
    st.builds(
        TrialResult, texts, texts, texts, st.integers(0, 99), st.sampled_from(get_args(Outcome)), reward=amounts,
        rewards=st.dictionaries(texts, st.floats(0, 1), max_size=3), exit_code=st.none() | st.integers(-64, 255),
        stop_reason=st.none() | texts, usage=st.builds(TokenUsage, counts, counts, counts), usage_source=st.sampled_from(("", "agent", "gateway")),
        cost_usd=amounts, turns=counts, duration_ms=amounts, invoked=st.sampled_from(get_args(Invoked)),
        invocations=st.tuples(texts), evidence=st.tuples(texts), skills=st.tuples(st.tuples(texts, texts)),
        seen=st.none() | st.tuples(texts), changed=counts, attempts=st.integers(1, 9), folder=texts, notes=st.tuples(texts, texts),
    )
)  # fmt: skip
def test_a_result_comes_back_from_its_line_as_it_was(result: TrialResult) -> None:
    assert convert_record(json.loads(json.dumps(record_values(result))), TrialResult) == result


names = st.sampled_from(("task_id", "outcome", "usage", "skills", "rewards", "x"))
plain = st.none() | st.booleans() | st.integers() | texts


@given(st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3)))
def test_what_is_no_result_is_said_and_is_missing(data: Any) -> None:
    with pytest.raises(ValueError):
        read_result(data)
    assert not isinstance(data, dict) or OF_TRIALS.missing(data)
