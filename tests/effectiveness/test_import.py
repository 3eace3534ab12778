"""Evaluations of others written as folders of tasks, and read again: the same prompt, files and criteria."""

from __future__ import annotations

import json
import os
import string
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from odd_values import oddities
from test_eval_formats import DOTNET, NVIDIA, SKILL, UIPATH, VALLY, WAZA, WAZA_TASK, load

from skill_health.core.errors import UsageError
from skill_health.core.validation import problems
from skill_health.effectiveness.commands import import_
from skill_health.effectiveness.rubric.model import Check, Criterion, Rubric, make_rubric
from skill_health.effectiveness.tasks._api import Task, script, task_digest
from skill_health.effectiveness.tasks._evals import NO_ORACLE
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.tasks.plan_directory import missing_parts, why_not_written, write_task

FOREIGN = {
    "skills/sums/SKILL.md": SKILL, "skills/sums/evals/evals.json": NVIDIA, "plugins/sums/eval.yaml": DOTNET,
    "tests/vally/eval.yaml": VALLY, "w/eval.yaml": WAZA, "w/tasks/add.yaml": WAZA_TASK, "w/fixtures/in.txt": "1",
    "t/area/one/one.yaml": UIPATH, "t/area/one/check.py": "import sys", "t/area/_shared/template/in.txt": "1",
}  # fmt: skip


def without_places(rubric: Rubric | None) -> Rubric | None:
    return rubric and replace(rubric, criteria=tuple(replace(each, place="") for each in rubric.criteria))


def same(one: Task, other: Task) -> bool:
    """Whether two tasks ask and judge the same."""
    return (one.prompt, one.files, one.digest, one.checking, one.target_name, one.unsupported, without_places(one.rubric)) == (
        other.prompt, other.files, other.digest, other.checking, other.target_name, other.unsupported, without_places(other.rubric)
    )  # fmt: skip


def run(*words: str) -> Result:
    return CliRunner().invoke(import_.command, words, standalone_mode=False)


@pytest.mark.exhaustive
@pytest.mark.parametrize("path", [path for path in FOREIGN if path.endswith((".json", ".yaml"))])
def test_whatever_stands_in_place_of_a_value_is_read_or_a_bad_task(path: str, tmp_path: Path) -> None:
    for at, made in enumerate(oddities(yaml.safe_load(FOREIGN[path]))):
        load(tmp_path / str(at), {**FOREIGN, path: json.dumps(made)})


def test_every_format_comes_back_as_it_was_read(tmp_path: Path) -> None:
    found = load(tmp_path / "theirs", FOREIGN)
    assert {task.format for task in found.tasks} >= {"skill_evals", "dotnet_scenarios", "vally", "waza", "uipath"}
    done = run(str(tmp_path / "theirs"), "--to", str(tmp_path / "ours"))
    assert done.exception is None, done.output
    ours = {task.id: task for task in load_tasks([str(tmp_path / "ours")], str(tmp_path)).tasks}
    written = [task for task in found.tasks if not why_not_written(task)]
    assert len(written) > 5 and {task.id for task in written} == set(ours)
    for task in written:
        assert same(ours[task.id], task), task.id
        data = json.loads((tmp_path / "ours" / task.id / "rubric.json").read_text())
        assert problems("task-rubric", data) == []
    assert f"{len(ours)} tasks written" in done.output
    # Each part that is left out is named once, and stands in its folder as well.
    parts = sum(len(missing_parts(task)) for task in written)
    assert f"{parts} parts of them could not be carried over" in done.output


def test_notes_name_every_part_that_is_left_out(tmp_path: Path) -> None:
    found = load(tmp_path / "theirs", FOREIGN)
    done = run(str(tmp_path / "theirs"), "--to", str(tmp_path / "ours"), "--notes")
    for task in found.tasks:
        if not why_not_written(task):
            assert all(f"{task.id}: {line}" in done.output for line in missing_parts(task))


def test_nothing_that_is_there_is_replaced(tmp_path: Path) -> None:
    load(tmp_path / "theirs", {"skills/sums/SKILL.md": SKILL, "skills/sums/evals/evals.json": NVIDIA})
    words = (str(tmp_path / "theirs"), "--to", str(tmp_path / "ours"))
    assert run(*words).exception is None
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "ours").rglob("*")}
    again = run(*words)
    assert isinstance(again.exception, UsageError)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "ours").rglob("*")} == before


def test_a_link_in_the_place_of_a_task_is_no_way_out(tmp_path: Path) -> None:
    found = load(tmp_path / "theirs", {"skills/sums/SKILL.md": SKILL, "skills/sums/evals/evals.json": NVIDIA})
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / found.tasks[-1].id).symlink_to(tmp_path / "elsewhere")
    done = run(str(tmp_path / "theirs"), "--to", str(tmp_path / "ours"))
    assert isinstance(done.exception, UsageError) and f"/{found.tasks[-1].id} " in str(done.exception)
    assert not (tmp_path / "elsewhere").exists() and len(list((tmp_path / "ours").iterdir())) == 1


