"""Jobs, skills and recorded streams for the tests of agents."""

from __future__ import annotations

from pathlib import Path

from skill_health.effectiveness.agents._api import Job, ProgramOutput
from skill_health.effectiveness.records import SkillCopy
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.workspace.copies import make_copy

STREAMS = Path(__file__).with_name("streams")
BODY = "# Steps\n\nWrite the {name} number onto the invoice twice.\nNever forget the stripes of {name}, which matter.\n"


def made_skill(name: str, body: str | None = None) -> SkillCopy:
    about = f"Use when there is {name} to be written."
    text = f"---\nname: {name}\ndescription: {about}\n---\n{BODY.format(name=name) if body is None else body}"
    return make_copy(name, about, [File("SKILL.md", text.encode())])


def made_job(*skills: SkillCopy, prompt: str = "Write it.", model: str = "some-model-1", protocol: str = "") -> Job:
    return Job(
        f"agent:{model}", model, prompt, "/workspace", "/home/agent", "/tmp", skills, "/opt/bin/program", protocol,
        "http://127.0.0.1:8181", "stand-in-0123456789",
    )  # fmt: skip


def recorded(agent: str, name: str, stopped: str = "", stderr: bytes = b"", exit_code: int | None = 0) -> ProgramOutput:
    """A stream that the real program printed, with paths, ids and ports replaced."""
    raw = (STREAMS / agent / name).read_bytes()
    return ProgramOutput(None if stopped else exit_code, raw, stderr, stopped)
