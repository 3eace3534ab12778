"""A run of two tasks in two arms with what was kept of each trial, for what reads trials back."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from effects_made import replace
from report_runs import kept, run, tasks
from trial_made import RUN, trajectory

from skill_health.documents._record import TokenUsage
from skill_health.effectiveness.run.runs import EffectRun

SKILL = "skill-0"
OPENING = "Skill skill-0"
ASKED = {"source": "user", "message": "Count the crates."}
OPENED = {
    "source": "agent", "message": "I read the skill.", "model_name": "m",
    "tool_calls": [{"tool_call_id": "c1", "function_name": "Skill", "arguments": {"skill": SKILL}}],
    "observation": {"results": [{"source_call_id": "c1", "content": "Crates are counted in dozens."}]},
}  # fmt: skip
COUNTED = {
    "source": "agent", "message": "", "reasoning_content": "I count.",
    "tool_calls": [{"tool_call_id": "c2", "function_name": "Bash", "arguments": {"command": "grep -c crate a.txt"}}],
    "observation": {"results": [{"source_call_id": "c2", "content": "24"}]},
}  # fmt: skip
TWELVE, TWO = {"source": "agent", "message": "24 crates."}, {"source": "agent", "message": "2 dozen."}
CHECKS = {"control": [("total", "failed"), ("file", "passed")], "target": [("total", "passed"), ("file", "passed")]}


def story(*steps: Mapping[str, Any]) -> bytes:
    """A trajectory of these steps, numbered."""
    return trajectory(*({"step_id": number, **step} for number, step in enumerate(steps, 1)))


def ctrf(*tests: tuple[str, str]) -> bytes:
    """A report of tests, as a verifier leaves it."""
    return json.dumps({"results": {"tests": [{"name": name, "status": status} for name, status in tests]}}).encode()


def workspace(files: Mapping[str, bytes]) -> bytes:
    """An archive of a workspace."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return held.getvalue()


KEPT: Mapping[str, Mapping[str, bytes]] = {
    "control": {
        "trajectory.json": story(ASKED, COUNTED, TWELVE), "final.txt": b"24 crates.\n", "diff.patch": b"+24\n",
        "verifier/ctrf.json": ctrf(*CHECKS["control"]), "verifier/stdout": b"total: no dozens\n",
        "workspace.tar.gz": workspace({"answer.txt": b"24\n", "a.txt": b"crate\n"}),
    },
    "target": {
        "trajectory.json": story(ASKED, OPENED, COUNTED, TWO), "final.txt": b"2 dozen.\n", "diff.patch": b"+2 dozen\n",
        "verifier/ctrf.json": ctrf(*CHECKS["target"]), "verifier/stdout": b"all well\n",
        "workspace.tar.gz": workspace({"answer.txt": b"2 dozen\n", "a.txt": b"crate\n", "skills/0/SKILL.md": b"x"}),
        "trial.json": json.dumps({"prompt": "Count the crates.", "skills_folder": "skills"}).encode(),
    },
}  # fmt: skip


def folder_of(task: str, arm: str) -> str:
    return f"trials/{task}--{arm}"


def write(reports: Path, files: Mapping[str, Mapping[str, bytes]] = KEPT, **of_line: Any) -> Path:
    """The folder of the run: control fails and target passes, the second task's control was not scored."""
    made = run(RUN, tasks=tasks(2, 0, 2), arms=("control", "target"), replications=1)
    results = []
    for each in made.results:
        target = each.arm == "target"
        outcome = "pass" if target else "fail" if each.task_id == made.results[0].task_id else "infrastructure"
        results.append(
            replace(
                each, outcome=outcome, reward=1.0 if target else 0.0, folder=folder_of(each.task_id, each.arm),
                error="" if outcome != "infrastructure" else "the sandbox did not start", duration_ms=1500.0,
                usage=TokenUsage(input_tokens=1200, output_tokens=34, cached_tokens=200), cost_usd=0.0125,
                invoked="yes" if target else "no", invocations=(SKILL,) if target else (),
                evidence=(OPENING,) if target else (), turns=3, tool_calls=2, **of_line,
            )
        )  # fmt: skip
    folder = kept(reports, EffectRun("", made.manifest, tuple(results)))
    for each in results:
        for name, data in files.get(each.arm, {}).items() if each.outcome != "infrastructure" else ():
            path = folder / each.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return folder


def first_task(folder: Path) -> str:
    return str(json.loads((folder / "results.jsonl").read_text().splitlines()[0])["task_id"])
