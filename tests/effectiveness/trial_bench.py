"""Cells for trials whose agent is a script of the test: run for real, in a real sandbox."""

from __future__ import annotations

import asyncio
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from skill_health.bench.http.messages import Usage
from skill_health.documents.effect_result import TrialResult
from skill_health.effectiveness.agents._api import Agent, Command, Job, ProgramOutput, StreamReading, TrajectoryStep
from skill_health.effectiveness.agents._load import AgentChoice
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.tasks._api import Script, Task, script, task_digest
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.trial.spec import TrialSpec
from skill_health.effectiveness.trial.trial import run_trial
from skill_health.effectiveness.workspace.copies import make_copy
from skill_health.effectiveness.workspace.staging import parse_arm

SKILLS = ".agents/skills"
SANDBOXES = ("bubblewrap", "none")


def needs_bubblewrap() -> None:
    """Skip where bubblewrap cannot be used."""
    module = back_end("bubblewrap")
    if not module.found():
        pytest.skip(f"{module.missing()}; here: bash scripts/install_sandbox.sh")


def skill(name: str, description: str = "", **files: str) -> SkillCopy:
    """A skill as it is staged."""
    text = f"---\nname: {name}\ndescription: {description or name}\n---\n# {name}\n"
    more = [File(path, body.encode()) for path, body in files.items()]
    return make_copy(name, description or name, [File("SKILL.md", text.encode()), *more])


def agent(text: str, language: str = "bash", **more: Any) -> Agent:
    """An agent that is a script; what it prints on stdout is its final message.

    A line `@listed a b` on stdout says which skills it lists, `@opened a` which one it opened.
    """

    def command(job: Job) -> Command:
        words = ("bash", "-c", text) if language == "bash" else ("python3", "-I", "-S", "-c", text)
        return Command(words, {"MODEL_KEY": job.key, "MODEL_URL": job.base_url})

    def read(output: ProgramOutput, job: Job) -> StreamReading:
        lines = output.stdout.decode("utf-8", "replace").splitlines()
        said = {line.split()[0]: tuple(line.split()[1:]) for line in lines if line.startswith("@")}
        final = "\n".join(line for line in lines if not line.startswith("@"))
        failure = cast(Any, (said.get("@failure") or ("",))[0])
        return StreamReading(
            steps=(TrajectoryStep("user", job.prompt), TrajectoryStep("agent", final)), final_message=final, listed=said.get("@listed"),
            invocations=said.get("@opened", ()), usage=Usage(input_tokens=7, output_tokens=3), failure=failure,
            error=f"it said {failure}" if failure else "",
        )  # fmt: skip

    values: dict[str, Any] = {
        "TITLE": "script", "PROGRAM": "", "SKILLS": SKILLS, "PROTOCOLS": (), "ORDERED": True, "VERIFIED": "", "EXTRA": "",
        "IMPORTS": (), "SIMULATED": True, "command": command, "probe": lambda job: None, "listed": lambda output: None,
        "read": read,
    }  # fmt: skip
    return cast(Agent, SimpleNamespace(**{**values, **more}))


def verifier(text: str, timeout_sec: float = 10.0, **files: str) -> Script:
    """A verifier that is a shell script."""
    staged = [File("verify.sh", text.encode()), *(File(path, body.encode()) for path, body in files.items())]
    return script(("bash", "verify.sh"), staged, timeout_sec)


def task(tmp_path: Path, verify: Script | None, files: Mapping[str, str] | None = None, **more: Any) -> Task:
    """A task that lies in a folder of its own."""
    start = tuple(File(path, body.encode()) for path, body in (files or {"in.txt": "1\n2\n"}).items())
    folder = tmp_path / "collection" / "task"
    folder.mkdir(parents=True, exist_ok=True)
    values: dict[str, Any] = {"agent_timeout_sec": 20.0, "digest": task_digest("do it", start, (), 20.0), **more}
    return Task(
        id="t1", slug="t1", path="task", format="plan_directory", prompt="do it", target_skills=("alpha",), files=start,
        verifier=verify, folder=str(folder), **values,
    )  # fmt: skip


def cell(
    made: Task, of: Agent, sandbox: str = "bubblewrap", skills: Sequence[SkillCopy] = (), **more: Any
) -> TrialSpec:
    """A cell; the arm is target where skills are staged."""
    values: dict[str, Any] = {
        "limits": SandboxLimits(timeout_sec=15.0, output_bytes=1 << 20, disk_bytes=64 << 20),
        **more,
    }
    return TrialSpec(
        task=made, arm=parse_arm("target" if skills else "control"), choice=AgentChoice("script", of, "script", "", ""),
        replication=0, skills=tuple(skills), prompt=made.prompt, back_end=sandbox, **values,
    )  # fmt: skip


def run(tmp_path: Path, what: TrialSpec) -> tuple[TrialResult, Path]:
    """The result of a trial, and its folder."""
    place = tmp_path / "reports" / "trials" / "one"
    place.parent.mkdir(parents=True, exist_ok=True)
    return asyncio.run(run_trial(what, str(place))), place


def tried(
    tmp_path: Path, text: str, sandbox: str = "bubblewrap", verify: str = "exit 0", **more: Any
) -> tuple[TrialResult, Path]:
    """One trial of a bash script, verified by another."""
    if sandbox == "bubblewrap":
        needs_bubblewrap()
    made = task(tmp_path, verifier(verify), more.pop("files", None))
    return run(tmp_path, cell(made, agent(text), sandbox, **more))


def record(place: Path, name: str) -> Any:
    """A JSON file of a trial."""
    return json.loads((place / name).read_text("utf-8"))


def archived(place: Path) -> dict[str, tarfile.TarInfo]:
    """The members of the kept workspace."""
    with tarfile.open(place / "workspace.tar.gz") as archive:
        return {member.name: member for member in archive}


def everything(place: Path) -> bytes:
    """All bytes of a trial's folder, with the archive unpacked."""
    found = [path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()]
    if (place / "workspace.tar.gz").exists():
        with tarfile.open(place / "workspace.tar.gz") as archive:
            for member in archive:
                found.append(f"{member.name}\0{member.linkname}".encode("utf-8", "surrogateescape"))
                stream = archive.extractfile(member) if member.isreg() else None
                found.append(stream.read() if stream else b"")
    return b"\n".join(found)


def running(word: str) -> list[int]:
    """The processes whose command line holds a word."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in words:
                found.append(int(entry.name))
    return found
