"""Which trial is looked at, and what is shown of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from growth import is_linear, lines_run
from hypothesis import given, settings
from hypothesis import strategies as st
from trial_made import HOSTILE, RUN, line, trajectory, write_run, write_trial

from skill_health.page.skill.budget import HtmlBudget, cut, fitted, from_file, price
from skill_health.page.skill.trials import (
    DEAREST,
    MOST_LINES,
    MOST_STEPS,
    ROOM,
    Steps,
    TrialView,
    ViewLimits,
    diff,
    steps,
    trial_view,
)
from skill_health.trials.kept_files import ReportFolders
from skill_health.trials.results import Trial, of_tasks, read_trials, worst

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
PART = JSON | st.fixed_dictionaries({}, optional={"function_name": JSON, "arguments": JSON, "content": JSON})
STEP = st.fixed_dictionaries(
    {},
    optional={
        "source": JSON, "message": JSON, "reasoning_content": JSON, "tool_calls": JSON | st.lists(PART, max_size=3),
        "observation": JSON | st.fixed_dictionaries({"results": JSON | st.lists(PART, max_size=3)}),
    },
)  # fmt: skip
STORY = JSON | st.fixed_dictionaries({"steps": JSON | st.lists(JSON | STEP, max_size=6)})


def shelf(folder: Path) -> ReportFolders:
    return ReportFolders(str(folder), str(folder))


def look(reports: Path, files: dict[str, bytes], **more: Any) -> TrialView:
    told = line(**more)
    write_trial(write_run(reports, [told]), told, files)
    ((trial,),) = read_trials(shelf(reports), RUN).values()
    return trial_view(shelf(reports), trial)


def chosen(reports: Path, *lines: dict[str, Any]) -> tuple[str, str, int] | None:
    write_run(reports, lines)
    every = read_trials(shelf(reports), RUN)
    found = worst(of_tasks(every, "m", {each["task_id"] for each in lines}))
    return (found.line.arm, found.line.task_id, found.line.replication) if found else None


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([line("002"), line("001", replication=1), line("001", arm="control")], ("target", "001", 1)),
        ([line("001", replication=2), line("001", replication=1)], ("target", "001", 1)),
        ([line("001", outcome="pass"), line("001", arm="full"), line("001", arm="control")], ("full", "001", 0)),
        ([line("001", arm="control"), line("002", arm="target_plus_one")], ("target_plus_one", "002", 0)),
        ([line("003", arm="target+hint"), line("004")], ("target+hint", "003", 0)),
        ([line("001", outcome="timeout")], ("target", "001", 0)),
        ([line("001", outcome="pass"), line("002", outcome="infrastructure"), line("003", outcome="quota")], None),
        ([line("001", model="other")], None),
        ([], None),
    ],
)
def test_the_first_failing_trial_of_the_arms_with_the_skill(tmp_path: Path, lines: Any, expected: Any) -> None:
    assert chosen(tmp_path, *lines) == expected
    assert chosen(tmp_path, *reversed(lines)) == expected


DAMAGED = [
    "", "not JSON", "[1, 2]", "[" * 10_000, '{"task_id": ' + "[" * 10_000, '{"replication": ' + "9" * 5000 + "}",
    line(task_id=None), line(model=["m"]), line(replication=True), line(replication="0"), line(replication=-1),
    line(replication=10**30), line(outcome={}), line(arm=7), line(folder=None), line(notes=7), line(reward=1e300),
    line(usage=[]), line(error="\ud800"),
    json.dumps(line(notes=["x" * (1 << 20)])),
]  # fmt: skip


def test_damaged_lines_are_left_out_and_the_others_keep_their_places(tmp_path: Path) -> None:
    write_run(tmp_path, [*DAMAGED, line("009")])
    ((trial,),) = read_trials(shelf(tmp_path), RUN).values()
    assert trial.line.task_id == "009"
    # The one empty line is no line at all.
    assert trial.origin == f"results/{RUN}#/{len(DAMAGED) - 1}"


@pytest.mark.parametrize("run", ["..", "", "a/b", "../../etc", "a\0b", "\\x", "missing", "x" * 5000, "."])
def test_a_run_whose_id_leads_elsewhere_has_no_trials(tmp_path: Path, run: str) -> None:
    write_run(tmp_path, [line()])
    (tmp_path / "results.jsonl").write_text(json.dumps(line()))
    assert read_trials(shelf(tmp_path), run) == {}


@pytest.mark.parametrize(
    "folder",
    ["../../../secret", "/etc", "trials/../../x", "", ".", "trials//x", "a\\b", "trials/\0", "x/" * 50, "x" * 9999],
)  # fmt: skip
def test_a_folder_that_leads_elsewhere_is_not_looked_at(tmp_path: Path, folder: Any) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "trajectory.json").write_bytes(trajectory({"source": "user", "message": "secret"}))
    write_run(tmp_path / "reports", [line(folder=folder)])
    ((trial,),) = read_trials(shelf(tmp_path / "reports"), RUN).values()
    view = trial_view(shelf(tmp_path / "reports"), trial)
    assert (view.links, view.steps, view.outputs) == ((), Steps(), ())
    assert "no trajectory was kept" in view.problems


def test_linked_artefacts_and_folders_are_neither_shown_nor_linked(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_bytes(trajectory({"source": "user", "message": "secret"}))
    told = line()
    run = write_run(tmp_path / "reports", [told])
    folder = write_trial(run, told, {"final.txt": b"Done."})
    (folder / "trajectory.json").symlink_to(secret)
    (folder / "diff.patch").symlink_to(secret)
    (folder / "verifier").symlink_to(tmp_path)
    (tmp_path / "stdout").write_bytes(b"secret")
    reports = shelf(tmp_path / "reports")
    ((trial,),) = read_trials(reports, RUN).values()
    view = trial_view(reports, trial)
    assert [link.text for link in view.links] == ["final message"]
    assert [each.text.text for each in view.outputs] == ["Done."]
    assert "secret" not in repr(view.steps) + repr(view.outputs) + repr(view.diff)


NOT_JSON = "the trajectory is not JSON"
NO_STEPS = "the trajectory has no list of steps"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"{", NOT_JSON), (b"", NOT_JSON), (b"9" * 6000, NOT_JSON), (b"\xff\xfe{}", NOT_JSON),
        (b"[" * 100_000, "the trajectory is nested too deep to be shown"), (b"[]", NO_STEPS),
        (b'{"steps": {"0": 1}}', NO_STEPS),
        (b" " * ((8 << 20) + 1), "the trajectory has 8 MB and is not shown here"),
    ],
    ids=["cut", "empty", "digits", "bytes", "deep", "list", "object", "huge"],
)  # fmt: skip
def test_a_trajectory_that_cannot_be_read_is_one_line(tmp_path: Path, data: bytes, problem: str) -> None:
    view = look(tmp_path, {"trajectory.json": data, "diff.patch": b"", "final.txt": b"Done."})
    assert view.problems == (problem,)
    assert view.steps == Steps() and view.outputs[0].text.text == "Done."


@given(STORY, st.integers(0, 20_000))
def test_any_value_as_a_trajectory(value: Any, room: int) -> None:
    found = steps(value, room)
    assert found.price <= room
    told = value.get("steps") if isinstance(value, dict) else None
    total = len(told) if isinstance(told, list) else 0
    assert len(found.first) + len(found.last) + found.left == total


@pytest.mark.slow
@settings(max_examples=15)
@given(STORY, st.dictionaries(st.sampled_from(sorted(line())), JSON))
def test_any_value_in_the_files_never_raises(tmp_path: Path, value: Any, told: dict[str, Any]) -> None:
    given_line = line() | told
    run = write_run(tmp_path, [given_line])
    write_trial(run, line(), {"trajectory.json": json.dumps(value).encode(), "diff.patch": b"+x"})
    for (trial,) in read_trials(shelf(tmp_path), RUN).values():
        view = trial_view(shelf(tmp_path), trial)
        assert all(cell.origin.startswith(f"results/{RUN}#/0/") for _, cell in view.figures)


def test_deep_arguments_are_a_remark() -> None:
    deep: Any = {}
    for _ in range(20_000):
        deep = [deep]
    call = {"function_name": "f", "arguments": {"a": deep}}
    (step,) = steps({"steps": [{"source": "agent", "tool_calls": [call]}]}, ROOM).first
    assert step.pieces[0].text.text == "(nested too deep to be shown)"
    while deep:
        deep = deep[0]


def test_steps_show_what_was_said_thought_called_and_given_back() -> None:
    step = {
        "source": "agent", "message": "I do it.", "reasoning_content": "Hm.",
        "tool_calls": [
            {"function_name": "run", "arguments": {"command": "ls\npwd"}},
            {"function_name": "write", "arguments": {"path": "a", "text": "b"}},
        ],
        "observation": {"results": [{"source_call_id": "1", "content": "a.txt"}]},
    }  # fmt: skip
    ((first,), last) = (steps({"steps": [step]}, ROOM).first, steps({"steps": [step]}, ROOM).last)
    assert [(each.kind, each.label, each.text.text) for each in first.pieces] == [
        ("reasoning", "", "Hm."), ("message", "", "I do it."), ("call", "run", "command: ls\npwd"),
        ("call", "write", '{"path": "a", "text": "b"}'), ("result", "", "a.txt"),
    ]  # fmt: skip
    assert last == ()


@pytest.mark.parametrize("n", [1, MOST_STEPS, MOST_STEPS + 1, 500])
@pytest.mark.parametrize("length", [5, 700])
def test_steps_are_cut_in_the_middle_and_say_so(n: int, length: int) -> None:
    told = [{"source": "agent", "message": f"{at} " + "x" * length} for at in range(1, n + 1)]
    found = steps({"steps": told}, ROOM)
    every = found.first + found.last
    assert len(every) + found.left == n and len(every) <= MOST_STEPS
    assert every[0].number == 1 and every[-1].number == n
    assert [step.number for step in every] == sorted({step.number for step in every})
    for step in every:
        (piece,) = step.pieces
        assert piece.text.text.startswith(f"{step.number} ")
        assert len(piece.text.text) + piece.text.left == len(told[step.number - 1]["message"])


@given(st.text(), st.integers(0, 50), st.integers(0, 200))
def test_cuts_add_up(text: str, most: int, room: int) -> None:
    for found in (cut(text, most), fitted(text, most, room)):
        assert text.startswith(found.text) and len(found.text) + found.left == len(text)
        assert bool(found.note) == (found.left > 0)
    assert price(fitted(text, most, room).text) <= room


@given(st.binary(max_size=200), st.integers(1, 250), st.integers(1, 50))
def test_cuts_of_files_add_up(data: bytes, read: int, most: int) -> None:
    found = from_file(data[:read], len(data), most, 10_000)
    if found.unit == "byte":
        assert len(found.text.encode("utf-8", "surrogateescape")) + found.left == len(data)
    else:
        assert len(found.text) + found.left == len(data.decode("utf-8", "surrogateescape"))


PATCH = b"""diff --git a/a b/a
new file mode 100644
--- /dev/null
+++ b/a
@@ -1,4 +1,4 @@
 same
