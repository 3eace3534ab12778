"""What two texts and two stories differ in: nothing is lost, whatever they hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trials_run import KEPT, first_task, workspace, write

from skill_health.trials.find import every_trial, find_trial
from skill_health.trials.reading import WHOLE, read_trial
from skill_health.trials.results import read_trials, shelf_of
from skill_health.trials.side_by_side import MOST_FILES, SideBySide, align_steps, compare_lines, compare_trials
from skill_health.trials.steps import SkillOpenings, ToldPiece, ToldStep, told_step

TEXT = st.lists(st.sampled_from("abc"), max_size=12).map("\n".join)
STEPS = st.lists(st.tuples(st.sampled_from(["user", "agent"]), st.sampled_from("xyz")), max_size=8)


def steps(told: list[tuple[str, str]]) -> list[ToldStep]:
    return [ToldStep(at, who, (ToldPiece("call", text, text),)) for at, (who, text) in enumerate(told, 1)]


@given(TEXT, TEXT)
def test_each_line_of_both_sides_is_shown_or_counted(left: str, right: str) -> None:
    pairs = compare_lines(left, right)
    for side, other, text in (("left", "right", left), ("right", "left", right)):
        lines = text.split("\n") if text else []
        shown = [getattr(each, side) for each in pairs if not each.skipped and each.side != other]
        assert len(shown) + sum(each.skipped for each in pairs) == len(lines)
        rest = iter(lines)
        assert all(line in rest for line in shown), "in their order"
    assert all(each.left == each.right for each in pairs if each.side == "same")
    assert all(each.left != each.right for each in pairs if each.side == "changed" and not each.skipped)


@given(TEXT, TEXT)
def test_what_is_only_on_one_side_changes_sides_with_it(left: str, right: str) -> None:
    one, other = compare_lines(left, right), compare_lines(right, left)
    assert any(each.side != "same" for each in one) == any(each.side != "same" for each in other) == (left != right)


@given(STEPS, STEPS)
def test_each_step_stands_once_and_in_its_order(left: list[tuple[str, str]], right: list[tuple[str, str]]) -> None:
    pairs = align_steps(steps(left), steps(right))
    assert [each.left.number for each in pairs if each.left] == list(range(1, len(left) + 1))
    assert [each.right.number for each in pairs if each.right] == list(range(1, len(right) + 1))
    for pair in pairs:
        if pair.side == "same":
            assert pair.left and pair.right and pair.left.text == pair.right.text


def test_too_much_is_one_block_and_long_differences_are_cut() -> None:
    left, right = "\n".join(f"l{n}" for n in range(3_000)), "\n".join(f"r{n}" for n in range(3_000))
    pairs = compare_lines(left, right)
    assert len(pairs) == 400 and pairs[-1].skipped == 2_601


def test_only_the_call_that_the_result_names_opens_a_skill() -> None:
    step = {
        "source": "agent", "extra": {"failed_calls": ["c3"]}, "tool_calls": [
            {"tool_call_id": "c1", "function_name": "Skill", "arguments": {"skill": "pdf"}},
            {"tool_call_id": "c2", "function_name": "Bash", "arguments": {"command": "cat skills/pdf/SKILL.md | head"}},
            {"tool_call_id": "c3", "function_name": "Skill", "arguments": {"skill": "pdf"}},
            {"tool_call_id": "c4", "function_name": "Skill", "arguments": {"skill": "docx"}},
        ],
    }  # fmt: skip
    openings = SkillOpenings((("Skill pdf", "pdf"), ("shell: cat skills/pdf/SKILL.md", "pdf")))
    told = told_step(1, step, openings)
    assert [piece.opened for piece in told.pieces] == [("pdf",), ("pdf",), (), ()]
    assert told.opened == ("pdf", "pdf") and not told_step(1, step).opened


def compared(reports: Path, archives: dict[str, bytes | None]) -> SideBySide:
    """The first task's two trials, whose workspaces were kept as these archives, or were not."""
    kept = {
        arm: {name: data for name, data in files.items() if name != "workspace.tar.gz"} for arm, files in KEPT.items()
    }
    for arm, data in archives.items():
        kept[arm] |= {} if data is None else {"workspace.tar.gz": data}
    folder = write(reports, kept)
    task = first_task(folder)
    shelf, runs, name = shelf_of(str(folder))
    every = every_trial(read_trials(shelf, name, runs))
    left, right = (
        read_trial(shelf, find_trial(every, f"{task}/{arm}/0"), WHOLE) for arm in ("control", "target")
    )  # fmt: skip
    return compare_trials(shelf, left, right)


TWO = workspace({"a": b"1\n", "b": b"2\n", "c": b"3\n", "only": b"left"})
OTHER = workspace({"a": b"1\n", "b": b"two\n", "c": b"3\n", "more": b"right", "raw": b"\0"})
MISSING, DAMAGED = "no workspace was kept", "the kept workspace is damaged"


@pytest.mark.parametrize(("left", "right", "problem"), [
    (None, TWO, MISSING), (TWO, None, MISSING), (b"?", TWO, DAMAGED), (TWO, b"?", DAMAGED),
    (None, b"?", MISSING), (b"?", None, DAMAGED),
])  # fmt: skip
def test_files_that_cannot_be_compared_have_a_problem(
    tmp_path: Path, left: bytes | None, right: bytes | None, problem: str
) -> None:
    found = compared(tmp_path / "reports", {"control": left, "target": right})
    assert (found.files, found.same_files, found.left_files, found.problem) == ((), 0, 0, problem)


def test_files_that_differ_are_told_by_side_and_the_others_are_counted(tmp_path: Path) -> None:
    found = compared(tmp_path / "reports", {"control": TWO, "target": OTHER})
    assert [(each.side, each.path) for each in found.files] == [
        ("changed", "b"), ("right", "more"), ("left", "only"), ("right", "raw"),
    ]  # fmt: skip
    assert (found.same_files, found.left_files, found.problem) == (2, 0, "")
    lines = [[(line.side, line.left, line.right) for line in each.lines] for each in found.files]
    assert lines == [[("changed", "2", "two")], [("right", "", "right")], [("left", "left", "")], []]
    assert [bool(each.note) for each in found.files] == [False, False, False, True]


@pytest.mark.parametrize(("count", "shown"), [(MOST_FILES, MOST_FILES), (MOST_FILES + 1, MOST_FILES)])
def test_files_beyond_the_limit_are_counted(tmp_path: Path, count: int, shown: int) -> None:
    many = workspace({f"{n:03}": b"x" for n in range(count)})
    found = compared(tmp_path / "reports", {"control": workspace({}), "target": many})
    assert [(each.path, len(each.lines)) for each in found.files] == [(f"{n:03}", 1) for n in range(shown)]
    assert found.left_files == count - shown
