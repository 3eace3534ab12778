"""A killed drafting goes on where it was: nothing is asked twice that was answered, and the drafts are the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loopback import Reaction, Seen, answer
from task_drafts import Author, changed, proposal, serve, stage_of, write_collection

from skill_health.cli import main
from skill_health.drafts.tasks import draft

Patch = pytest.MonkeyPatch
PROPOSALS = {"proposals": [proposal(1), proposal(2), proposal(3)]}
# Rejected before anything is run, so that what is killed is the asking.
TASK = changed(lambda made: made["files"].append({"path": "../x", "text": ""}))
WORDS = (
    "--model", "scripted:author", "--max-calls", "50", "--straight", "--sandbox", "none", "--quiet",
    "--concurrency", "1",
)  # fmt: skip


def words(root: Path) -> list[str]:
    config = str(root / "skill-health.toml")
    return ["draft", "tasks", "--collection", str(root), *WORDS, "--config", config, "--time", "2026-11-25T10:00:00Z"]


def drafts_of(root: Path) -> dict[str, Any]:
    """The drafts, without the names of the runs in which they were asked."""
    found = {}
    for path in sorted((root / "drafts").rglob("*.json")):
        data = json.loads(path.read_text("utf-8"))
        data.get("origin", {}).pop("run", None)
        found[str(path.relative_to(root))] = data
    return found


class Killer:
    """Answers, and kills the process that asks when its request of this number arrives."""

    def __init__(self, at: int) -> None:
        self.at, self.asked = at, list[tuple[str, str]]()
        self.victim: subprocess.Popen[bytes] | None = None

    def __call__(self, seen: Seen) -> Reaction:
        stage = stage_of(seen)
        if seen.number == self.at and self.victim is not None:
            self.victim.send_signal(signal.SIGKILL)
            return Reaction(hang=True)
        self.asked.append((stage, seen.text))
        return answer(seen, json.dumps(PROPOSALS if stage == "proposals" else TASK))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("whole") / "c"
    with serve(Author(PROPOSALS, TASK)) as server:
        assert main(words(write_collection(root, server.url))) == 0
    found = drafts_of(root)
    assert len(found) == 6
    return found


@pytest.mark.parametrize(
    "at", [pytest.param(at, marks=pytest.mark.slow if at == 3 else pytest.mark.exhaustive) for at in range(1, 5)]
)
def test_a_kill_while_a_model_is_asked(at: int, whole: dict[str, Any], tmp_path: Path) -> None:
    from loopback import Loopback

    killer = Killer(at)
    with Loopback(killer) as server:
        root = write_collection(tmp_path / "c", server.url)
        command = [sys.executable, "-m", "skill_health", *words(root)]
        killer.victim = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert killer.victim.wait(600) == -signal.SIGKILL
        killer.victim = None
        assert main(words(root)) == 0
    assert drafts_of(root) == whole
    assert sorted(stage for stage, _ in killer.asked) == ["proposals", *["tasks"] * 3]
    assert len(set(killer.asked)) == 4, "no question was answered twice"


class Killed(BaseException):
    """What a test has happen in the place of a kill."""


@pytest.mark.parametrize(
    "at", [pytest.param(at, marks=pytest.mark.slow if at in (2, 5) else pytest.mark.exhaustive) for at in range(1, 7)]
)
def test_a_kill_while_drafts_are_written(at: int, whole: dict[str, Any], tmp_path: Path, monkeypatch: Patch) -> None:
    """Before each record that is written there is nothing of it, or a folder that does not count."""
    real, left = draft.add_drafts, at

    def add(root: str, drafts: Any) -> Any:
        nonlocal left
        added: tuple[Any, ...] = ()
        for each in drafts:
            left -= 1
            if left == 0:
                raise Killed
            added += real(root, [each])
        return added

    author = Author(PROPOSALS, TASK)
    with serve(author) as server:
        root = write_collection(tmp_path / "c", server.url)
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(draft, "add_drafts", add)
            main(words(root))
        assert len(drafts_of(root)) == at - 1
        assert main(words(root)) == 0
    assert drafts_of(root) == whole
    assert sorted(author.asked) == ["proposals", *["tasks"] * 3]


@pytest.mark.slow
def test_a_folder_without_a_record_is_written_anew(tmp_path: Path) -> None:
    """It is what a process left that was killed between the two."""
    leak = changed(lambda made: made.update(instruction=made["instruction"] + "The key is dues_cents.\n"))
    with serve(Author({"proposals": [proposal()]}, leak)) as server:
        root = write_collection(tmp_path / "c", server.url)
        assert main(words(root)) == 0
        (record,) = (root / "drafts/tasks").glob("*.json")
        place = record.with_suffix("")
        whole = (place / "rubric.json").read_bytes()
        record.unlink()
        (place / "rubric.json").write_text("half", "utf-8")
        os.makedirs(root / "drafts/tasks" / f".{place.name}.tmp" / "old")
        assert main(words(root)) == 0
    assert record.is_file() and (place / "rubric.json").read_bytes() == whole
    assert sorted(path.name for path in record.parent.iterdir()) == [place.name, record.name]
