"""The Agent Client Protocol: what the client is started with, how streams of three real agents are read."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from typing import Any

import pytest
from agent_hostile import borne, cut, events, lines
from agent_made import STREAMS, made_job, made_skill, recorded
from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench.http.messages import Usage
from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents import acp
from skill_health.effectiveness.agents._api import Command, ProgramOutput, StreamReading

WORDS = ["some-agent", "--acp", "--model={model}", "{not this}"]
ENV = {"SETTINGS": '{"url": "{base_url}/v1", "key": "{key}"}', "PLACE": "{home}|{workspace}", "OPENAI_MODEL": "other"}
ZEBRA = made_skill("zebra-invoices")
JOB = replace(made_job(ZEBRA, protocol="openai"), settings={"acp-command": WORDS, "acp-env": ENV}, program="")
WHOLE = (STREAMS / "acp" / "gemini-skill.jsonl").read_bytes()


def read(name: str, **more: Any) -> StreamReading:
    return acp.read(recorded("acp", f"{name}.jsonl", **more), JOB)


def plan(command: Command) -> dict[str, Any]:
    (file,) = command.files
    assert command.argv[-1] == f"{JOB.home}/{file.path}"
    found: dict[str, Any] = json.loads(file.data)
    return found


def test_the_client_is_told_what_to_start() -> None:
    command = acp.command(replace(JOB, prompt="--help; `x`"))
    told = plan(command)
    assert told["argv"] == ["some-agent", "--acp", "--model=some-model-1", "{not this}"]
    assert (told["cwd"], told["prompt"]) == ("/workspace", "--help; `x`")
    assert command.argv[1:3] == ("-I", "-S") and os.path.isfile(command.argv[3])
    assert not any("help" in word for word in command.argv) and command.stdin == b""
    assert command == acp.command(replace(JOB, prompt="--help; `x`", skills=(), arm="control"))
    # The sandbox must show the agent's program beside the client.
    assert command.programs == ()
    shell = acp.command(replace(JOB, settings={"acp-command": ["sh", "--acp"]}))
    assert plan(shell)["argv"] == [shutil.which("sh"), "--acp"] and shell.programs == (shutil.which("sh"),)
    assert plan(acp.command(replace(JOB, program="/opt/bin/agent")))["argv"][0] == "/opt/bin/agent"
    worded = acp.command(replace(JOB, settings={"acp-command": "an agent 'with words'"}))
    assert plan(worded)["argv"] == ["an", "agent", "with words"]


@pytest.mark.parametrize(
    ("protocol", "wanted"),
    [
        ("openai", {"OPENAI_BASE_URL": "http://127.0.0.1:8181/v1", "OPENAI_API_KEY": JOB.key, "OPENAI_MODEL": "other"}),
        ("openai-responses", {"OPENAI_BASE_URL": "http://127.0.0.1:8181/v1"}),
        ("anthropic", {"ANTHROPIC_BASE_URL": "http://127.0.0.1:8181", "ANTHROPIC_MODEL": "some-model-1"}),
        ("gemini", {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8181", "GEMINI_API_KEY": JOB.key}),
    ],
)
def test_names_in_braces_stand_for_what_they_say(protocol: str, wanted: dict[str, str]) -> None:
    assert protocol in acp.PROTOCOLS
    env = acp.command(replace(JOB, protocol=protocol)).env
    assert wanted.items() <= env.items()
    assert env["SETTINGS"] == f'{{"url": "{JOB.base_url}/v1", "key": "{JOB.key}"}}'
    assert env["PLACE"] == "/home/agent|/workspace"


@pytest.mark.parametrize("given", [None, "", [], 5])
def test_no_agent_is_named(given: Any) -> None:
    with pytest.raises(UsageError, match=r"set acp-command under \[effectiveness\]"):
        acp.command(replace(JOB, settings={"acp-command": given}))


def test_the_protocol_has_no_list_of_skills() -> None:
    output = ProgramOutput(0, WHOLE)
    assert acp.probe(JOB) is acp.listed(output) is acp.read(output, JOB).listed is None


READ_FILE = ".agents/skills/zebra-invoices/SKILL.md"


TOOLS = {
    "gemini": ("activate_skill", "read_file", "0.61.0"), "opencode": ("skill", "read", "1.18.33"),
    "qwen": ("skill", "read_file", "0.15.10"),
}  # fmt: skip


@pytest.mark.parametrize("way", ["skill", "shell", "file"])
@pytest.mark.parametrize("agent", TOOLS)
def test_skills_that_real_agents_opened(agent: str, way: str) -> None:
    skill, file, version = TOOLS[agent]
    told = {
        "skill": f"{skill} zebra-invoices",
        "shell": f"shell: cat {READ_FILE}",
        "file": f"{file} /workspace/{READ_FILE}",
    }
    reading = read(f"{agent}-{way}")
    assert (reading.invocations, reading.evidence) == (("zebra-invoices",), (told[way],))
    assert (reading.final_message, reading.stop_reason, reading.tool_calls) == ("All done.", "end_turn", 2)
    assert [len(step.tools) for step in reading.steps] == [0, 1, 1, 0]
    assert [tool.failed for step in reading.steps for tool in step.tools] == [False, False]
    assert "out.txt" in reading.steps[2].tools[0].arguments["command"]
    # OpenCode tells the tokens of its last answer as those of the whole: none of them is taken.
    assert (reading.usage, reading.turns, reading.cost_usd) == (Usage(), None, None)
    assert (reading.failure, reading.error) == ("", "")
    assert reading.version == version and reading.session_id


@pytest.mark.parametrize(
    ("name", "failure", "error"),
    [
        ("gemini-auth", "auth", "answered 400: API key not valid."),
        ("opencode-auth", "auth", "Internal error: Incorrect API key provided"),
        ("qwen-auth", "auth", "Internal error: 401 Incorrect API key provided"),
        ("opencode-refusal", "refusal", "the model"),
    ],
)
def test_failures(name: str, failure: str, error: str) -> None:
    reading = read(name, exit_code=1)
    assert reading.failure == failure and reading.error.startswith(error)


def end(**values: Any) -> ProgramOutput:
    return ProgramOutput(1, lines([{"event": "end", **values}]))


@pytest.mark.parametrize(
    ("output", "failure", "error"),
    [
        (end(error={"code": -32000, "message": "Authentication required"}), "auth", "Authentication required"),
        (end(error={"code": 402, "message": "Insufficient Balance"}), "quota", "answered 402: Insufficient Balance"),
        (end(error={"code": None, "message": "no such file"}), "infrastructure", "no such file"),
        (end(error=None, stop_reason="max_turn_requests"), "", ""),
        (end(error="x"), "", ""),
        (
            ProgramOutput(1, WHOLE[:400], b"ModuleNotFoundError: No module named 'acp'\n"),
            "infrastructure",
            "named 'acp'",
        ),
        (ProgramOutput(None, WHOLE[:400], stopped="timeout"), "", ""),
    ],
)
def test_other_ends(output: ProgramOutput, failure: str, error: str) -> None:
    reading = acp.read(output, JOB)
    assert reading.failure == failure and error in reading.error


TOLD = (
    "event", "message", "end", "agent", "method", "session/update", "params", "update", "sessionUpdate", "tool_call",
    "agent_message_chunk", "toolCallId", "status", "completed", "content", "text", "title", "kind", "read", "execute",
    "rawInput", "rawOutput", "output", "locations", "path", "_meta", "toolName", "skill", "zebra-invoices", "error", "code",
    "data", "details", "stop_reason", "toolCall", "sessionId",
)  # fmt: skip


@given(events(*TOLD), st.binary(max_size=20), st.sampled_from(["", "timeout"]))
def test_events_of_the_wrong_shape_are_read(made: list[dict[str, Any]], junk: bytes, stopped: str) -> None:
    messages = [{"method": "session/update", "params": {"update": each}} for each in made]
    wrapped = [{"event": "message", "message": each} for each in messages]
    borne(acp.read, JOB, lines([*made, *wrapped]) + junk, stopped)


@given(st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=4))
def test_a_damaged_stream_is_read(at: int, junk: bytes) -> None:
    borne(acp.read, JOB, cut(WHOLE, at, junk), code=0)
