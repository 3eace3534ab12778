"""OpenCode: what it is started with, and what streams that the real program printed are read as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agent_hostile import borne, cut, events, lines
from agent_made import STREAMS, made_job, made_skill, recorded
from effects_made import replace
from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench.http.messages import Usage
from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents import opencode
from skill_health.effectiveness.agents._api import Job, ProgramOutput, StreamReading

ZEBRA = made_skill("zebra-invoices")
JOB = made_job(ZEBRA, protocol="openai")
WHOLE = (STREAMS / "opencode" / "skill.jsonl").read_bytes()
UNKNOWN = Usage()


def read(name: str, **more: Any) -> StreamReading:
    return opencode.read(recorded("opencode", f"{name}.jsonl", **more), JOB)


def settings(job: Job) -> dict[str, Any]:
    (file,) = opencode.command(job).files
    assert file.path == ".config/opencode/opencode.json"
    found: dict[str, Any] = json.loads(file.data)
    return found


def test_the_command_differs_between_arms_in_nothing() -> None:
    job = replace(JOB, prompt="--help; rm -rf $HOME\n`x`")
    command = opencode.command(job)
    assert command.argv[0] == job.program and command.argv[-2:] == ("--model", f"gateway/{job.model}")
    assert command.stdin.decode() == job.prompt
    assert not any(job.key in word or "rm -rf" in word for word in [*command.argv, *command.env.values()])
    assert command == opencode.command(replace(job, skills=(), arm="control"))
    assert opencode.probe(job) == replace(command, argv=(job.program, "debug", "skill", "--pure"), stdin=b"")


def test_without_ripgrep_its_tool_for_skills_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="opencode needs ripgrep"):
        opencode.check("opencode:m")
    (tmp_path / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "rg").chmod(0o755)
    opencode.check("opencode:m")
    # The sandbox must show it, wherever it lies.
    assert opencode.command(JOB).programs == opencode.probe(JOB).programs == (str(tmp_path / "rg"),)


def test_it_looks_into_one_folder_and_fetches_nothing() -> None:
    off = {name for name, value in opencode.command(JOB).env.items() if value == "1"}
    wanted = ("EXTERNAL_SKILLS", "PROJECT_CONFIG", "MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    assert {f"OPENCODE_DISABLE_{name}" for name in wanted} <= off
    found = settings(JOB)
    assert found["skills"] == {"paths": ["/workspace/.opencode/skills"]}
    assert found["permission"] == {"webfetch": "deny", "skill": {"customize-opencode": "deny"}}
    assert found["enabled_providers"] == ["gateway"] and found["share"] == "disabled"
    assert settings(replace(JOB, skills=(made_skill("customize-opencode"),)))["permission"]["skill"] == {}


@pytest.mark.parametrize(
    ("protocol", "library", "url"),
    [
        ("openai", "@ai-sdk/openai-compatible", "/v1"), ("anthropic", "@ai-sdk/anthropic", "/v1"),
        ("openai-responses", "@ai-sdk/openai", "/v1"), ("gemini", "@ai-sdk/google", "/v1beta"),
    ],
)  # fmt: skip
def test_each_protocol_has_its_library(protocol: str, library: str, url: str) -> None:
    assert protocol in opencode.PROTOCOLS
    job = replace(JOB, protocol=protocol, model="some/model:1", max_output_tokens=900)
    found = settings(job)["provider"]["gateway"]
    assert found["npm"] == library
    assert found["options"] == {"baseURL": job.base_url + url, "apiKey": job.key}
    assert found["models"]["some/model:1"]["limit"]["output"] == 900
    assert "limit" not in settings(JOB)["provider"]["gateway"]["models"][JOB.model]


def test_a_skill_that_was_asked_for_by_its_tool() -> None:
    reading = read("skill")
    assert (reading.invocations, reading.evidence) == (("zebra-invoices",), ("skill zebra-invoices",))
    assert (reading.final_message, reading.stop_reason) == ("All done.", "stop")
    # It leaves what was cached out of its input, and thoughts out of its output.
    assert reading.usage == Usage(3000, 120, 600, 0, 30)
    assert (reading.turns, reading.tool_calls, reading.cost_usd, reading.listed) == (3, 2, None, None)
    assert (reading.failure, reading.error, reading.observable) == ("", "", True)
    assert [step.usage for step in reading.steps] == [None, *[Usage(1000, 40, 200, 0, 10)] * 3]
    assert "Never forget the stripes" in (reading.steps[1].tools[0].result or "")
    assert read("skill-anthropic").usage == Usage(3000, 120, 600, 150, 0)


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("shell", "shell: cat .opencode/skills/zebra-invoices/SKILL.md"),
        ("file", "read /workspace/.opencode/skills/zebra-invoices/SKILL.md"),
    ],
)
def test_a_skill_that_was_read_without_it(name: str, evidence: str) -> None:
    assert read(name).evidence == (evidence,)


def test_a_control() -> None:
    reading = read("control")
    assert (reading.invocations, reading.tool_calls, reading.failure, reading.observable) == ((), 1, "", True)


@pytest.mark.parametrize(
    ("name", "failure", "error"),
    [
        ("auth", "auth", "answered 401: Incorrect API key provided: sk-nope."),
        ("credit", "quota", "answered 402: Insufficient Balance"),
        ("bad-request", "infrastructure", "answered 400: Invalid type for messages."),
        ("no-model", "infrastructure", "answered 404: The model `some-model-1` does not exist"),
        ("refusal", "refusal", "The response was blocked by the provider's content filter"),
        ("mid", "auth", "answered 401: Incorrect API key provided: sk-nope."),
    ],
)
def test_failures(name: str, failure: str, error: str) -> None:
    reading = read(name, exit_code=1)
    assert reading.failure == failure and reading.error.startswith(error)
    answered = name in ("refusal", "mid")
    assert (reading.final_message, reading.turns) == ("", 1 if answered else None)
    assert reading.usage == (Usage(1000, 40, 200, 0, 10) if answered else UNKNOWN)


def line(**event: Any) -> bytes:
    return json.dumps(event).encode() + b"\n"


def finish(reason: str, **tokens: Any) -> bytes:
    return line(type="step_finish", part={"reason": reason, "tokens": tokens})


def test_an_error_that_work_followed_on_did_not_end_it() -> None:
    error = line(type="error", error={"name": "UnknownError", "data": {"message": "failed to parse a skill"}})
    assert opencode.read(ProgramOutput(0, error + WHOLE), JOB).failure == ""
    assert opencode.read(ProgramOutput(0, WHOLE + error), JOB).failure == "infrastructure"


@pytest.mark.parametrize(
    ("error", "failure", "said"),
    [
        ({"name": "MessageOutputLengthError", "data": {}}, "", "MessageOutputLengthError"),
        ({"name": "ProviderAuthError", "data": {"message": "no key"}}, "auth", "no key"),
        ({"name": "APIError", "data": {"message": "x", "statusCode": 429, "responseBody": json.dumps(
            {"error": {"code": "insufficient_quota", "message": "x"}})}}, "quota", "answered 429: x"),
        ({"name": "APIError", "data": {"message": "x", "statusCode": "429", "responseBody": "{"}}, "infrastructure", "x"),
    ],
)  # fmt: skip
def test_other_errors(error: dict[str, Any], failure: str, said: str) -> None:
    reading = opencode.read(ProgramOutput(1, line(type="error", error=error)), JOB)
    assert (reading.failure, reading.error) == (failure, said)
    silent = opencode.read(ProgramOutput(1, line(type="error", error={})), JOB)
    assert silent.failure == "infrastructure" and silent.error.startswith("the agent ")


def test_a_subagent_hides_what_it_does_and_what_it_costs() -> None:
    task = line(type="tool_use", part={"tool": "task", "callID": "a", "state": {"status": "completed", "input": {}}})
    tokens = {"input": 5, "output": 1, "cache": {"read": 0, "write": 0}}
    reading = opencode.read(ProgramOutput(0, task + finish("tool-calls", **tokens) + finish("stop", **tokens)), JOB)
    assert (reading.usage, reading.observable, reading.turns, reading.failure) == (UNKNOWN, False, 2, "")


def test_several_calls_of_one_answer_are_one_step() -> None:
    raw = line(type="reasoning", part={"text": "Hm."}) + line(type="text", part={"text": "Both."})
    for call_id, status in (("a", "completed"), ("b", "error")):
        state = {"status": status, "input": {"command": call_id}, "output": "fine", "error": "broken"}
        raw += line(type="tool_use", part={"tool": "bash", "callID": call_id, "state": state})
    reading = opencode.read(ProgramOutput(0, raw + finish("stop")), JOB)
    _, step = reading.steps
    assert (step.message, step.reasoning) == ("Both.", "Hm.")
    tools = [(tool.call_id, tool.result, tool.failed) for tool in step.tools]
    assert tools == [("a", "fine", False), ("b", "broken", True)]
    assert reading.usage == UNKNOWN


def test_stopped_anywhere_what_was_said_is_kept_and_nothing_is_made_up() -> None:
    for count, answers in enumerate([0, 0, 0, 1, 1, 1, 2, 2, 2]):
        raw = b"".join(WHOLE.splitlines(keepends=True)[:count])
        reading = opencode.read(ProgramOutput(None, raw + b'{"type":"step_f', stopped="timeout"), JOB)
        assert (reading.failure, reading.error, reading.turns) == ("", "", answers or None), count
        assert reading.usage.input_tokens == (1000 * answers or None), count
        assert reading.invocations == (("zebra-invoices",) if count >= 2 else ()), count


def test_a_program_that_breaks_down() -> None:
    half = b"".join(WHOLE.splitlines(keepends=True)[:3])
    said = b"Error: cannot find module x\n    at main (file:///a.js:401:2)\n"
    reading = opencode.read(ProgramOutput(1, half, said), JOB)
    assert (reading.failure, reading.turns) == ("infrastructure", 1)
    assert reading.error.endswith("complete: Error: cannot find module x")
    assert opencode.read(ProgramOutput(0, b""), JOB).failure == "infrastructure"


def test_its_list_of_skills() -> None:
    said = (STREAMS / "opencode" / "probe.json").read_bytes()
    assert b"customize-opencode" in said
    assert opencode.listed(ProgramOutput(0, said)) == ("zebra-invoices",)
    assert opencode.listed(ProgramOutput(0, b"[]")) == ()
    for wrong in (b"", b"{}", b"[{}]", b'[{"name": 5}]', b"[" * 100_000, said[:-5]):
        assert opencode.listed(ProgramOutput(0, wrong)) is None
    assert opencode.listed(ProgramOutput(1, said)) is None


WORDS = (
    "type", "part", "text", "tool_use", "step_finish", "error", "tokens", "input", "output", "cache", "read", "write",
    "reasoning", "state", "status", "callID", "tool", "name", "data", "message", "statusCode", "responseBody", "reason",
)  # fmt: skip


@given(events(*WORDS), st.binary(max_size=20), st.sampled_from(["", "timeout"]))
def test_events_of_the_wrong_shape_are_read(made: list[dict[str, Any]], junk: bytes, stopped: str) -> None:
    borne(opencode.read, JOB, lines(made) + junk, stopped)
    opencode.listed(ProgramOutput(0, json.dumps(made).encode() + junk))


@given(st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=4))
def test_a_damaged_stream_is_read(at: int, junk: bytes) -> None:
    borne(opencode.read, JOB, cut(WHOLE, at, junk), code=0)
