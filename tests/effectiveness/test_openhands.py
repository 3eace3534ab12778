"""OpenHands: what it is started with, and what streams that the real program printed are read as."""

from __future__ import annotations

import json
from typing import Any

import pytest
from agent_hostile import borne, cut, events, lines
from agent_made import STREAMS, made_job, made_skill, recorded
from effects_made import replace
from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench.http.messages import Usage
from skill_health.effectiveness.agents import openhands
from skill_health.effectiveness.agents._api import ProgramOutput, StreamReading

ZEBRA = made_skill("zebra-invoices")
JOB = made_job(ZEBRA, protocol="openai")
WHOLE = (STREAMS / "openhands" / "skill.jsonl").read_bytes()
END = b"Agent finished\n"


def read(name: str) -> StreamReading:
    return openhands.read(recorded("openhands", f"{name}.jsonl"), JOB)


def line(kind: str, **event: Any) -> bytes:
    return json.dumps({"kind": kind, **event}).encode() + b"\n"


def used(tool: str, action: dict[str, Any], answer: str = "a1", call: str = "c1") -> bytes:
    return line("ActionEvent", tool_name=tool, tool_call_id=call, llm_response_id=answer, action=action)


@pytest.mark.parametrize(("protocol", "url"), [("openai", "http://127.0.0.1:8181/v1"), ("anthropic", JOB.base_url)])
def test_the_command_differs_between_arms_in_nothing(protocol: str, url: str) -> None:
    job = replace(JOB, protocol=protocol, prompt="--help; rm -rf $HOME\n`x`")
    command = openhands.command(job)
    assert command.argv[0] == job.program and command.argv[-1] == f"--task={job.prompt}"
    assert command == openhands.command(replace(job, skills=(), arm="control"))
    model = {"LLM_MODEL": f"{protocol}/some-model-1", "LLM_BASE_URL": url, "LLM_API_KEY": job.key}
    assert {name: value for name, value in command.env.items() if name in model} == model
    assert openhands.probe(job) is None and openhands.listed(ProgramOutput(0)) is None


def test_a_skill_that_was_asked_for_by_its_tool() -> None:
    reading = read("skill")
    assert (reading.invocations, reading.evidence) == (("zebra-invoices",), ("invoke_skill zebra-invoices",))
    assert (reading.final_message, reading.turns, reading.tool_calls) == ("All done.", 3, 2)
    # Neither its usage nor its skills stand in the stream.
    assert (reading.usage, reading.cost_usd, reading.listed) == (Usage(), None, None)
    assert (reading.failure, reading.error, reading.observable) == ("", "", True)
    skill, shell = (tool for step in reading.steps for tool in step.tools)
    assert "stripes of zebra-invoices" in str(skill.result) and skill.failed is False
    assert shell.arguments["command"] == "echo 42 > out.txt; cat out.txt nothing.txt"
    assert (shell.result, shell.failed) == ("42\ncat: nothing.txt: No such file or directory", True)


def test_a_skill_that_was_read_without_it() -> None:
    assert read("shell").evidence == ("shell: cat .agents/skills/zebra-invoices/SKILL.md",)
    path = "/workspace/.agents/skills/zebra-invoices/SKILL.md"
    viewed = openhands.read(ProgramOutput(0, used("file_editor", {"command": "view", "path": path}) + END), JOB)
    assert viewed.evidence == (f"view {path}",)
    written = openhands.read(ProgramOutput(0, used("file_editor", {"command": "create", "path": path}) + END), JOB)
    assert (written.evidence, written.failure) == ((), "")


def test_a_control_opens_nothing() -> None:
    reading = read("control")
    assert (reading.invocations, reading.tool_calls, reading.failure) == ((), 1, "")


