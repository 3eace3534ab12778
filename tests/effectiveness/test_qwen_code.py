"""Qwen Code: what it is started with, and what streams that the real program printed are read as."""

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
from skill_health.effectiveness.agents import qwen_code
from skill_health.effectiveness.agents._api import ProgramOutput, StreamReading

ZEBRA = made_skill("zebra-invoices")
JOB = made_job(ZEBRA, protocol="openai")
WHOLE = (STREAMS / "qwen" / "skill.jsonl").read_bytes()
UNKNOWN = Usage()
BUNDLED = ("batch", "qc-helper", "review")
NO_CREDIT = "credit balance is too low"


def read(name: str, protocol: str = "openai", **more: Any) -> StreamReading:
    return qwen_code.read(recorded("qwen", f"{name}.jsonl", **more), replace(JOB, protocol=protocol))


def test_the_command_differs_between_arms_in_nothing() -> None:
    job = replace(JOB, prompt="--help; rm -rf $HOME\n`x`", max_output_tokens=900)
    command = qwen_code.command(job)
    assert command.argv == (job.program, "--yolo", "--auth-type", "openai", "-o", "stream-json")
    assert command.stdin.decode() == job.prompt
    assert command == qwen_code.command(replace(job, skills=(), arm="control"))
    assert command.env["QWEN_CODE_MAX_OUTPUT_TOKENS"] == "900"
    assert qwen_code.probe(job) == replace(command, stdin=b"/context")
    (file,) = command.files
    settings = json.loads(file.data)
    assert file.path == ".qwen/settings.json"
    # Its memory asks the model once more after the work, and remembers nothing in a home that is thrown away.
    assert settings["memory"] == {"enableManagedAutoMemory": False, "enableManagedAutoDream": False}
    assert settings["privacy"] == {"usageStatisticsEnabled": False} and settings["telemetry"] == {"enabled": False}


