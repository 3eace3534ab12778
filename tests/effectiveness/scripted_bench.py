"""One job of an agent of our own in fresh folders, without a sandbox: staged, run, read and verified."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from skill_health.effectiveness.agents._api import Job, ProgramOutput, StreamReading
from skill_health.effectiveness.check.skills import collection
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.trial.verify import Verified, verify
from skill_health.effectiveness.workspace.copies import copies
from skill_health.effectiveness.workspace.folders import Places, make_places, remove_tree, write_files
from skill_health.effectiveness.workspace.process import clean_environment
from skill_health.effectiveness.workspace.staging import parse_arm, prompt_of, staged
from skill_health.effectiveness.workspace.workspace import workplace

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def fixture_tasks(*names: str) -> tuple[Task, ...]:
    """Tasks of the fixtures by the names of their folders."""
    return load_tasks([str(FIXTURES / "tasks" / name) for name in names] or [str(FIXTURES / "tasks")]).tasks


def fixture_copies() -> dict[str, SkillCopy]:
    """The skills of the fixtures."""
    root, skills = collection([str(FIXTURES / "skills")], None)
    return copies(skills, root)


def task_folder(place: Path, name: str, prompt: str, target: str, verify: str) -> Task:
    """A task of the plan's format, written to a folder and loaded from there."""
    (place / "starting").mkdir(parents=True)
    (place / "starting/list.txt").write_text("pear\napple\n", encoding="utf-8")
    (place / "task.md").write_text(f"{prompt}\n", encoding="utf-8")
    (place / "verify.sh").write_text(f"#!/bin/sh\n{verify}", encoding="utf-8")
    (place / "verify.sh").chmod(0o755)
    facts = {
        "id": name, "slug": name, "target_skill": target, "irrelevant_skill": "none", "category": "data-cleaning",
        "difficulty": "easy", "notes": "Made for a test.",
    }  # fmt: skip
    (place / "metadata.json").write_text(json.dumps(facts), encoding="utf-8")
    loaded = load_tasks([str(place)])
    assert not loaded.problems, loaded.problems
    return loaded.tasks[0]


@dataclass(frozen=True)
class Bench:
    """A workspace with its skills in place, and a job that is to be done in it."""

    places: Places
    job: Job
    task: Task

    def run(self, agent: Any, *, probing: bool = False, timeout: float = 60.0) -> ProgramOutput:
        """Start the agent's command as a sandbox would."""
        command = agent.probe(self.job) if probing else agent.command(self.job)
        write_files(self.places.home, command.files)
        environment = clean_environment(self.places.home, self.places.temporary, command.env.items())
        try:
            done = subprocess.run(
                command.argv, cwd=self.places.workspace, env=environment, input=command.stdin, capture_output=True,
                timeout=timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as expired:
            return ProgramOutput(None, expired.stdout or b"", expired.stderr or b"", "timeout")
        return ProgramOutput(done.returncode, done.stdout, done.stderr, duration_ms=1234.5)

    def trial(self, agent: Any, **more: Any) -> tuple[StreamReading, Verified]:
        """Run the agent, read its stream and verify what it left."""
        output = self.run(agent, **more)
        reading: StreamReading = agent.read(output, self.job)
        Path(self.places.final).write_text(reading.final_message, encoding="utf-8")
        return reading, asyncio.run(verify(self.task, workplace(self.task, self.places, back_end("none"))))


@contextmanager
def bench(
    task: Task,
    arm: str = "target",
    found: Mapping[str, SkillCopy] | None = None,
    skills: Sequence[SkillCopy] | None = None,
    **job: Any,
) -> Iterator[Bench]:
    """A fresh place for one trial; `job` are further fields of its Job."""
    if skills is None:
        chosen = staged(task, parse_arm(arm), found or {})
        assert not isinstance(chosen, str), chosen
        skills = chosen
    places = make_places(task.folder, "bench-")
    try:
        write_files(places.workspace, task.files)
        for skill in skills:
            write_files(os.path.join(places.workspace, ".agents/skills", skill.name), skill.files)
        given = Job(
            spec="", model="", prompt=prompt_of(task, parse_arm(arm), skills), workspace=places.workspace,
            home=places.home, temporary=places.temporary, skills=tuple(skills), arm=arm, task=task,
        )  # fmt: skip
        yield Bench(places, replace(given, **job), task)
    finally:
        remove_tree(places.base)