-old
--- was a comment
+new
+++ counter
diff --git a/b b/b
--- a/b
+++ b/b
@@ -1 +1 @@
-x
"""


def test_lines_of_a_diff_are_marked_by_their_signs() -> None:
    found = diff(PATCH, len(PATCH), ViewLimits(diff=10_000))
    assert [sign for sign, _ in found.lines] == [
        *["place"] * 5, "same", "removed", "removed", "added", "added", *["place"] * 4, "removed",
    ]  # fmt: skip
    assert "".join(f"{text}\n" for _, text in found.lines).encode() == PATCH


@pytest.mark.parametrize(("n", "room"), [(0, 10), (5, 10_000), (MOST_LINES + 7, 100_000), (400, 1_000)])
def test_a_long_diff_says_how_many_lines_are_left(n: int, room: int) -> None:
    data = b"".join(b"+line %d\n" % at for at in range(n))
    found = diff(data, len(data) + 11, ViewLimits(diff=room))
    assert len(found.lines) + found.left == n and found.unread == 11 and found.price <= room
    assert len(found.lines) <= MOST_LINES


def test_no_view_is_dearer_than_said_however_large_its_files(tmp_path: Path) -> None:
    hostile = HOSTILE.encode("utf-8", "surrogatepass")
    message = "<&>\u202e" * 500
    told = [{"source": "agent", "message": message, "reasoning_content": message} for _ in range(300)]
    big = {
        "trajectory.json": trajectory(*told), "diff.patch": b"+" + hostile * 9000, "final.txt": hostile * 90_000,
        "verifier/stdout": b"\x00" * 900_000, "verifier/stderr": b"<" * 900_000, "verifier/notes.txt": hostile * 900,
    }  # fmt: skip
    view = look(tmp_path, big, notes=["<" * 900] * 9, error="&" * 900)
    assert view.price <= DEAREST and view.steps.left > 0
    assert all(output.whole and output.text.left for output in view.outputs) and view.trajectory and view.patch


def test_figures_are_those_of_the_line(tmp_path: Path) -> None:
    view = look(tmp_path, {})
    assert {name: (cell.text, cell.value, cell.origin.rpartition("#")[2]) for name, cell in view.figures} == {
        "reward": ("0.25", 0.25, "/0/reward"), "input tokens": ("1,200", 1200, "/0/usage/input_tokens"),
        "output tokens": ("34", 34, "/0/usage/output_tokens"), "cost in dollars": ("0.0125", 0.0125, "/0/cost_usd"),
        "seconds": ("61.5", 61_500.0, "/0/duration_ms"), "turns": ("3", 3, "/0/turns"),
        "tool calls": ("2", 2, "/0/tool_calls"),
    }  # fmt: skip


def test_a_figure_that_is_none_is_missing(tmp_path: Path) -> None:
    view = look(tmp_path, {}, reward=None, usage={})
    cells = dict(view.figures)
    assert (cells["reward"].text, cells["input tokens"].text) == ("–", "–")


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (b'{"problem": "no reward was written"}', ["lost", "no reward was written", "slow"]),
        (b'{"problem": {}}', ["lost", "slow"]),
        (b"[]", ["lost", "slow"]),
        (b"[" * 100_000, ["lost", "slow"]),
        (b"\xff", ["lost", "slow"]),
    ],
    ids=["said", "object", "list", "deep", "bytes"],
)
def test_notes_are_those_of_the_line_and_of_the_verdict(tmp_path: Path, verdict: bytes, expected: list[str]) -> None:
    view = look(tmp_path, {"verdict.json": verdict}, error="lost", notes=["slow"])
    assert [note.text for note in view.notes] == expected


def test_a_purse_pays_only_what_it_has() -> None:
    purse = HtmlBudget(10)
    assert [purse.pay(7), purse.pay(4), purse.pay(3), purse.pay(1)] == [True, False, True, False]


def test_each_trial_costs_the_same_to_read(tmp_path: Path) -> None:
    notes = ["a note that is about as long as notes are"] * 10

    def cost(trials: int) -> int:
        write_run(tmp_path, (line(f"{n % 10:03}", replication=n // 10, notes=notes) for n in range(trials)))

        def read() -> None:
            every: list[Trial] = of_tasks(read_trials(shelf(tmp_path), RUN), "m", {f"{n:03}" for n in range(10)})
            assert len(every) == trials

        return lines_run(read)

    assert is_linear(cost, (50,))