@pytest.mark.parametrize(("protocol", "prefix", "url"), [
    ("openai", "OPENAI", {"OPENAI_BASE_URL": "http://127.0.0.1:8181/v1"}),
    ("anthropic", "ANTHROPIC", {"ANTHROPIC_BASE_URL": "http://127.0.0.1:8181"}),
    ("gemini", "GEMINI", {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:8181"}),
])  # fmt: skip
def test_each_protocol_has_its_variables(protocol: str, prefix: str, url: dict[str, str]) -> None:
    assert protocol in qwen_code.PROTOCOLS
    command = qwen_code.command(replace(JOB, protocol=protocol))
    wanted = {f"{prefix}_API_KEY": JOB.key, f"{prefix}_MODEL": JOB.model, **url}
    assert {name: value for name, value in command.env.items() if name in wanted} == wanted
    assert command.argv[3] == protocol


def test_a_prompt_is_never_a_command_of_the_program() -> None:
    sent = [qwen_code.command(replace(JOB, prompt=prompt)).stdin.decode() for prompt in ("/tmp/a is a file", "a /b")]
    assert sent == ["\n/tmp/a is a file", "a /b"]


def test_a_skill_that_was_asked_for_by_its_tool() -> None:
    reading = read("skill")
    assert (reading.invocations, reading.evidence) == (("zebra-invoices",), ("skill zebra-invoices",))
    assert reading.listed == (*BUNDLED, "zebra-invoices")
    assert (reading.final_message, reading.stop_reason, reading.model) == ("All done.", "success", "some-model-1")
    assert reading.usage == Usage(3000, 120, 600)
    assert (reading.turns, reading.tool_calls, reading.cost_usd, reading.version) == (3, 2, None, "0.15.10")
    assert (reading.failure, reading.error, reading.observable) == ("", "", True)
    assert [step.usage for step in reading.steps] == [None, *[Usage(1000, 40, 200)] * 3]
    assert reading.steps[1].tools[0].result == ZEBRA.description


def test_tokens_by_protocol() -> None:
    # Google's thoughts stand in the total alone; what Anthropic wrote to a cache stands nowhere.
    assert read("skill-gemini", "gemini").usage == Usage(3000, 120, 600, None, 30)
    assert read("skill-anthropic", "anthropic").usage == Usage(None, 120, 600)


@pytest.mark.parametrize(("name", "evidence"), [
    ("shell", "shell: cat .qwen/skills/zebra-invoices/SKILL.md"),
    ("file", "read_file /workspace/.qwen/skills/zebra-invoices/SKILL.md"),
])  # fmt: skip
def test_a_skill_that_was_read_without_it(name: str, evidence: str) -> None:
    assert read(name).evidence == (evidence,)


def test_a_control_lists_what_the_program_brings() -> None:
    reading = read("control")
    assert (reading.listed, reading.invocations, reading.tool_calls, reading.failure) == (BUNDLED, (), 1, "")


@pytest.mark.parametrize(("name", "failure", "error"), [
    ("auth", "auth", "answered 401: Incorrect API key provided: sk-nope."),
    ("credit", "quota", "answered 402: Insufficient Balance"),
    ("bad-request", "infrastructure", "answered 400: Invalid type for messages."),
    ("no-model", "infrastructure", "answered 404: The model `some-model-1` does not exist"),
    ("mid", "auth", "answered 401: Incorrect API key provided: sk-nope."),
])  # fmt: skip
def test_failures_that_the_program_calls_successes(name: str, failure: str, error: str) -> None:
    reading = read(name)
    assert reading.failure == failure and reading.error.startswith(error)
    answered = name == "mid"
    assert (reading.final_message, reading.turns) == ("", 1 if answered else None)
    assert reading.usage == (Usage(1000, 40, 200) if answered else UNKNOWN)
    assert "API Error" not in "".join(step.message for step in reading.steps)


def line(**event: Any) -> bytes:
    return json.dumps(event).encode() + b"\n"


def said(text: str, output_tokens: int) -> bytes:
    usage = {"input_tokens": 9 * output_tokens, "output_tokens": output_tokens}
    message = {"model": "m", "content": [{"type": "text", "text": text}], "usage": usage}
    return line(type="assistant", message=message) + line(type="result", subtype="success", usage=usage, result=text)


def test_a_model_cannot_feign_a_failure_to_be_asked_again() -> None:
    words = "[API Error: 500 Internal Server Error]"
    assert qwen_code.read(ProgramOutput(0, said(words, 0)), JOB).failure == "infrastructure"
    feigned = qwen_code.read(ProgramOutput(0, said(words, 12)), JOB)
    assert (feigned.failure, feigned.final_message) == ("", words)
    # An answer without a word in it is the model's, too.
    assert read("refusal-anthropic", "anthropic").failure == ""


@pytest.mark.parametrize(("end", "failure", "error"), [
    ({"is_error": True, "error": {"message": NO_CREDIT}}, "quota", NO_CREDIT),
    ({"is_error": True, "subtype": "error_max_turns"}, "", "stopped by its own limit of turns"),
    ({"is_error": True}, "infrastructure", "the agent does not say why"),
    ({"is_error": "yes"}, "", ""),
])  # fmt: skip
def test_an_end_with_an_error(end: dict[str, Any], failure: str, error: str) -> None:
    reading = qwen_code.read(ProgramOutput(1, line(type="result", **end)), JOB)
    assert (reading.failure, reading.error) == (failure, error)


def test_stopped_anywhere_what_was_said_is_kept_and_nothing_is_made_up() -> None:
    for count, turns in enumerate([None, None, 1, 1, 2, 2, 3, 3]):
        raw = b"".join(WHOLE.splitlines(keepends=True)[:count])
        reading = qwen_code.read(ProgramOutput(None, raw + b'{"type":"ass', stopped="timeout"), JOB)
        assert (reading.failure, reading.error, reading.usage == UNKNOWN) == ("", "", count < 7), count
        assert reading.turns == turns, count
        assert reading.listed == ((*BUNDLED, "zebra-invoices") if count else None), count
        assert reading.invocations == (("zebra-invoices",) if count >= 2 else ()), count


def test_a_program_that_breaks_down() -> None:
    reading = qwen_code.read(ProgramOutput(52, b"", b"Error: unknown option\n    at cli (file:///a.js:500:3)\n"), JOB)
    assert (reading.failure, reading.listed) == ("infrastructure", None)
    assert " 52 " in reading.error and reading.error.endswith(": Error: unknown option")


def test_its_list_of_skills() -> None:
    assert qwen_code.listed(recorded("qwen", "probe.jsonl")) == (*BUNDLED, "zebra-invoices")
    assert qwen_code.listed(ProgramOutput(1, b"error\n")) is None
    assert qwen_code.listed(ProgramOutput(0, line(type="system", slash_commands="x"))) is None


WORDS = (
    "type", "system", "assistant", "user", "result", "message", "content", "usage", "input_tokens", "output_tokens", "id",
    "total_tokens", "text", "tool_use", "tool_result", "input", "name", "is_error", "slash_commands", "model", "thinking",
    "cache_read_input_tokens", "[API Error: 401 no]", "tool_use_id", "error", "subtype",
)  # fmt: skip


@given(events(*WORDS), st.binary(max_size=20), st.sampled_from(["", "timeout"]), st.sampled_from(qwen_code.PROTOCOLS))
def test_events_of_the_wrong_shape_are_read(
    made: list[dict[str, Any]], junk: bytes, stopped: str, protocol: str
) -> None:
    borne(qwen_code.read, replace(JOB, protocol=protocol), lines(made) + junk, stopped)
    qwen_code.listed(ProgramOutput(0, lines(made)))


@given(st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=4))
def test_a_damaged_stream_is_read(at: int, junk: bytes) -> None:
    borne(qwen_code.read, JOB, cut(WHOLE, at, junk), code=0)