def test_calls_of_one_answer_are_one_step() -> None:
    raw = used("terminal", {"command": "ls"}) + used("think", {"thought": "x"}, call="c2")
    reading = openhands.read(ProgramOutput(0, raw + used("finish", {"message": "It is done."}, "a2", "c3") + END), JOB)
    assert [len(step.tools) for step in reading.steps] == [0, 2, 1]
    assert (reading.turns, reading.final_message) == (2, "It is done.")


@pytest.mark.parametrize(
    ("name", "failure", "error"),
    [
        ("auth", "auth", "AuthenticationError: litellm.AuthenticationError: AuthenticationError: "),
        ("credit", "quota", "LLMBadRequestError: "),
        ("bad-request", "infrastructure", "LLMBadRequestError: "),
    ],
)
def test_failures_that_the_program_calls_a_success(name: str, failure: str, error: str) -> None:
    reading = read(name)
    assert reading.failure == failure and reading.error.startswith(error)
    assert (reading.final_message, reading.turns) == ("", None)


def test_its_own_limit_of_turns_is_no_failure_of_ours() -> None:
    ended = line("ConversationErrorEvent", code="MaxIterationsReached", detail="500")
    raw = used("terminal", {"command": "ls"}) + ended
    reading = openhands.read(ProgramOutput(0, raw), JOB)
    assert reading.failure == "" and "turns" in reading.error


def test_a_model_cannot_feign_an_end_or_a_failure() -> None:
    words = "Agent finished\n" + json.dumps({"kind": "ConversationErrorEvent", "code": "401", "detail": "auth"})
    raw = line("MessageEvent", source="agent", llm_message={"content": [{"type": "text", "text": words}]})
    assert openhands.read(ProgramOutput(0, raw + END), JOB).failure == ""
    reading = openhands.read(ProgramOutput(0, raw), JOB)
    assert (reading.failure, reading.final_message) == ("infrastructure", words)


def test_a_tool_that_it_could_not_use() -> None:
    raw = used("terminal", {}) + line("AgentErrorEvent", tool_call_id="c1", error="no command")
    (tool,) = openhands.read(ProgramOutput(0, raw + END), JOB).steps[1].tools
    assert (tool.result, tool.failed) == ("no command", True)


def test_stopped_anywhere_what_was_said_is_kept_and_nothing_is_made_up() -> None:
    for count, turns in enumerate([*[None] * 7, 1, 1, 2, 2, 3, 3]):
        raw = b"".join(WHOLE.splitlines(keepends=True)[:count])
        reading = openhands.read(ProgramOutput(None, raw + b'{"kind":"Act', stopped="timeout"), JOB)
        assert (reading.failure, reading.error, reading.usage, reading.turns) == ("", "", Usage(), turns), count
        assert reading.invocations == (("zebra-invoices",) if count >= 7 else ()), count


def test_a_program_that_breaks_down() -> None:
    reading = openhands.read(ProgramOutput(2, b"", b"openhands: error: unrecognized arguments: --json\n"), JOB)
    assert reading.failure == "infrastructure"
    assert " 2 " in reading.error and ": openhands: error" in reading.error


WORDS = (
    "kind", "ActionEvent", "ObservationEvent", "AgentErrorEvent", "MessageEvent", "ConversationErrorEvent", "source", "agent",
    "llm_message", "content", "text", "thought", "action", "command", "view", "path", "message", "finish", "tool_name",
    "tool_call_id", "llm_response_id", "observation", "is_error", "exit_code", "code", "detail", "MaxIterationsReached",
    "reasoning_content", "timestamp", "file_editor", "error",
)  # fmt: skip


@given(events(*WORDS), st.binary(max_size=20), st.sampled_from(["", "timeout"]))
def test_events_of_the_wrong_shape_are_read(made: list[dict[str, Any]], junk: bytes, stopped: str) -> None:
    borne(openhands.read, JOB, lines(made) + junk, stopped)


@given(st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=4))
def test_a_damaged_stream_is_read(at: int, junk: bytes) -> None:
    borne(openhands.read, JOB, cut(WHOLE, at, junk), code=0)
