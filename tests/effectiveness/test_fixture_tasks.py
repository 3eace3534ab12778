"""The tasks of fixtures/tasks: right ways pass, in every form that a task allows, and near misses fail."""

from __future__ import annotations

import filecmp
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fixture_verifiers import CASES, FIXTURES, SKILLS, TASKS, Workspace, fresh, snapshot, verify, verify_here
from thinned import EXHAUSTIVE, thinned

from skill_health.core.validation import problems

pytestmark = pytest.mark.skipif(os.name == "nt", reason="verifiers are POSIX shell scripts")

Edit = Callable[[Workspace], None]
After = Callable[[str], Workspace]


def cases(kind: str) -> Iterator[Any]:
    """The task, the share of the reward that has to suffer, and the edit of the oracle's workspace."""
    for task, each in ((task, each) for module in CASES for task, found in module[kind].items() for each in found):
        share, edit = each if isinstance(each, tuple) else ("reward", each)
        yield pytest.param(task, share, edit, id=f"{task}-{edit.__name__}")


RIGHT, WRONG = list(cases("RIGHT")), list(cases("WRONG"))


def test_each_task_has_cases() -> None:
    assert len(TASKS) == 20
    for task in TASKS:
        assert sum(each.values[0] == task for each in RIGHT) >= 2
        assert sum(each.values[0] == task for each in WRONG) >= 3


@pytest.mark.parametrize("task", TASKS)
def test_oracle_passes_the_same_way_each_time_without_trace(task: str, after_oracle: After, tmp_path: Path) -> None:
    workspace = after_oracle(task)
    before = snapshot(workspace)
    verdict = verify(task, workspace, tmp_path / "out")
    assert verdict == verify_here(task, workspace, tmp_path / "here")
    assert verdict.code == 0 and verdict.scores["reward"] == 1, verdict.output
    assert set(verdict.files) == {"reward.json", "notes.txt"} and verdict.files["notes.txt"].strip()
    assert verify(task, workspace, None).code == 0
    assert snapshot(workspace) == before
    if task <= "007":
        assert snapshot(TASKS[task] / "starting").items() <= before.items(), "the oracle changes what it was given"


@pytest.mark.parametrize("task", TASKS)
def test_doing_nothing_fails(task: str, tmp_path: Path) -> None:
    workspace = fresh(task, tmp_path / "workspace")
    before = snapshot(workspace)
    verdict = verify(task, workspace, tmp_path / "out")
    assert verdict.code == 1 and verdict.scores["reward"] == 0
    assert verify(task, workspace, None).code == 1
    assert snapshot(workspace) == before


@pytest.mark.parametrize(("task", "share", "edit"), RIGHT)
def test_other_right_ways_pass(task: str, share: str, edit: Edit, after_oracle: After, tmp_path: Path) -> None:
    workspace = after_oracle(task)
    before = snapshot(workspace)
    edit(workspace)
    assert edit.__name__ == "another time stamp" or snapshot(workspace) != before, "the case changes nothing"
    verdict = verify_here(task, workspace, tmp_path / "out")
    assert verdict.code == 0 and verdict.scores[share] == 1, verdict.output


@pytest.mark.parametrize(("task", "share", "edit"), thinned(WRONG, 4, None, EXHAUSTIVE))
def test_near_misses_fail_for_a_reason(task: str, share: str, edit: Edit, after_oracle: After, tmp_path: Path) -> None:
    workspace = after_oracle(task)
    edit(workspace)
    before = snapshot(workspace)
    verdict = verify_here(task, workspace, tmp_path / "out")
    assert verdict.code == 1 and verdict.scores["reward"] < 1, verdict.output
    assert verdict.scores[share] < 1, verdict.output
    assert snapshot(workspace) == before


