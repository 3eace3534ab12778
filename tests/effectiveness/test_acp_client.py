"""The client of the Agent Client Protocol against an agent made with the protocol's own library."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
from agent_made import made_job, made_skill
from effects_made import replace
from trial_bench import running

from skill_health.effectiveness.agents import acp
from skill_health.effectiveness.agents._api import ProgramOutput, StreamReading
from skill_health.effectiveness.workspace.folders import write_files

# Looked for and not imported, which takes a second whether or not its tests are run.
pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_spec("acp") is None, reason="the package acp is missing")]
PROGRAM = Path(__file__).with_name("acp_agent_program.py")


def driven(
    place: Path, prompt: str, *flags: str, words: list[str] | None = None, seconds: float = 60.0
) -> StreamReading:
    """What is read of the client's stream when it has driven the agent."""
    for name in ("workspace", "home"):
        (place / name).mkdir()
    settings = {"acp-command": words or [sys.executable, str(PROGRAM), *flags]}
    made = made_job(made_skill("zebra-invoices"), prompt=prompt, protocol="openai")
    job = replace(made, program="", workspace=str(place / "workspace"), home=str(place / "home"), settings=settings)
    command = acp.command(job)
    write_files(job.home, command.files)
    base = os.path.realpath(sys.executable)
    env: Mapping[str, str] = {"PATH": os.environ["PATH"], "HOME": job.home, **command.env}
    words = [base, *command.argv[1:]]
    try:
        done = subprocess.run(words, cwd=job.workspace, env=env, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as late:
        return acp.read(ProgramOutput(None, late.stdout or b"", late.stderr or b"", "timeout"), job)
    return acp.read(ProgramOutput(done.returncode, done.stdout, done.stderr), job)


def test_a_whole_turn_with_leave_asked_and_given_once(tmp_path: Path) -> None:
    reading = driven(tmp_path, "work talk")
    assert (reading.failure, reading.stop_reason, reading.version) == ("", "end_turn", "9.9")
    assert (reading.final_message, reading.steps[-1].reasoning) == ("All done.", "Hm.")
    (tool,) = [tool for step in reading.steps for tool in step.tools]
    assert (tool.name, tool.result, tool.failed) == ("shell", "once", False)
    workspace = tmp_path / "workspace"
    assert (workspace / "out.txt").read_text().strip() == str(workspace)
    assert "OPENAI_BASE_URL=http://127.0.0.1:8181/v1" in (workspace / "environment.txt").read_text()
    assert sorted(path.name for path in workspace.iterdir()) == ["environment.txt", "out.txt"]


@pytest.mark.parametrize(
    ("prompt", "flags", "said"),
    [("nothing_allowed", (), "cancelled"), ("files", (), "-32601 -32601"), ("talk", ("key",), "All done.")],
)
def test_what_is_offered_and_what_is_not(tmp_path: Path, prompt: str, flags: tuple[str, ...], said: str) -> None:
    """No leave that cannot be given once, no files, no terminals; but the key, where one is wanted."""
    assert driven(tmp_path, prompt, *flags).final_message == said


@pytest.mark.parametrize(
    ("prompt", "flags", "failure", "stop", "error"),
    [
        ("refusal", (), "refusal", "refusal", "the model refused"),
        ("talk max_tokens", (), "", "max_tokens", ""),
        ("talk fail", (), "auth", None, "answered 401: Incorrect API key provided"),
        ("talk die", (), "infrastructure", None, "Connection closed"),
        ("talk", ("future",), "infrastructure", None, "the agent speaks version 7 of the protocol, not 1"),
        ("babble talk", (), "", "end_turn", ""),
        ("talk list hang", (), "infrastructure", None, "Connection closed"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_ends(tmp_path: Path, prompt: str, flags: tuple[str, ...], failure: str, stop: str | None, error: str) -> None:
    reading = driven(tmp_path, prompt, *flags)
    assert (reading.failure, reading.stop_reason, reading.error) == (failure, stop, error)
    assert reading.final_message == ("All done." if "talk" in prompt and not flags else "")


@pytest.mark.parametrize(
    "words", [["/nowhere/agent"], [sys.executable, "-c", "pass"], ["sh", "-c", "echo hello; exit 1"]]
)
def test_a_program_that_does_not_speak_it(tmp_path: Path, words: list[str]) -> None:
    reading = driven(tmp_path, "talk", words=words)
    assert reading.failure == "infrastructure" and reading.error


def test_an_agent_that_hears_nothing_is_ended_and_takes_its_children_along(tmp_path: Path) -> None:
    assert driven(tmp_path, "child talk", "deaf").final_message == "All done."
    assert running("acp_agent_program") == []
    assert running("97.31") == []
