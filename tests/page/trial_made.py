"""Folders of reports with trials in them, written as a run would leave them, or as somebody who means harm would."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

RUN = "20261119T050000Z-aaaaaaaa"
HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e\x00\ud800<img src=x onerror=alert(1)>"


def line(task: str = "001", model: str = "m", arm: str = "target", replication: int = 0, **more: Any) -> dict[str, Any]:
    """A line of results.jsonl."""
    usage = {"input_tokens": 1200, "output_tokens": 34}
    return {
        "task_id": task, "model": model, "arm": arm, "replication": replication, "outcome": "fail", "reward": 0.25,
        "usage": usage, "cost_usd": 0.0125, "duration_ms": 61_500.0, "turns": 3, "tool_calls": 2, "error": "",
        "notes": [], "folder": f"trials/{task}--{model}--{arm}--r{replication}", "rewards": {}, "exit_code": 0,
        "stop_reason": None, "resolved_model": None, "usage_source": "", "cost_source": "", "invoked": "not_observable",
        "invocations": [], "evidence": [], "skills": [], "seen": None, "changed": None, "attempts": 1,
    } | more  # fmt: skip


def write_run(reports: Path, lines: Iterable[Any], run: str = RUN) -> Path:
    """The folder of a run with these lines; texts stand as they are."""
    folder = reports / "effectiveness" / run
    (folder / "trials").mkdir(parents=True, exist_ok=True)
    told = [each if isinstance(each, str) else json.dumps(each) for each in lines]
    (folder / "results.jsonl").write_text("".join(f"{each}\n" for each in told), encoding="utf-8")
    return folder


def write_trial(run: Path, told: Mapping[str, Any], files: Mapping[str, bytes]) -> Path:
    """The folder of a trial with these files."""
    folder = run / str(told["folder"])
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def trajectory(*steps: Any) -> bytes:
    """A trajectory of these steps."""
    return json.dumps({"schema_version": "ATIF-v1.7", "agent": {"name": "a", "version": "1"}, "steps": steps}).encode()