HOSTILE = {
    "binary": b"\x00\xff\xfe" * 100,
    "nested": b"[" * 100_000,
    "a line in a text": b'[{"a": "b\n"}, 7, null]',
    "list": b'[{"a": "b"}, 7, null]',
    "no texts": b'{"commit": {"x": []}, "first_cause": [], "trace": [3, {}], "allOf": 5, "$ref": 7}',
    "other shapes": b'{"models": {"amber": 7, "x": []}, "agreement": [], "01": [], "pass_rate": {"north": 1}}',
    "numbers": b'{"models": {"amber": {"difference": NaN, "p": 1e999, "low": true, "scored": "9", "tasks": 1e400}}}',
    "huge number": b'{"agreement": {"kappa": ' + b"9" * 400 + b', "items": ' + b"9" * 400 + b"}}",
    "lines": b'{"prompt_id": 7}\n[]\n"x"\nnull\n',
    "frontmatter": b'---\nname: [x\ndescription: "\\q"\n---\n' + b"## [2.0.0] - \n- x\n  - `\n```\n",
    "empty": b"",
}


def hostile(path: Path, first: bool) -> Iterator[str]:
    """What may stand where a file is expected, one after another; most of it in place of the first one alone."""
    for name, raw in HOSTILE.items() if first else ():
        path.write_bytes(raw)
        yield name
    with path.open("wb") as handle:
        handle.truncate(2**31)
    yield "very large"
    path.unlink()
    path.symlink_to(path.name)
    yield "loop"
    path.unlink()
    path.mkdir()
    yield "folder"
    path.rmdir()
    if first:
        path.symlink_to("/dev/zero")
        yield "device"
        path.unlink()
    os.mkfifo(path)
    yield "pipe"


@pytest.mark.parametrize("task", [task for task in TASKS if task <= "015"])
def test_hostile_results_fail_quietly(task: str, after_oracle: After, tmp_path: Path) -> None:
    workspace = after_oracle(task)
    given = snapshot(TASKS[task] / "starting")
    produced = sorted(name for name, raw in snapshot(workspace).items() if given.get(name) != raw)
    assert produced
    for number, name in enumerate(produced[:2]):
        content = (workspace / name).read_bytes()
        for kind in hostile(workspace / name, first=number == 0):
            # What may not end, or takes all memory, has a process of its own.
            run = verify if kind in ("device", "pipe") else verify_here
            verdict = run(task, workspace, tmp_path / "out")
            assert verdict.code == 1 and verdict.scores["reward"] < 1, (name, kind)
            assert "Traceback" not in verdict.output
            shutil.rmtree(tmp_path / "out")
        (workspace / name).unlink()
        (workspace / name).write_bytes(content)


@pytest.mark.parametrize("task", TASKS)
def test_metadata_and_prompt(task: str) -> None:
    metadata = json.loads((TASKS[task] / "metadata.json").read_text(encoding="utf-8"))
    assert list(problems("task", metadata)) == []
    assert f"{metadata['id']}-{metadata['slug']}" == TASKS[task].name
    if control := task > "015":
        assert metadata["target_skill"] == "none" and metadata["irrelevant_skill"] in SKILLS
    else:
        roles = [metadata[f"{role}_skill"] for role in ("target", "irrelevant", "related", "unrelated")]
        assert len(set(roles)) == 4 and set(roles) <= SKILLS
    assert (metadata["category"] == "negative-control") == control
    prompt = (TASKS[task] / "task.md").read_text(encoding="utf-8").lower()
    words = {"verif", "oracle", "reward"} | ({"skill"} if task <= "007" else set())
    assert not [name for name in SKILLS | words if name in prompt]
    assert sum(path.stat().st_size for path in (TASKS[task] / "starting").rglob("*") if path.is_file()) < 200_000


def test_each_of_eight_skills_has_its_task() -> None:
    metadata = [path / "metadata.json" for task, path in TASKS.items() if "008" <= task <= "015"]
    assert len({json.loads(path.read_text(encoding="utf-8"))["target_skill"] for path in metadata}) == 8


def test_shared_files_are_the_same_everywhere() -> None:
    for name in ("outcome.py", "schema2020.py", "running.py", "skill_head.py"):
        first, *others = sorted(FIXTURES.glob(f"tasks/*/verifier/{name}"))
        assert others and all(filecmp.cmp(first, other, shallow=False) for other in others)
