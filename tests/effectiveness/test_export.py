"""`effectiveness export`: the trials of a run in the forms of other tools, read by those tools where they are there."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from trial_made import HOSTILE
from trials_run import KEPT, OPENING, SKILL, first_task, story, write

from skill_health.commands.effectiveness import command as group
from skill_health.core.errors import UsageError
from skill_health.core.validation import problems
from skill_health.effectiveness.exports import export_names, load_export

INSPECT = "inspect_ai==0.3.285"
READ = """
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log
for info in sorted(list_eval_logs(sys.argv[1]), key=lambda each: each.name):
    log = read_eval_log(info)
    print(json.dumps({
        "status": log.status, "arm": log.eval.task_args["arm"], "model": log.eval.model, "epochs": log.eval.config.epochs,
        "metrics": {s.name: {m: v.value for m, v in s.metrics.items()} for s in log.results.scores},
        "scored": {s.name: [s.scored_samples, s.unscored_samples] for s in log.results.scores},
        "samples": [{
            "id": s.id, "epoch": s.epoch, "input": s.input, "scores": {k: v.value for k, v in (s.scores or {}).items()},
            "error": s.error.message if s.error else None, "roles": [m.role for m in s.messages],
            "calls": [[c.function, c.arguments] for m in s.messages if m.role == "assistant" for c in m.tool_calls or []],
            "opened": [m.metadata["opened_skills"] for m in s.messages if m.metadata],
            "answer": s.output.completion, "time": s.total_time,
            "usage": [[u.input_tokens, u.output_tokens, u.total_tokens, u.input_tokens_cache_read]
                      for u in s.model_usage.values()],
        } for s in log.samples],
    }))
