"""Files of a run that somebody damaged: what can be had again is, nothing is paid for twice, and no cap forgets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_collection import labelled, write_collection
from nursery import rows

from skill_health.commands.router import command as group
from skill_health.core.errors import AbortedError, SkillHealthError, UsageError

TIME = "2026-03-01T00:00:00Z"
ALL, CHECK = 18, 6


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """`router run` over three skills and six prompts, three times each; errors are raised as they are."""
    monkeypatch.chdir(write_collection(tmp_path, labelled(6)))

    def run(*given: str) -> int:
        arguments = ["run", "--models", "scripted:skill=1", "--time", TIME, "--quiet", *given]
        code: int = group.main(arguments, standalone_mode=False)
        return code

    return run


@pytest.fixture
def half(call: Callable[..., int]) -> Path:
    """The folder of a run that a cap stopped when it had 10 results."""
    with pytest.raises(AbortedError):
        call("--max-runs", str(10 + CHECK))
    (folder,) = Path("reports/router").iterdir()
    assert len(rows(folder / "results.jsonl")) == 10
    return folder


def starts(folder: Path) -> int:
    return sum(row["event"] == "start" for row in rows(folder / "attempts.jsonl"))


def changed(**fields: Any) -> Callable[[bytes], bytes]:
    return lambda line: json.dumps(json.loads(line) | fields).encode() + b"\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda line: line[:20] + b"\n", id="cut"),
        pytest.param(lambda line: b"\x00\xff garbage\n", id="garbage"),
        pytest.param(lambda line: b"[]\n", id="no object"),
        pytest.param(changed(usage={"foo": 1}), id="unknown usage"),
        pytest.param(changed(ranking=5), id="ranking is a number"),
        pytest.param(changed(ranking=["maps-work", 3]), id="a number in the ranking"),
        pytest.param(changed(cost_usd="x"), id="cost is text"),
        pytest.param(changed(attempts=None), id="no attempts"),
        pytest.param(changed(status="weird"), id="unknown status"),
        pytest.param(changed(rationale=[]), id="rationale is a list"),
        pytest.param(changed(prompt_id="alien"), id="prompt of another run"),
    ],
)
def test_damaged_results_are_had_again_from_the_attempts(
    call: Callable[..., int], half: Path, damage: Callable[[bytes], bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    path = half / "results.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    sound = rows(path)
    lines[3], lines[4] = damage(lines[3]), damage(lines[4])
    path.write_bytes(b"".join(lines))
    with pytest.raises(AbortedError, match="incomplete: 7 calls have no result"):
        call("--max-runs", str(11 + CHECK))
    assert all(row in rows(path) for row in sound)
    assert "8 results are there" in capsys.readouterr().err
    assert call() == 0
    assert starts(half) == ALL + CHECK, "nothing was asked twice"
    assert len(rows(path)) == ALL
    assert len(list(half.parent.iterdir())) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attempts.jsonl", "results.jsonl"])
def test_one_of_the_two_files_is_enough(call: Callable[..., int], half: Path, name: str) -> None:
    (half / name).unlink()
    with pytest.raises(AbortedError, match=r"the cap of \d+ calls is reached|leaves no room for the instrument check"):
        call("--max-runs", str(10 + (CHECK if name == "results.jsonl" else 0)))
    assert len(rows(half / "results.jsonl")) == 10
    assert call() == 0
    assert len(rows(half / "results.jsonl")) == ALL


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: "{", id="cut"),
        pytest.param(lambda data: "", id="empty"),
        pytest.param(lambda data: json.dumps({**data, "models": [{}]}), id="models without names"),
        pytest.param(lambda data: json.dumps({**data, "hashes": []}), id="hashes of another type"),
        pytest.param(lambda data: json.dumps({**data, "prompts": data["prompts"][:3]}), id="fewer prompts"),
        pytest.param(lambda data: json.dumps({**data, "seed": 2}), id="another seed"),
        pytest.param(lambda data: json.dumps({key: data[key] for key in data if key != "prompts"}), id="no prompts"),
    ],
)
def test_a_damaged_manifest_is_told_and_not_taken_for_no_run(
    call: Callable[..., int], half: Path, damage: Callable[[dict[str, Any]], str]
) -> None:
    path = half / "manifest.json"
    path.write_text(damage(json.loads(path.read_text("utf-8"))), "utf-8")
    with pytest.raises(UsageError, match=r"this run was begun and cannot be resumed: .*; --no-resume starts a new one"):
        call()
    with pytest.raises(SkillHealthError):
        call("--resume", half.name)
    assert starts(half) == 10 + CHECK
    assert call("--no-resume", "--time", "2026-03-02T00:00:00Z") == 0
    assert len(list(half.parent.iterdir())) == 2


@pytest.mark.slow
def test_a_finished_run_with_a_damaged_manifest_holds_nothing_up(call: Callable[..., int]) -> None:
    assert call() == 0
    (folder,) = Path("reports/router").iterdir()
    (folder / "manifest.json").write_text("{", "utf-8")
    assert call("--time", "2026-03-02T00:00:00Z") == 0
    assert len(list(folder.parent.iterdir())) == 2
