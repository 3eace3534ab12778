"""Proposals and drafted tasks before a person: nothing but what is accepted enters the tasks of the collection."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from task_drafts import Author, proposal, serve, task, write_collection

from skill_health.cli import main
from skill_health.documents.task_draft import TaskDraft
from skill_health.drafts.desks._api import open_desks
from skill_health.drafts.material import load_collection
from skill_health.drafts.store import is_edited, read_drafts
from skill_health.drafts.tasks import accept
from skill_health.effectiveness.tasks._load import load_tasks

Said = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
GIVEN = ("--model", "scripted:author", "--max-calls", "50", "--sandbox", "none", "--quiet")


def words(root: Path, *more: str) -> list[str]:
    config = str(root / "skill-health.toml")
    return ["draft", "tasks", "--collection", str(root), "--config", config, *GIVEN, *more]


def drafted(root: Path, *more: str) -> Path:
    with serve(Author({"proposals": [proposal(1)]}, task())) as server:
        made = write_collection(root, server.url)
        assert main(words(made, *more)) == 0
    return made


def review(root: Path, lines: str, monkeypatch: Patch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    assert main(["draft", "review", "--collection", str(root), "--time", "2026-11-25T12:00:00Z"]) == 0


def records(root: Path, kind: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted((root / "drafts" / kind).glob("*.json"))]


def desk(root: Path) -> Any:
    from datetime import UTC, datetime

    collection = load_collection((str(root),))
    found = {each.title: each for each in open_desks(collection, lambda: datetime(2026, 11, 25, 12, tzinfo=UTC))}
    return found["tasks"]


@pytest.mark.slow
def test_from_a_skill_to_an_accepted_task(tmp_path: Path, monkeypatch: Patch, capsys: Said) -> None:
    with serve(Author({"proposals": [proposal(1), proposal(2)]}, task())) as server:
        root = write_collection(tmp_path / "c", server.url)
        assert main(words(root)) == 0
        review(root, "a\nr of no use\n", monkeypatch)
        states = {each["state"]: each for each in records(root, "proposals")}
        assert set(states) == {"accepted", "rejected"}
        assert states["rejected"]["verdict"] == {"by": "person", "at": "2026-11-25T12:00:00Z", "reason": "of no use"}
        assert main(words(root)) == 0
    assert not (root / "tasks").exists(), "nothing enters before it is accepted"
    capsys.readouterr()
    review(root, "a\n", monkeypatch)
    assert "Please write `bills.json`" in capsys.readouterr().out
    (made,) = records(root, "tasks")
    assert made["state"] == "accepted"
    (accepted,) = load_tasks([str(root / "tasks")]).tasks
    assert accepted.id == made["id"] and accepted.oracle is not None
    assert main(["effectiveness", "check", str(root / "tasks"), "--sandbox", "none"]) == 0
    assert main(["draft", "report", str(root), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out.split("\n", 1)[1])
    assert (report["all"]["unchanged"], report["all"]["rejected_by_person"]) == (2, 1)


@pytest.mark.slow
def test_an_edited_task_is_tried_again(tmp_path: Path) -> None:
    root = drafted(tmp_path / "c", "--straight")
    (draft,) = desk(root).waiting()
    made_by = dict(desk(root).show(draft).fields)["made by"]
    text = json.loads(desk(root).write_out(draft))
    text["instruction"] += "The month is May.\n"
    edited = desk(root).edit(draft, json.dumps(text))
    assert dict(desk(root).show(edited).fields)["made by"] == f"{made_by}, edited"
    assert is_edited(edited) and edited.state == "proposed" and edited.content.digest != draft.content.digest
    assert load_tasks([str(root / "drafts/tasks")]).tasks[0].prompt.endswith("The month is May.\n")
    text["instruction"] += "Take harbour-dues for it.\n"
    spoiled = desk(root).edit(edited, json.dumps(text))
    assert "harbour-dues" in desk(root).find_fault(spoiled)
    for bad in (
        "", "{", '{"instruction": "x"}', '{"instruction": "x", "criteria": [{"id": "a"}]}',
        '{"instruction": 1, "criteria": []}',
    ):  # fmt: skip
        with pytest.raises(Exception, match=r"no task|is missing"):
            desk(root).edit(spoiled, bad)
    assert json.loads(desk(root).write_out(spoiled)) == text, "what is no task changes nothing"


@pytest.mark.slow
def test_a_copy_that_was_cut_off_is_completed_or_taken_back(tmp_path: Path, monkeypatch: Patch) -> None:
    root = drafted(tmp_path / "c", "--straight")
    (draft,) = desk(root).waiting()

    def cut_off(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("skill_health.drafts.store._write", cut_off)
        desk(root).accept(draft)
    place = root / "tasks" / draft.id
    assert place.is_dir() and desk(root).waiting() == (draft,)
    assert desk(root).accept(draft).state == "accepted" and place.is_dir()
    other = drafted(tmp_path / "d", "--straight")
    (draft,) = desk(other).waiting()
    accept.copy_folder(str(other / "drafts/tasks" / draft.id), str(other / "tasks" / draft.id))
    assert desk(other).reject(draft, "too plain").state == "rejected" and not (other / "tasks" / draft.id).exists()


@pytest.mark.slow
def test_another_task_of_that_name_is_left_alone(tmp_path: Path) -> None:
    root = drafted(tmp_path / "c", "--straight")
    (draft,) = desk(root).waiting()
    (root / "tasks" / draft.id).mkdir(parents=True)
    (root / "tasks" / draft.id / "mine.txt").write_text("mine\n", "utf-8")
    with pytest.raises(Exception, match=draft.id):
        desk(root).accept(draft)
    desk(root).reject(draft, "no")
    assert (root / "tasks" / draft.id / "mine.txt").is_file()
    assert read_drafts(str(root), TaskDraft).drafts[0].state == "rejected"


@pytest.mark.slow
def test_a_folder_that_is_gone_is_said(tmp_path: Path, monkeypatch: Patch, capsys: Said) -> None:
    root = drafted(tmp_path / "c", "--straight")
    (draft,) = desk(root).waiting()
    subprocess.run(["rm", "-r", str(root / "drafts/tasks" / draft.id)], check=True)
    assert any("the folder of the drafted task is gone" in each for each in desk(root).problems())
