"""Answers of models that draft are data: nothing in one leads out of its folder, and every flaw has its name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from task_drafts import changed, proposal, task

from skill_health.drafts.tasks.answers import BadAnswer, read_proposals, read_task
from skill_health.drafts.tasks.folder import load_folder, task_files, write_folder
from skill_health.drafts.tasks.model import DraftedTask, bad_path, find_form_flaws, spread_points


def kinds_of(text: str) -> list[str]:
    """What is found in an answer before anything of it is written."""
    try:
        return [each.kind for each in find_form_flaws(read_task(text))]
    except BadAnswer as error:
        return [error.flaw.kind]


def put(key: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda made: made.__setitem__(key, value)


def add_file(path: str, text: str = "x\n") -> Callable[[dict[str, Any]], object]:
    return lambda made: made["files"].append({"path": path, "text": text})


def add_solution(path: str) -> Callable[[dict[str, Any]], object]:
    return lambda made: made["solution"].append({"path": path, "text": "x\n"})


def item(key: str, nth: int, **changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda made: made[key][nth].update(changes)


CASES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "above": (add_file("../evil.txt"), "path"),
    "absolute": (add_file("/etc/passwd"), "path"),
    "home": (add_file("~/x"), "path"),
    "dot": (add_file("a/./b"), "path"),
    "empty": (add_file(""), "path"),
    "drive": (add_file("C:/x"), "path"),
    "backslash": (add_file("a\\..\\b"), "path"),
    "new line in a name": (add_file("a\nb"), "path"),
    "escape in a name": (add_file("a\x1b[2Jb"), "path"),
    "turned round": (add_file("a\u202etxt.b"), "path"),
    "trailing blank": (add_file("a "), "path"),
    "deep": (add_file("/".join("a" * 9)), "path"),
    "long": (add_file("a" * 161), "path"),
    "twice": (add_file("boats.csv"), "path"),
    "twice but for case": (add_file("BOATS.csv"), "path"),
    "file and folder": (add_file("boats.csv/x"), "path"),
    "solution above": (add_solution("../../solve.sh"), "path"),
    "solution twice": (add_solution("solve.sh"), "path"),
    "large file": (add_file("big", "x" * (257 << 10)), "too-large"),
    "large together": (lambda made: [add_file(f"big-{nth}", "x" * (200 << 10))(made) for nth in range(6)], "too-large"),
    "many files": (lambda made: [add_file(f"f{nth}")(made) for nth in range(41)], "too-large"),
    "long instruction": (put("instruction", "word " * 2_000), "too-large"),
    "long item": (item("goal", 0, text="x" * 2_001), "too-large"),
    "NUL in a file": (add_file("a", "x\0y"), "control-characters"),
    "escape in the instruction": (put("instruction", "Write \x1b]0;x\x07 it"), "control-characters"),
    "hidden text in the instruction": (put("instruction", "Write it\u200b\u2060 down"), "control-characters"),
    "escape in an item": (item("goal", 0, text="x\x1b[31m"), "control-characters"),
    "no instruction": (put("instruction", "  \n"), "wrong-form"),
    "instruction is no text": (put("instruction", ["x"]), "wrong-form"),
    "no solution": (put("solution", []), "wrong-form"),
    "solution elsewhere": (put("solution", [{"path": "run.sh", "text": "x"}]), "wrong-form"),
    "unknown key": (put("verify", "x"), "wrong-form"),
    "file with a mode": (lambda made: made["files"].append({"path": "a", "text": "", "mode": 511}), "wrong-form"),
    "minutes": (put("minutes", 10**9), "wrong-form"),
    "minutes true": (put("minutes", True), "wrong-form"),
    "no goal": (put("goal", []), "points"),
    "goal is no list": (put("goal", {"a": 1}), "wrong-form"),
    "sum 95": (item("goal", 0, points=5), "points"),
    "sum 110 of rules": (lambda made: made["instruction_following"].append({"text": "One more.", "points": 10}), "points"),
    "half points": (lambda made: [item("goal", nth, points=points)(made) for nth, points in ((0, 9.5), (1, 10.5))], "points"),
    "eleven points": (lambda made: [item("goal", nth, points=points)(made) for nth, points in ((0, 11), (1, 9))], "points"),
    "no points": (item("goal", 0, points=0), "points"),
    "negative points": (item("goal", 0, points=-10), "points"),
    "points are text": (item("goal", 0, points="10"), "wrong-form"),
    "points are true": (item("goal", 0, points=True), "wrong-form"),
    "no points at all": (lambda made: made["goal"][0].pop("points"), "wrong-form"),
    "no check in the goal": (lambda made: [each.pop("check") for each in made["goal"]], "no-check"),
    "unknown check": (item("goal", 0, check={"kind": "always"}), "check"),
    "check of tools": (item("goal", 0, check={"kind": "tool_called", "tool": "Bash"}), "check"),
    "check without its key": (item("goal", 0, check={"kind": "file_exists"}), "check"),
    "check with another key": (item("goal", 0, check={"kind": "file_exists", "path": "a", "met": True}), "check"),
    "check is text": (item("goal", 0, check="file_exists"), "check"),
    "bad pattern": (item("goal", 0, check={"kind": "file_matches", "path": "a", "pattern": "("}), "check"),
}  # fmt: skip


def test_a_good_task_has_no_flaw() -> None:
    assert kinds_of(json.dumps(task())) == []
    drafted = read_task(json.dumps(task()))
    assert len(drafted.items("goal")) == 10 and sum(each.points for each in drafted.items("instruction")) == 100


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_is_named(name: str) -> None:
    change, kind = CASES[name]
    assert kind in kinds_of(json.dumps(changed(change)))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "no-answer"), ("Sure! Here is a task.", "wrong-form"), ("[]", "wrong-form"), ("{}", "wrong-form"),
        ('{"instruction": "a", "instruction": "b"}', "wrong-form"), ("[" * 100_000, "wrong-form"),
        ('{"minutes": 1e999}', "wrong-form"), ("x" * ((1 << 20) + 1), "too-large"),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_none(text: str, kind: str) -> None:
    assert kinds_of(text) == [kind]


def test_a_fence_and_thoughts_around_an_answer_are_taken_off() -> None:
    text = json.dumps(task(), indent=1)
    assert read_task(f"<think>{{not this}}</think>\n```json\n{text}\n```\n") == read_task(text)


@given(st.text(max_size=40))
def test_no_path_leads_out(path: str) -> None:
    if not bad_path(path):
        place = Path("/base", *path.split("/"))
        assert Path("/base") in place.parents and place.resolve() == place and path.isprintable()


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.sampled_from(sorted(task())), each, max_size=4),
    max_leaves=8,
)


@given(ANY_JSON)
def test_any_json_is_read_or_refused(data: Any) -> None:
    made = task()
    if isinstance(data, dict):
        made |= data
    for text in (json.dumps(data), json.dumps(made), json.dumps({"proposals": [data]})):
        kinds_of(text)
        try:
            read_proposals(text, 3, ("a",))
        except BadAnswer as error:
            assert error.flaw.message


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"title": ""}, "wrong-form"), ({"title": 3}, "wrong-form"), ({"hidden": None}, "wrong-form"),
        ({"needs": ["a horse"]}, "wrong-form"), ({"inputs": "boats.csv"}, "wrong-form"),
        ({"points": 3}, "wrong-form"), ({"title": "a\x1b[2Jb"}, "control-characters"),
        ({"outcome": "x" * 2_001}, "too-large"),
    ],
)  # fmt: skip
def test_a_proposal_that_is_none_is_refused(changes: dict[str, Any], kind: str) -> None:
    text = json.dumps({"proposals": [proposal(), {**proposal(2), **changes}]})
    with pytest.raises(BadAnswer) as caught:
        read_proposals(text, 3, ("harbour-dues",))
    assert caught.value.flaw.kind == kind


def test_more_proposals_than_asked_for_are_left_out() -> None:
    text = json.dumps({"proposals": [proposal(nth) for nth in (1, 2, 3)]})
    assert [each.title for each in read_proposals(text, 2, ())] == ["Work 1", "Work 2"]


def test_a_drafted_task_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    drafted: DraftedTask = read_task(json.dumps(task()))
    write_folder(task_files(drafted, "dues-1", "Bills: May", ("harbour-dues",)), str(tmp_path / "dues-1"))
    found = load_folder(str(tmp_path / "dues-1"), str(tmp_path))
    assert (found.id, found.slug, found.target_skills) == ("dues-1", "bills-may", ("harbour-dues",))
    assert found.prompt == drafted.instruction and found.files == drafted.files
    assert found.rubric is not None and found.oracle is not None and found.agent_timeout_sec == 300
    assert [(each.id, each.points, each.group, each.check) for each in found.rubric.criteria] == [
        (each.id, each.points, each.group, each.check) for each in drafted.criteria
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["dues-1"], "nothing half written is left"


@given(st.integers(10, 100))
def test_points_are_whole_and_sum_to_100(count: int) -> None:
    points = spread_points(count)
    assert sum(points) == 100 and {1 <= each <= 10 for each in points} == {True} and max(points) - min(points) <= 1


@pytest.mark.parametrize("count", [0, 9, 101])
def test_too_few_items_cannot_have_100_points(count: int) -> None:
    with pytest.raises(ValueError, match="cannot have"):
        spread_points(count)
