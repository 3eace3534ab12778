"""What two texts and two stories differ in: nothing is lost, whatever they hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skill_health.trials.side_by_side import align_steps, compare_lines
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
