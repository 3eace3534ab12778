"""Results of other harnesses: what is read, what is left open, and what is left out with a line that says why."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from published_made import evaluator, grading, harbor, inspect_log, job, lines, put, row, rows, vally, waza

from skill_health.core.errors import UsageError
from skill_health.effectiveness.published import _load as published
from skill_health.effectiveness.published._api import MOST_IN_CELL, PublishedTrial
from skill_health.effectiveness.published._load import PublishedResults, load_published, named_side


def load(path: Path, **names: tuple[str, ...]) -> PublishedResults:
    return load_published([str(path)], published.Conditions(**names))


def trials(found: PublishedResults, side: str | None = None) -> list[PublishedTrial]:
    return [each.trial for group in found.groups for each in group.trials if side in (None, each.side)]


def outcomes(found: PublishedResults, side: str | None = None) -> dict[str, int]:
    return dict(Counter(trial.outcome for trial in trials(found, side)))


@pytest.mark.parametrize(("label", "side"), [
    ("No Skills", "control"), ("no_skills", "control"), ("tasks-no-skills", "control"), ("noskills", "control"),
    ("without_skill", "control"), ("withoutSkill", "control"), ("baseline", "control"), ("control", "control"),
    ("With Skills", "target"), ("with_skill", "target"), ("skills", "target"), ("skill", "target"), ("target", "target"),
    ("terminus-2-gemini3flash-skills-abc", "target"), ("old_skill", None), ("previous-skills", None), ("tasks", None),
    ("skillsbench", None), ("skill-writer__abc", None), ("baselines", None), ("", None), ("É no \x00", None),
])  # fmt: skip
def test_conditions_are_known_by_their_names(label: str, side: str | None) -> None:
    assert named_side(label) == side


def test_what_the_user_says_of_a_condition_goes_first(tmp_path: Path) -> None:
    file = put(tmp_path, "r.json", [row("a", "plain", 1), row("a", "No Skills", 2), row("a", "v2", 3)])
    found = load(file, control=("PLAIN",), target=("v2", "no skills"))
    assert (len(trials(found, "control")), len(trials(found, "target")), found.problems) == (3, 6, ())
    found = load(file)
    assert len(trials(found)) == 3
    assert [line for line in found.problems if "'plain'" in line and "--control" in line and "3 trials" in line]


def test_a_registry_row_is_so_many_trials(tmp_path: Path) -> None:
    made = [row("a", "With Skills", 2, perfectCount=1), row("a", "No Skills", 0, trials=0)]
    found = load(put(tmp_path, "r.json", made))
    assert [(trial.outcome, trial.full) for trial in trials(found)] == [("pass", True), ("pass", False), ("fail", None)]
    assert {trial.model for trial in trials(found)} == {"Loop (m)"}
    # What a count cannot say is not known, and no zero.
    assert {(trial.reward, trial.cost_usd, trial.input_tokens, trial.invoked) for trial in trials(found)} == {
        (None, None, None, "not_observable")
    }
    other = row("a", "With Skills", 1, "m", harness="Other", perfectCount=None)
    assert trials(load(put(tmp_path, "o.json", [other])))[0].model == "Other (m)"


BAD_ROWS: list[tuple[Any, str]] = [
    (row("a", "With Skills", 4), "row 1: 4 of 3 trials pass"),
    (row("a", "With Skills", 1, perfectCount=2), "1 of 3 trials pass, 2 in full"),
    (row("a", "With Skills", -1), "row 1: passCount"),
    (row("a", "With Skills", 1, trials=10**18), "trials: expected int <= 1000"),
    (row("a", "With Skills", 1, trials=10**400), "trials"),
    (row("a", "With Skills", 1, trials=2.5), "trials"),
    (row("a", "With Skills", 1, trials="3"), "trials"),
    (row("a", "With Skills", 1, trials=None), "trials"),
    (row("a", "With Skills", True), "passCount"),
    (row(" ", "With Skills", 1), "task"),
    (row("a" * 301, "With Skills", 1), "task"),
    (row("a", "", 1), "condition"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_ROWS)
def test_a_row_that_cannot_be_is_left_out(tmp_path: Path, bad: Any, message: str) -> None:
    found = load(put(tmp_path, "r.json", [bad, row("b", "With Skills", 3)]))
    assert outcomes(found) == {"pass": 3}
    (line,) = found.problems
    assert message in line and "left out" in line


def test_a_second_row_for_the_same_is_left_out(tmp_path: Path) -> None:
    found = load(put(tmp_path, "r.json", [row("a", "With Skills", 3), row("a", "With Skills", 0), {"task": 1}, 7]))
    assert outcomes(found) == {"pass": 3}
    assert "row 2: a second row for a, Loop (m), With Skills" in found.problems[0] and len(found.problems) == 3


BROKEN = [
    ('{"a": NaN}', "NaN is not JSON"), ('[{"a": 1e999}]', "too large"), ('{"a": 1, "a": 2}', "stands twice"),
    ("[" * 100_000, "nested"), ('{"a": ' + "9" * 5_000 + "}", "many digits"), ('{"a": "\\ud800"}', "surrogate"),
    ("", "not JSON"), ("{} x", "follows"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_a_broken_file_gives_one_line(tmp_path: Path, text: str, message: str) -> None:
    bad = put(tmp_path, "runs/bad.json", text)
    with pytest.raises(UsageError, match="cannot read") as caught:
        load(bad)
    assert message in str(caught.value)
    put(tmp_path, "runs/good.json", rows())
    (line,) = load(tmp_path / "runs").problems
    assert line.startswith("runs/bad.json: ") and message in line


def test_files_that_are_no_results(tmp_path: Path) -> None:
    other = put(tmp_path, "runs/package.json", {"name": "x"})
    with pytest.raises(UsageError, match="is no result that can be read; what can be: "):
        load(other)
    with pytest.raises(UsageError, match=re.escape(str(tmp_path / "runs"))):
        load(tmp_path / "runs")
    with pytest.raises(UsageError, match="gone"):
        load(tmp_path / "gone")
    put(tmp_path, "runs/good.json", rows())
    assert load(tmp_path / "runs").passed_over == 1
    (tmp_path / "runs" / "latin.json").write_bytes(b'{"a": "\xe4"}')
    assert "not UTF-8" in load(tmp_path / "runs").problems[0]


def test_links_and_hidden_folders_below_a_folder_are_left_alone(tmp_path: Path) -> None:
    outside = put(tmp_path, "outside/r.json", rows())
    put(tmp_path, "runs/.cache/r.json", rows())
    (tmp_path / "runs" / "link.json").symlink_to(outside)
    (tmp_path / "runs" / "folder").symlink_to(outside.parent)
    (tmp_path / "runs" / "self.json").symlink_to("self.json")
    with pytest.raises(UsageError, match=re.escape(str(tmp_path / "runs"))):
        load(tmp_path / "runs")
    assert len(trials(load(tmp_path / "runs" / "link.json"))) == 60


def test_the_same_file_counts_once_however_it_is_named(tmp_path: Path) -> None:
    one = put(tmp_path, "a.json", rows())
    found = load_published([str(one), str(tmp_path), f"{tmp_path}/../{tmp_path.name}/a.json"])
    assert (len(trials(found)), found.problems) == (60, ())
    put(tmp_path, "copy/b.json", rows())
    found = load_published([str(tmp_path)])
    assert len(trials(found)) == 60 and "the same bytes as" in found.problems[0]


def test_only_the_folders_next_to_a_named_file_say_its_condition(tmp_path: Path) -> None:
    file = put(tmp_path, "skills/benchmark/run/a__1/result.json", harbor("a__1", 1.0))
    with pytest.raises(UsageError, match="nothing says whether the skill was there"):
        load(file)
    assert outcomes(load(file, target=("run",))) == {"pass": 1}


def test_the_order_of_paths_does_not_matter(tmp_path: Path) -> None:
    names = [str(put(tmp_path, f"{name}.json", rows(model=f"Loop ({name})"))) for name in "cab"]
    assert load_published(names) == load_published(names[::-1])


def test_a_cell_holds_only_so_many_trials(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path, f"{number}.json", [row("a", "With Skills", number, trials=MOST_IN_CELL // 2)])
    found = load(tmp_path)
    assert len(trials(found)) == MOST_IN_CELL
    assert ["more than 1,000 trials" in line for line in found.problems] == [True]


# Harbor


def test_harbor_trials_by_the_folder_of_their_job(tmp_path: Path) -> None:
    put(tmp_path, "runs/no_skills/a__1/result.json", harbor("a__1", 0.0, "tasks-no-skills"))
    put(tmp_path, "runs/skills/a__2/result.json", harbor("a__2", 1.0))
    put(tmp_path, "runs/skills/b__1/result.json", harbor("b__1", 0.75))
    timed = {"exception_info": {"exception_type": "AgentTimeoutError"}}
    put(tmp_path, "runs/skills/c__1/result.json", harbor("c__1", 1.0, **timed))
    broken = {"exception_info": {"exception_type": "RuntimeError"}}
    put(tmp_path, "runs/skills/d__1/result.json", harbor("d__1", None, **broken))
    put(tmp_path, "runs/skills/no-skills__1/result.json", harbor("no-skills__1", 1.0))
    found = load(tmp_path / "runs")
    assert outcomes(found, "control") == {"fail": 1}
    # An agent out of time has not succeeded, and a trial without a reward is missing, not 0.
    assert outcomes(found, "target") == {"pass": 2, "fail": 1, "timeout": 1, "infrastructure": 1}
    last = next(trial for trial in trials(found) if trial.task == "d")
    assert (last.reward, last.error, last.model) == (None, "RuntimeError", "loop (m)")
    # Harbor says 0 where an agent does not say what it wrote.
    assert (last.input_tokens, last.output_tokens, last.cost_usd) == (10, None, None)
    assert found.problems == ()


@pytest.mark.parametrize(("span", "duration_ms"), [
    ({"started_at": "2026-01-01T10:00:00.250Z", "finished_at": "2026-01-01T10:01:00Z"}, 59_750.0),
    ({"started_at": "2026-01-01T10:00:00+01:00", "finished_at": "2026-01-01T10:00:00Z"}, 3_600_000.0),
    ({"started_at": "2026-01-01T10:00:01Z", "finished_at": "2026-01-01T10:00:00Z"}, None),
    ({"started_at": "2026-01-01T10:00:01Z", "finished_at": "2026-01-01T10:00:02"}, None),
    ({"started_at": "2026-01-01T10:00:01Z"}, None),
    ({"started_at": "soon", "finished_at": "later"}, None),
    (None, None),
])  # fmt: skip
def test_how_long_the_agent_of_a_harbor_trial_took(
    tmp_path: Path, span: dict[str, str] | None, duration_ms: float | None
) -> None:
    put(tmp_path, "skills/a__1/result.json", harbor("a__1", 1.0, agent_execution=span))
    (trial,) = trials(load(tmp_path / "skills"))
    assert (trial.duration_ms, trial.outcome) == (duration_ms, "pass")


def test_a_harbor_job_stands_in_for_trials_that_have_no_folder(tmp_path: Path) -> None:
    put(tmp_path, "runs/skills/a__1/result.json", harbor("a__1", 1.0))
    summary = job({"1.0": ["a__1", "a__2", "../c__1"], "0.0": ["b__1"]}, {"AgentTimeoutError": ["b__1"], "X": ["b__2"]})
    put(tmp_path, "runs/skills/result.json", summary)
    found = load(tmp_path / "runs")
    assert sorted((trial.identity, trial.outcome) for trial in trials(found)) == [
        ("../c__1", "pass"), ("a__1", "pass"), ("a__2", "pass"), ("b__1", "timeout"), ("b__2", "infrastructure"),
    ]  # fmt: skip
    assert {trial.model for trial in trials(found)} == {"loop (m)"}


@pytest.mark.parametrize("text", ["nan", "inf", "1e400", "much", ""])
def test_a_reward_that_is_no_number_is_left_out(tmp_path: Path, text: str) -> None:
    found = load(put(tmp_path, "result.json", job({text: ["a__1", "b__1"], "1.0": ["c__1"]}, dataset="no-skills")))
    assert [trial.task for trial in trials(found)] == ["c"]
    assert "is no reward; its 2 trials are left out" in found.problems[0]


def test_a_trial_counts_once_on_its_side(tmp_path: Path) -> None:
    put(tmp_path, "runs/skills/one/a__1/result.json", harbor("a__1", 1.0))
    put(tmp_path, "runs/skills/two/a__1/result.json", harbor("a__1", 0.0))
    found = load(tmp_path / "runs")
    assert len(trials(found)) == 1 and "the trial a__1 a second time" in found.problems[0]


# CTRF


def ctrf(passed: int, failed: int, skipped: int = 0) -> dict[str, Any]:
    summary = {"tests": passed + failed + skipped, "passed": passed, "failed": failed, "skipped": skipped}
    return {"results": {"tool": {"name": "pytest"}, "summary": {**summary, "pending": 0, "other": 0}, "tests": []}}


def test_ctrf_counts_tests_with_a_verdict(tmp_path: Path) -> None:
    for name, report in {"a__1": ctrf(2, 0, 5), "b__1": ctrf(1, 1), "c__1": ctrf(0, 0, 3)}.items():
        put(tmp_path, f"m+loop/skills/{name}/verifier/ctrf.json", report)
    found = load(tmp_path)
    got = {trial.task: (trial.outcome, trial.reward, trial.model) for trial in trials(found)}
    assert got == {"a": ("pass", 1.0, "m+loop"), "b": ("fail", 0.5, "m+loop"), "c": ("infrastructure", None, "m+loop")}


def test_the_ctrf_report_of_a_harbor_trial_is_a_part_of_it(tmp_path: Path) -> None:
    put(tmp_path, "skills/a__1/verifier/ctrf.json", ctrf(0, 1))
    put(tmp_path, "skills/a__1/result.json", harbor("a__1", 1.0))
    assert outcomes(load(tmp_path / "skills")) == {"pass": 1}
    with pytest.raises(UsageError, match="says which task"):
        load(put(tmp_path, "lost/ctrf.json", ctrf(1, 0)))


# NVIDIA Skill Evaluator


def test_claims_of_the_skill_evaluator(tmp_path: Path) -> None:
    skills = {"plums": ("PASS", 8), "figs": ("FAIL", None), "nuts": ("PASS", 3)}
    results = [
        {"catalog_dir": "plums", "num": 4, "score_pct": 90, "uplift_pct": 40},
        {"catalog_dir": "plums", "dimension": "Security", "num": 4, "score_pct": 100, "uplift_pct": 0},
        {"catalog_dir": "nuts", "num": None, "score_pct": None, "uplift_pct": -5},
        {"catalog_dir": "nuts", "num": 6, "agent": "b", "score_pct": 10, "uplift_pct": 10**9},
        {"catalog_dir": "gone", "num": 6, "score_pct": 10, "uplift_pct": 1},
        {"catalog_dir": "plums", "num": 8, "score_pct": 10, "uplift_pct": 1},
    ]
    found = load(put(tmp_path, "benchmarks.json", evaluator(skills, results)))
    claims = {(claim.skill, claim.model): claim for claim in found.groups[0].claims}
    plums, nuts, figs = (claims[key] for key in (("plums", "a"), ("nuts", "a"), ("figs", None)))
    assert (plums.label, plums.delta, plums.tasks, plums.label_tasks) == ("PASS", 0.4, 4, 8)
    assert (plums.with_rate, plums.without_rate) == (0.9, 0.5)
    assert (nuts.delta, nuts.tasks, nuts.with_rate, nuts.without_rate) == (-0.05, 3, None, None)
    assert (figs.label, figs.delta, figs.tasks) == ("FAIL", None, None)
    assert len(claims) == 3 and len(found.problems) == 3


# waza


def test_waza_with_its_baseline(tmp_path: Path) -> None:
    runs = {"a": ["passed", "failed"], "b": ["error", "passed"], "c": ["n/a"]}
    made = waza(runs, {"a": ["failed"]}, session_digest={"tools_used": ["skill"]})
    found = load(put(tmp_path, "no-skills/w.json", made))
    # The baseline within the file says which side is which, whatever folder it lies in.
    assert outcomes(found, "target") == {"pass": 2, "fail": 1, "infrastructure": 1}
    (control,) = trials(found, "control")
    assert (control.outcome, control.invoked, control.skill, control.model) == ("fail", "yes", "plums", "loop (m)")
    assert found.groups[0].claims[0].delta == 0.0
    assert "a run that is 'n/a'" in found.problems[0]


def test_waza_without_a_baseline_is_with_the_skill_unless_its_folder_says_otherwise(tmp_path: Path) -> None:
    file = put(tmp_path, "runs/now/w.json", waza({"a": ["passed"]}))
    assert outcomes(load(file), "target") == {"pass": 1}
    put(tmp_path, "runs/baseline/w.json", waza({"a": ["failed"]}))
    assert outcomes(load(tmp_path / "runs"), "control") == {"fail": 1}
    with pytest.raises(UsageError, match="expected object, got int"):
        load(put(tmp_path, "bad.json", {"eval_id": "e", "skill": "s", "config": 1, "tasks": []}))


# Agent Skills evals


def test_gradings_by_their_folders(tmp_path: Path) -> None:
    put(tmp_path, "it/eval-a/with_skill/grading.json", grading(True, True))
    put(tmp_path, "it/eval-a/with_skill/timing.json", {"total_tokens": 5, "duration_ms": 1200})
    put(tmp_path, "it/eval-a/without_skill/run-1/grading.json", grading(True, False, key="expectations"))
    put(tmp_path, "it/eval-b/without_skill/grading.json", grading())
    put(tmp_path, "it/eval-b/old_skill/grading.json", grading(True))
    side = {"pass_rate": {"mean": 1.0}}
    put(tmp_path, "it/benchmark.json", {"run_summary": {"with_skill": side, "without_skill": {"pass_rate": 0.25}}})
    found = load(tmp_path / "it")
    assert [(each.task, each.outcome, each.reward, each.duration_ms) for each in trials(found, "target")] == [
        ("eval-a", "pass", 1.0, 1200.0)
    ]
    assert [(each.task, each.outcome, each.reward) for each in trials(found, "control")] == [
        ("eval-a", "fail", 0.5), ("eval-b", "infrastructure", None),
    ]  # fmt: skip
    assert found.groups[0].claims[0].delta == 0.75


def test_the_runs_of_a_benchmark_stand_in_for_gradings(tmp_path: Path) -> None:
    runs = [
        {"eval_id": 1, "configuration": "with_skill", "run_number": 1, "result": {"passed": 2, "total": 2}},
        {"eval_id": 1, "configuration": "without_skill", "run_number": 1, "result": {"passed": 1, "total": 2}},
        {"eval_id": 1, "configuration": "without_skill", "run_number": 1, "result": {"passed": 1, "total": 2}},
        {"eval_id": 1, "configuration": "with_skill", "run_number": 2, "result": {"passed": 3, "total": 2}},
        {"eval_id": 1, "configuration": "with_skill", "run_number": 3, "result": {"passed": "all"}},
    ]
    whole = {"run_summary": {"with_skill": {"pass_rate": 1}}, "runs": runs}
    found = load(put(tmp_path, "benchmark.json", whole))
    assert (outcomes(found, "target"), outcomes(found, "control")) == ({"pass": 1}, {"fail": 1})
    assert len(found.problems) == 3 and found.groups[0].claims[0].delta is None


# Inspect


def test_inspect_logs(tmp_path: Path) -> None:
    put(tmp_path, "a.json", inspect_log("with skill", ["C", "I", "P", "N", True, 0, 1.0, "odd", None]))
    put(tmp_path, "b.json", inspect_log("without skill", ["C"], error={"message": "lost"}))
    put(tmp_path, "c.json", inspect_log("without skill", ["C", "C"], limit={"type": "time"}))
    put(tmp_path, "d.json", inspect_log("without skill", ["I"], id="x", limit={"type": "token"}, scores=None))
    found = load(tmp_path)
    assert outcomes(found, "target") == {"pass": 3, "fail": 4, "infrastructure": 2}
    assert outcomes(found, "control") == {"infrastructure": 2, "timeout": 2}
    assert {trial.task for trial in trials(found, "target")} >= {"t/s0", "t/s8"}


def test_an_inspect_archive_needs_inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.eval"
    path.write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(UsageError, match=r"install inspect_ai, or write the log as JSON with `inspect log convert"):
        load(path)

    class Log:
        def model_dump_json(self, exclude_none: bool) -> str:
            return json.dumps(inspect_log("with skill", ["C"]))

    reader = ModuleType("inspect_ai.log")
    monkeypatch.setitem(sys.modules, "inspect_ai.log", reader)
    monkeypatch.setattr(reader, "read_eval_log", lambda path: Log(), raising=False)
    assert outcomes(load(path)) == {"pass": 1}

    def fails(path: str) -> None:
        raise RuntimeError("no header")

    monkeypatch.setattr(reader, "read_eval_log", fails)
    with pytest.raises(UsageError, match="Inspect's reader says: no header"):
        load(path)


# Whatever a file holds


def test_trials_of_vally(tmp_path: Path) -> None:
    metrics = {
        "tokenUsage": {"inputTokens": 10, "outputTokens": 5, "cacheReadTokens": 2, "byModel": {}},
        "toolCallCount": 3, "skillActivationCount": 1, "turnCount": 2, "wallTimeMs": 99.0,
    }  # fmt: skip
    around = {"executor": "copilot-sdk", "model": "m", "skillsLoaded": ["plums"], "startedAt": "2026-11-01T00:00:00Z"}
    late = {"trajectory": {"id": "t9", "endReason": "agent_timeout"}}
    summary = {"type": "run-summary", "passed": True}
    with_ = [
        *vally("skilled", [True, False], trajectory={"metrics": metrics, "metadata": around, "stimulus": {"tags": {}}}),
        *vally("skilled", [True], "b", **late), *vally("skilled", [None], "c", error="no answer"),
        *vally("skilled", [True], "d", gradeResult=None), *vally("skilled", [True], "e", status="skipped"),
        *vally("skilled", [True], "a"), *vally("skilled", [True], "f", gradeResult={"passed": True, "score": 0.75}), summary,
    ]  # fmt: skip
    put(tmp_path, "runs/skilled/results.jsonl", lines(with_) + '{"type": "trial-res')
    put(tmp_path, "runs/baseline/results.jsonl", lines(vally("baseline", [False, True])))
    put(tmp_path, "runs/skilled/run-summary.jsonl", lines([summary]))
    put(tmp_path, "runs/skilled/log.jsonl", "started\n")
    found = load(tmp_path / "runs")
    assert outcomes(found, "control") == {"fail": 1, "pass": 1}
    assert outcomes(found, "target") == {"pass": 2, "fail": 1, "timeout": 1, "infrastructure": 1, "unjudged": 1}
    first = trials(found, "target")[0]
    assert (first.task, first.skill, first.model) == ("plums: a", "plums", "copilot-sdk (m)")
    assert (first.input_tokens, first.output_tokens, first.cached_tokens, first.duration_ms) == (10, 5, 2, 10.5)
    assert (first.turns, first.tool_calls, first.invoked, first.started) == (2, 3, "yes", "2026-11-01T00:00:00Z")
    # What nobody says is not known, and no zero; and a pass below the full score is not a full one.
    other = next(trial for trial in trials(found, "target") if trial.task == "plums: f")
    assert (other.invoked, other.turns, other.full, other.reward) == ("not_observable", None, False, 0.75)
    said = "\n".join(found.problems)
    assert "line 10: " in said and "is 'skipped'; it is left out" in said and found.passed_over == 2


def test_a_run_of_vally_says_by_its_skills_which_side_it_is(tmp_path: Path) -> None:
    around = {"trajectory": {"metadata": {"skillsLoaded": ["plums"]}}}
    one = put(tmp_path, "x/2026/results.jsonl", lines(vally("main", [True], **around)))
    assert outcomes(load(one), "target") == {"pass": 1}
    # That none is listed is no sign that there was none.
    empty = {"trajectory": {"metadata": {"skillsLoaded": []}}}
    two = put(tmp_path, "y/2026/results.jsonl", lines(vally("main", [True], **empty)))
    with pytest.raises(UsageError, match=r"results\.jsonl"):
        load(two)
    assert outcomes(load(two, control=("2026",)), "control") == {"pass": 1}
    assert trials(load(two, control=("2026",)))[0].model == "vally (m)"


BAD_LINES: list[tuple[dict[str, Any], str]] = [
    ({"gradeResult": {"passed": "yes"}}, "gradeResult.passed"),
    ({"gradeResult": {"passed": True, "score": 7}}, "score"),
    ({"stimulus": ""}, "stimulus"),
    ({"trialIndex": -1}, "trialIndex"),
    ({"trialIndex": 0}, "a second time"),
    ({"trajectory": 5}, "trajectory"),
    ({"status": "\x1b[31m", "trialIndex": 1}, "[31m"),
]


@pytest.mark.parametrize(("bad", "message"), BAD_LINES)
def test_a_line_of_vally_that_cannot_be_is_left_out(tmp_path: Path, bad: dict[str, Any], message: str) -> None:
    made = [*vally("skilled", [True]), *vally("skilled", [True, True], **bad)][:2]
    found = load(put(tmp_path, "skilled/results.jsonl", lines(made)))
    assert outcomes(found) == {"pass": 1}
    assert message in found.problems[0] and "\x1b" not in found.problems[0]


KEYS = [
    "task", "model", "condition", "trials", "passCount", "stats", "evals", "reward_stats", "exception_stats", "results", "tool",
    "summary", "skills", "skill_count", "eval_id", "skill", "config", "tasks", "run_summary", "runs", "version", "status", "eval",
    "samples", "trial_name", "task_name", "agent_info", "with_skill", "model_id", "test_id", "baseline_outcome", "name",
]  # fmt: skip
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    PLAIN | st.sampled_from(["", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=8),
    max_leaves=20,
)
HEADS: list[dict[str, Any] | list[Any]] = [
    rows(), job({"1.0": ["a__1"]}), harbor("a__1", 1.0), ctrf(1, 1), evaluator({"a": ("PASS", 1)}, []), waza({"a": ["passed"]}, {}),
    inspect_log("skills", ["C"]), {"run_summary": {"with_skill": {"pass_rate": 1}}, "runs": []},
]  # fmt: skip


def test_each_format_has_a_file_here(tmp_path: Path) -> None:
    titles = {load(put(tmp_path, f"skills/a__{at}/result.json", head)).files[0].title for at, head in enumerate(HEADS)}
    found = load(put(tmp_path, "v/baseline/results.jsonl", lines(vally("baseline", [True])))).files[0]
    assert {*titles, found.title} == {form.TITLE for form in published.result_formats()}


@given(st.data())
def test_no_file_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    value = json.loads(json.dumps(data.draw(st.sampled_from(HEADS))))
    for _ in range(data.draw(st.integers(0, 3))):
        inner = value
        while isinstance(inner, dict | list) and inner:
            key = data.draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner))))
            if data.draw(st.booleans()):
                inner[key] = data.draw(JSON)
                break
            inner = inner[key]
    file = put(tmp_path_factory.mktemp("any"), "skills/a__1/result.json", value)
    try:
        found = load(file)
    except UsageError as error:
        assert str(error)
    else:
        assert sum(each.trials + each.claims for each in found.files) > 0