"""


@pytest.fixture
def export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, bytes]]:
    """The files that `effectiveness export` writes for the run below `reports`, by name."""
    monkeypatch.chdir(tmp_path)

    def written(form: str, out: str = "out") -> dict[str, bytes]:
        given = ["export", "--format", form, "--out", out, "--reports", "reports"]
        assert group.main(given, standalone_mode=False) == 0
        return {each.name: each.read_bytes() for each in sorted(Path(out).glob("*"))}

    return written


def logs(files: dict[str, bytes]) -> dict[str, Any]:
    found = [json.loads(data) for data in files.values()]
    return {each["eval"]["task_args"]["arm"]: each for each in found}


def test_each_form_is_a_file_with_a_title() -> None:
    assert export_names() == ["atif", "inspect"]
    assert all(load_export(name).TITLE for name in export_names())


def test_a_trajectory_keeps_its_schema_and_has_the_result(export: Any, tmp_path: Path, capfd: Any) -> None:
    folder = write(tmp_path / "reports")
    files = export("atif")
    assert len(files) == 3
    assert [each for data in files.values() for each in problems("trajectory", json.loads(data))] == []
    said = capfd.readouterr()
    assert "1 trial left out" in said.err and "3 files of 3 trials" in said.out
    told = [json.loads(data)["extra"]["skill_health"] for data in files.values()]
    first = next(each for each in told if (each["task_id"], each["arm"]) == (first_task(folder), "target"))
    assert (first["outcome"], first["invocations"], first["evidence"]) == ("pass", [SKILL], [OPENING])
    assert first["checks"] == [{"kind": "test", "name": name, "said": "passed"} for name in ("total", "file")]


def test_a_log_for_each_arm_with_what_was_not_scored_as_an_error(export: Any, tmp_path: Path) -> None:
    write(tmp_path / "reports")
    found = logs(export("inspect"))
    assert set(found) == {"control", "target"}
    metrics = {arm: {s["name"]: s for s in log["results"]["scores"]} for arm, log in found.items()}
    assert metrics["target"]["outcome"]["metrics"]["accuracy"]["value"] == 1.0
    assert metrics["control"]["outcome"]["metrics"]["accuracy"]["value"] == 0.0
    outcome = metrics["control"]["outcome"]
    assert (outcome["scored_samples"], outcome["unscored_samples"]) == (1, 1)
    scored, other = found["control"]["samples"]
    assert scored["scores"]["outcome"]["value"] == "I" and "error" not in scored
    assert "scores" not in other and other["error"]["message"] == "infrastructure: the sandbox did not start"


def test_the_same_run_gives_the_same_bytes(export: Any, tmp_path: Path) -> None:
    write(tmp_path / "reports")
    for form in export_names():
        assert export(form, f"{form}-1") == export(form, f"{form}-2")


@pytest.mark.parametrize("form", export_names())
def test_what_a_stranger_wrote_stays_data(export: Any, tmp_path: Path, form: str) -> None:
    step = {
        "source": "agent", "message": HOSTILE, "tool_calls": [
            {"tool_call_id": HOSTILE, "function_name": HOSTILE, "arguments": {HOSTILE: [float("nan"), 1 << 80, HOSTILE]}}
        ], "observation": {"results": [{"source_call_id": HOSTILE, "content": HOSTILE}]},
    }  # fmt: skip
    told = HOSTILE.replace("\ud800", "")
    files = {**KEPT, "target": {**KEPT["target"], "trajectory.json": story(step)}}
    write(tmp_path / "reports", files, notes=(told,), resolved_model=told, stop_reason=told)
    found = export(form)
    assert found
    for name, data in found.items():
        assert data.isascii() and os.sep not in name and b"NaN" not in data
        json.loads(data, parse_constant=lambda said: pytest.fail(f"no JSON: {said}"))


def test_a_folder_that_is_not_empty_is_refused(export: Any, tmp_path: Path) -> None:
    write(tmp_path / "reports")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(UsageError, match="out is not an empty folder: name another --out"):
        export("atif")
    with pytest.raises(UsageError):
        given = ["export", "nowhere", "--format", "atif", "--out", "o", "--reports", "reports"]
        group.main(given, standalone_mode=False)


@pytest.fixture(scope="module")
def inspect(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has inspect_ai."""
    env = tmp_path_factory.mktemp("inspect") / "env"
    subprocess.run([sys.executable, "-m", "venv", env], check=True)
    pip = [env / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", INSPECT]
    subprocess.run(pip, check=True)
    return env / "bin"


@pytest.mark.real
def test_inspect_reads_the_logs_and_views_them(export: Any, tmp_path: Path, inspect: Path) -> None:
    task = first_task(write(tmp_path / "reports"))
    export("inspect")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        [inspect / "python", "-c", READ, tmp_path / "out"], env=env, capture_output=True, encoding="utf-8", check=True
    )
    found = {each["arm"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert {arm: (log["status"], log["epochs"], log["model"]) for arm, log in found.items()} == dict.fromkeys(
        ("control", "target"), ("success", 1, "m")
    )
    assert found["control"]["scored"] == {"outcome": [1, 1], "reward": [1, 1]}
    assert found["target"]["metrics"] == {"outcome": {"accuracy": 1.0}, "reward": {"mean": 1.0}}
    sample = next(each for each in found["target"]["samples"] if each["id"] == task)
    assert sample == {
        "id": task, "epoch": 1, "input": "Count the crates.", "scores": {"outcome": "C", "reward": 1.0}, "error": None,
        "roles": ["user", "assistant", "tool", "assistant", "tool", "assistant"],
        "calls": [["Skill", {"skill": SKILL}], ["Bash", {"command": "grep -c crate a.txt"}]], "opened": [[SKILL]],
        "answer": "2 dozen.\n", "time": 1.5, "usage": [[1000, 34, 1234, 200]],
    }  # fmt: skip
    assert [each["error"] for each in found["control"]["samples"]] == [
        None,
        "infrastructure: the sandbox did not start",
    ]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    view = subprocess.Popen(
        [inspect / "inspect", "view", "start", "--host", "127.0.0.1", "--port", str(port), "--log-dir", tmp_path / "out"],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        listed = _answer(view, f"http://127.0.0.1:{port}/api/logs")
    finally:
        os.killpg(view.pid, signal.SIGKILL)
        view.communicate()
    assert sorted(each.name for each in (tmp_path / "out").glob("*")) == sorted(
        os.path.basename(each["name"]) for each in json.loads(listed)["files"]
    )


def _answer(server: subprocess.Popen[bytes], address: str) -> bytes:
    """What a server says that is just starting."""
    for _ in range(600):
        assert server.poll() is None, "the server has ended"
        try:
            with urllib.request.urlopen(address, timeout=30) as reply:
                return bytes(reply.read())
        except OSError:
            time.sleep(0.1)
    pytest.fail("the server does not answer")