WORDS = st.text(alphabet=string.ascii_letters + string.digits + " .,\n\"'\\{}[]<>&%äß中\u202e", min_size=1).filter(
    str.strip
)
NAMES = st.text(alphabet=string.ascii_lowercase, min_size=1, max_size=8)
CHECKS = st.one_of(
    st.none(),
    st.builds(lambda text: Check("output_contains", (("text", text),)), WORDS),
    st.builds(lambda path: Check("file_exists", (("path", path),)), NAMES),
    st.builds(lambda command: Check("command", (("command", command),)), WORDS),
)


@pytest.mark.slow
@given(
    st.lists(st.tuples(WORDS, CHECKS, st.sampled_from(["goal", "instruction"]), st.floats(0.01, 100)), min_size=1, max_size=6),
    st.booleans(), st.floats(0, 1), WORDS, st.dictionaries(NAMES, st.binary(max_size=9), max_size=3), st.booleans(),
)  # fmt: skip
def test_any_rubric_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, criteria: list[tuple[str, Check | None, Any, float]], weighed: bool,
    weight: float, prompt: str, files: dict[str, bytes], executable: bool,
) -> None:  # fmt: skip
    rubric = make_rubric(
        [
            Criterion(f"c{at}", text, points if weighed else 0.0, group, check)
            for at, (text, check, group, points) in enumerate(criteria)
        ],
        weight,
    )
    staged = tuple(File(name, data, executable) for name, data in sorted(files.items()))
    checking = script((), staged, 60.0, [("HERE", "")]) if executable else None
    task = Task(
        "t", "t", "t", "vally", prompt, ("sums",), files=staged, rubric=rubric, checking=checking, unsupported=("x:1: y", NO_ORACLE),
        digest=task_digest(prompt, staged, (), 600.0),
    )  # fmt: skip
    if why_not_written(task):
        assert prompt.startswith("---")
        return
    place = tmp_path_factory.mktemp("t") / "t"
    write_task(task, os.fspath(place))
    (read,) = load_tasks([str(place)], str(place.parent)).tasks
    assert same(read, task)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"rubric": None}, "it has no criteria"),
        ({"blockers": ("its authors skip it",)}, "its authors skip it"),
        ({"target_skills": None}, "nothing says which skill should help"),
        ({"prompt": "---\nAdd.\n"}, "begins with a fence"),
        ({"prompt": "Add\r\nup."}, "carriage returns"),
        ({"verifier": script(("true",), (), 1.0)}, "a verifier and surroundings of its own"),
    ],
)
def test_what_a_folder_cannot_hold_is_not_written(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    task = Task("t", "t", "t", "vally", "Add.", "sums", rubric=make_rubric([Criterion("a", "Adds.", 1)]))
    with pytest.raises(ValueError, match=why):
        write_task(replace(task, **change), str(tmp_path / "t"))
    assert not (tmp_path / "t").exists()


ONE = {"id": "a", "text": "Adds."}


@pytest.mark.parametrize(
    ("rubric", "said"),
    [
        ("[]", "not an object with criteria"),
        ("{", "rubric.json"),
        ({"criteria": []}, "criteria"),
        ({"criteria": [ONE], "criterion": 1}, "'criterion' is not a key of a rubric"),
        ({"criteria": [ONE, ONE]}, "two criteria have one id"),
        ({"criteria": [ONE | {"points": -1}]}, "points"),
        ({"criteria": [ONE | {"points": 1}, {"id": "b", "text": "b"}]}, "some criteria of the group 'goal'"),
        ({"criteria": [ONE | {"check": {"kind": "guess"}}]}, "there is no check 'guess'"),
        ({"criteria": [ONE | {"check": {"kind": "file_exists"}}]}, "needs path"),
        ({"criteria": [ONE | {"check": {"kind": "file_exists", "path": "a", "colour": "b"}}]}, "has no key 'colour'"),
        ({"criteria": [ONE | {"check": {"kind": "output_matches", "pattern": "(("}}]}, "pattern"),
        ({"criteria": [ONE | {"check": {"kind": "file_exists", "path": {"a": 1}}}]}, "the criterion 'a'"),
        ({"criteria": [ONE], "goal_weight": 2}, "goal_weight"),
        ({"criteria": [ONE], "variables": {"HERE": "../.."}}, "leads out of checking/"),
        ('{"criteria": [{"id": "a", "text": "b"}], "criteria": []}', "twice"),
    ],
)
def test_a_rubric_that_is_none_is_one_line(rubric: object, said: str, tmp_path: Path) -> None:
    text = rubric if isinstance(rubric, str) else json.dumps(rubric)
    task = {"id": "t1", "slug": "add", "target_skill": "sums"}
    found = load(tmp_path, {"t/task.md": "Add.\n", "t/metadata.json": json.dumps(task), "t/rubric.json": text})
    assert found.tasks == ()
    (problem,) = found.problems
    assert said in f"{problem.path}: {problem.message}" and "\n" not in problem.message
    assert problem.path.endswith("rubric.json")


def test_a_verifier_may_stand_beside_a_rubric(tmp_path: Path) -> None:
    files = {
        "t/task.md": "Add.\n", "t/metadata.json": '{"id": "t1", "slug": "add", "target_skill": "sums"}',
        "t/rubric.json": json.dumps({"criteria": [ONE]}), "t/verify.sh": "true\n",
    }  # fmt: skip
    (task,) = load(tmp_path, files).tasks
    assert task.verifier is not None and task.rubric is not None and task.unsupported == ()
    assert why_not_written(task)
