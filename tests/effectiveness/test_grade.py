"""Trials of tasks with a rubric: what is decided, what stays open, and what a second look says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from effects_made import replace
from hypothesis import given
from hypothesis import strategies as st
from trial_bench import agent, cell, needs_bubblewrap, record, run, skill, task, verifier

from skill_health.documents.effect_criteria import CriterionVerdict, met_share
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.checks._api import make_check
from skill_health.effectiveness.rubric.model import Check, Criterion, make_rubric
from skill_health.effectiveness.run.rescore import rescore
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.tasks._api import Task, script
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.trial.trial import run_trial
from skill_health.effectiveness.workspace.scripts import ScriptOptions

pytestmark = pytest.mark.usefixtures("folder")

SAID = make_check("output_contains", text="done")
FILE = make_check("file_contains", path="out.txt", text="3")
RAN = make_check("command", command="test -f out.txt && test ! -e .agents && rm out.txt")


def graded(tmp_path: Path, *checks: Check | None, **more: Any) -> Task:
    criteria = [Criterion(f"c{nth}", "it is so", nth + 1.0, check=check) for nth, check in enumerate(checks)]
    return task(tmp_path, more.pop("verify", None), rubric=make_rubric(criteria), **more)


def tried(tmp_path: Path, made: Task, text: str, sandbox: str = "none") -> tuple[TrialResult, Path]:
    return run(tmp_path, cell(made, agent(text), sandbox, [skill("alpha")]))


def answers(result: TrialResult) -> list[str]:
    assert isinstance(result.criteria, tuple)
    return [each.answer for each in result.criteria]


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_criteria_that_are_all_met(tmp_path: Path, sandbox: str) -> None:
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    # The command deletes the file, and comes last all the same.
    result, place = tried(tmp_path, graded(tmp_path, RAN, SAID, FILE), "echo 3 > out.txt; echo done", sandbox)
    assert (result.outcome, result.reward, answers(result)) == ("pass", 1.0, ["met", "met", "met"])
    kept = record(place, "criteria.json")
    assert kept["reward"] == 1.0
    assert [each["by"] for each in kept["criteria"]] == ["command", "output_contains", "file_contains"]
    assert record(place, "verdict.json")["source"] == "criteria"


@pytest.mark.slow
def test_the_reward_is_the_met_share_of_what_could_be_decided(tmp_path: Path) -> None:
    absent = make_check("command", command="no-such-program-here")
    made = graded(tmp_path, SAID, FILE, absent, None)
    result, _ = tried(tmp_path, made, "echo done")
    assert answers(result) == ["met", "not_met", "cannot_tell", "not_judged"]
    assert (result.outcome, result.reward) == ("fail", pytest.approx(1 / 3))
    assert any("2 of 4 criteria decided" in note for note in result.notes)


@pytest.mark.slow
def test_judged_criteria_alone_leave_a_trial_unscored(tmp_path: Path) -> None:
    result, place = tried(tmp_path, graded(tmp_path, None, None), "echo done")
    assert (result.outcome, result.reward, result.success) == ("unjudged", None, None)
    assert not result.scored and result.finished and "2 wait for a judge" in result.error
    assert record(place, "criteria.json")["reward"] is None


@pytest.mark.slow
def test_the_use_of_a_skill_decides_only_where_nothing_else_does(tmp_path: Path) -> None:
    used = make_check("skill_used", skill="alpha")
    both, _ = tried(tmp_path, graded(tmp_path, used, SAID), "echo done")
    alone, _ = tried(tmp_path, graded(tmp_path, used, None), "echo done")
    bare, _ = run(tmp_path, cell(graded(tmp_path, used), agent("echo done"), "none"))
    assert (both.outcome, both.reward, answers(both)) == ("pass", 1.0, ["not_met", "met"])
    assert (alone.outcome, bare.outcome, answers(bare)) == ("fail", "unjudged", ["cannot_tell"])


@pytest.mark.slow
def test_a_verifier_decides_where_there_is_one(tmp_path: Path) -> None:
    result, _ = tried(tmp_path, graded(tmp_path, SAID, verify=verifier("exit 0")), "echo nothing")
    assert (result.outcome, result.reward, answers(result)) == ("pass", 1.0, ["not_met"])


@pytest.mark.slow
def test_a_workspace_cannot_lead_a_check_out(tmp_path: Path) -> None:
    text = "ln -s /etc/hostname out.txt; mkfifo pipe; mkdir d; ln -s / d/root; echo x"
    checks = [make_check("file_exists", path=path) for path in ("out.txt", "pipe", "d/root/etc/hostname", "d/root/**")]
    result, _ = tried(tmp_path, graded(tmp_path, *checks), text)
    assert answers(result) == ["not_met"] * 4


@pytest.mark.slow
def test_a_command_that_does_not_end_is_ended(tmp_path: Path) -> None:
    result, _ = tried(tmp_path, graded(tmp_path, make_check("command", command="sleep 60", seconds=0.3)), "echo x")
    assert answers(result) == ["not_met"]


@pytest.mark.slow
def test_files_of_commands_are_never_the_agents(tmp_path: Path) -> None:
    checking = script((), [File("t/look.sh", b"test -f out.txt && test ! -s out.txt")], 5.0, [("HERE", "t")])
    made = graded(tmp_path, make_check("command", command='bash "$HERE/look.sh"'), checking=checking)
    result, _ = tried(tmp_path, made, "find .. -name look.sh > out.txt")
    assert answers(result) == ["met"]


def kept_trial(tmp_path: Path, made: Task, text: str) -> tuple[TrialResult, Callable[[Task], Any]]:
    """The result of a trial that is kept as in a run, and how it is rescored by a task."""
    place = tmp_path / "run" / "trials" / "t"
    place.parent.mkdir(parents=True)
    before = asyncio.run(run_trial(cell(made, agent(text), "none", [skill("alpha")]), str(place)))

    def again(of: Task) -> Any:
        return asyncio.run(rescore(str(tmp_path / "run"), [before], {"t1": of}, ScriptOptions(back_end("none"))))[0]

    return before, again


@pytest.mark.slow
def test_rescore_decides_again_and_says_what_changed(tmp_path: Path) -> None:
    made = graded(tmp_path, SAID, FILE)
    before, again = kept_trial(tmp_path, made, "echo 4 > out.txt; echo done")
    now = graded(tmp_path, SAID, make_check("file_contains", path="out.txt", text="4"))
    same = again(made)
    assert (same.word, same.after) == ("same", before)
    changed = again(now)
    assert changed.word == "changed" and changed.after.outcome == "pass"
    assert "criterion c1 not_met -> met" in changed.reasons and changed.criteria.reward == 1.0
    assert made.verifier_digest != now.verifier_digest and made.digest == now.digest
    assert again(replace(made, rubric=None)).word == "skipped"


@pytest.mark.slow
def test_rescore_leaves_open_what_still_waits_for_a_judge(tmp_path: Path) -> None:
    made = graded(tmp_path, None, make_check("skill_used", skill="beta"))
    before, again = kept_trial(tmp_path, made, "echo x")
    assert before.outcome == "unjudged" and (again(made).word, again(made).after) == ("same", before)
    now = again(graded(tmp_path, None, SAID))
    assert (now.word, now.after.outcome, now.after.error) == ("changed", "fail", "")


VERDICTS = st.lists(
    st.builds(
        CriterionVerdict, id=st.just("c"), by=st.just("judge"), points=st.floats(0.1, 100),
        answer=st.sampled_from(["met", "not_met", "cannot_tell", "not_judged"]), group=st.sampled_from(["goal", "instruction"]),
    ), max_size=8,
)  # fmt: skip


@given(VERDICTS, st.floats(0, 1))
def test_the_share_leaves_out_what_is_missing(criteria: list[CriterionVerdict], weight: float) -> None:
    share = met_share(criteria, weight)
    decided = [each for each in criteria if each.answer in ("met", "not_met")]
    assert share == met_share(decided, weight)
    assert (share is None) == (not decided) and (share is None or 0 <= share <= 1)
    if decided and all(each.answer == "met" for each in decided):
        assert share == pytest.approx(1)
