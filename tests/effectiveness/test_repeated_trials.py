"""`effectiveness run --from` and `effectiveness verify`: the same trials again, or what differs; figures anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from run_made import Made, make_up, only_read, write_collection

from skill_health.commands.effectiveness import command as group
from skill_health.core.errors import UsageError
from skill_health.effectiveness.workspace.images import GATEWAY_ONLY, NetworkChoice, read_network


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write_collection(tmp_path / "collection", 3, 0)
    monkeypatch.chdir(root)
    only_read(monkeypatch)
    make_up(monkeypatch, Made())
    return root


def call(*words: str) -> int:
    code: int = group.main([*words], standalone_mode=False)
    return code


def begin(*given: str, time: str = "2026-03-01T00:00:00Z") -> Path:
    """Make a run; its folder."""
    assert call("run", "tasks", "--time", time, "--quiet", *given) == 0
    (folder,) = Path("reports/effectiveness").glob(f"{time.replace('-', '').replace(':', '')}-*")
    return folder


def scripted(*given: str) -> Path:
    return begin("--agents", "scripted", "--sandbox", "none", "--reps", "2", *given)


def again(run: str | Path, *given: str) -> Path:
    return begin("--from", str(run), *given, time="2026-03-02T00:00:00Z")


def settled(folder: Path) -> Any:
    """The report without the name and the time of its run."""
    return json.loads((folder / "report.json").read_text("utf-8")) | {"run_id": "", "created": ""}


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [("--arms", "target,aa", "--seed", "5"), ("--arms", "target,placebo", "--hint", "also", "--timeout", "30", "--margin", "0.2")],
)  # fmt: skip
def test_a_repeated_run_has_the_same_report(collection: Path, given: tuple[str, ...]) -> None:
    first = scripted(*given)
    second = again(first / "manifest.json")
    assert settled(first) == settled(second)
    assert call("verify", first.name) == call("verify", str(second)) == 0


@pytest.mark.slow
def test_only_the_tasks_that_the_run_had_are_tried_again(collection: Path) -> None:
    name = sorted(each.name for each in (collection / "tasks").iterdir())[0]
    begun = ("run", f"tasks/{name}", "--agents", "scripted", "--sandbox", "none", "--arms", "target", "--reps", "2")
    assert call(*begun, "--time", "2026-03-01T00:00:00Z", "--quiet") == 0
    (first,) = Path("reports/effectiveness").iterdir()
    assert settled(again(first)) == settled(first)


@pytest.mark.slow
def test_what_is_not_as_it_was_is_named(collection: Path) -> None:
    first = scripted("--arms", "target")
    with pytest.raises(UsageError, match="--from settles --arms"):
        again(first, "--arms", "aa")
    task = sorted((collection / "tasks").iterdir())[0] / "task.md"
    task.write_text(f"{task.read_text('utf-8')}\nMore.\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"the hash of tasks differs \(changed: t00\)\. No commit is known of it"):
        again(first)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "old", "new", "said"), [
    ("results.jsonl", '"outcome":"pass"', '"outcome":"fail"', "report.json: "),
    ("manifest.json", '"seed":1', '"seed":2', "run_id: "),
    ("report.md", "tasks", "tusks", "report.md: "),
    ("../../effectiveness-history.jsonl", '"verdict":', '"verdicts":', "effectiveness-history.jsonl: "),
])  # fmt: skip
def test_verify_names_what_does_not_follow(
    collection: Path, capsys: pytest.CaptureFixture[str], file: str, old: str, new: str, said: str
) -> None:
    run = scripted("--arms", "target")
    path = run / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    capsys.readouterr()
    assert call("verify") == 1
    assert said in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(("kept", "said"), [
    ({"outcome": "pass", "reward": 1.0}, "1 verdict, as computed"),
    ({"outcome": "fail", "reward": 0.25}, "trials/a: fail (0.25) is kept, pass (1) is reported"),
    ({"outcome": "unjudged", "reward": None}, "0 verdicts, as computed"),
    ([], "trials/a/verdict.json: it is damaged"),
])  # fmt: skip
def test_each_result_is_held_against_the_verdict_of_its_trial(
    collection: Path, capsys: pytest.CaptureFixture[str], kept: Any, said: str
) -> None:
    run = scripted("--arms", "target")
    lines = [json.loads(line) for line in (run / "results.jsonl").read_text("utf-8").splitlines()]
    next(line for line in lines if line["outcome"] == "pass").update(folder="trials/a", reward=1.0)
    lines[-1]["folder"] = "trials/../../elsewhere"
    (run / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for place in (run / "trials/a", run / "../elsewhere"):
        place.mkdir(parents=True)
        (place / "verdict.json").write_text(json.dumps(kept), encoding="utf-8")
    capsys.readouterr()
    call("verify")
    assert said in capsys.readouterr().out


@pytest.mark.slow
def test_a_published_run_is_read_back(collection: Path, tmp_path: Path) -> None:
    run = scripted("--arms", "target")
    out = tmp_path / "published"
    assert call("release", run.name, str(out)) == 0
    assert call("verify", run.name, "--out", str(out)) == 0 == call("report", "last", "--out", str(out))
    assert "simulated: says" in (out / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    "choice", [GATEWAY_ONLY, NetworkChoice("all"), NetworkChoice("scripts", ("a.example", "b.example"))]
)
def test_a_network_is_read_as_a_manifest_has_it(choice: NetworkChoice) -> None:
    assert read_network(str(choice)) == choice
