"""Gemini CLI: what it is started with, and what streams that the real program printed are read as."""

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
from skill_health.effectiveness.agents import gemini_cli
from skill_health.effectiveness.agents._api import ProgramOutput, StreamReading

ZEBRA = made_skill("zebra-invoices")
JOB = made_job(ZEBRA, protocol="gemini")
WHOLE = (STREAMS / "gemini" / "skill.jsonl").read_bytes()
UNKNOWN = Usage()


def read(name: str, **more: Any) -> StreamReading:
    return gemini_cli.read(recorded("gemini", f"{name}.jsonl", **more), JOB)


def settings(**more: Any) -> dict[str, Any]:
    (file,) = gemini_cli.command(replace(JOB, **more)).files
    assert file.path == ".gemini/settings.json"
    found: dict[str, Any] = json.loads(file.data)
    return found


def test_the_command_differs_between_arms_in_nothing() -> None:
    job = replace(JOB, prompt="--help; rm -rf $HOME\n`x`")
    command = gemini_cli.command(job)
    assert command.argv[0] == job.program and ("-m", job.model) == command.argv[3:5]
    assert command.stdin.decode() == job.prompt
    assert not any(job.key in word or "rm -rf" in word for word in command.argv)
    assert (command.env["GEMINI_API_KEY"], command.env["GOOGLE_GEMINI_BASE_URL"]) == (job.key, job.base_url)
    assert command.env["GEMINI_CLI_HOME"] == job.home
    assert command == gemini_cli.command(replace(job, skills=(), arm="control", task=None))
    assert gemini_cli.probe(job) == replace(command, argv=(job.program, "skills", "list", "--all"), stdin=b"")


def test_nothing_is_sent_to_its_vendor_and_no_built_in_skill_is_left() -> None:
    found = settings()
    assert found["privacy"] == {"usageStatisticsEnabled": False} and found["telemetry"] == {"enabled": False}
    assert found["general"]["enableAutoUpdate"] is False
    assert found["skills"]["disabled"] == ["antigravity-support", "skill-creator"]
    assert "overrides" not in found["modelConfigs"]
    # A staged skill of that name takes the built-in one's place.
    assert settings(skills=(made_skill("skill-creator"),))["skills"]["disabled"] == ["antigravity-support"]
    (limit,) = settings(max_output_tokens=900)["modelConfigs"]["overrides"]
    assert limit["match"] == {"model": JOB.model}
    assert limit["modelConfig"]["generateContentConfig"] == {"maxOutputTokens": 900}


def test_it_asks_no_model_but_the_one_of_the_trial() -> None:
    """After 30 turns it looks for loops, and in a long conversation it compresses: by models of its own choice."""
    for found in (settings(), settings(max_output_tokens=900)):
        aliases = found["modelConfigs"]["customAliases"]
        assert set(aliases) == {"gemini-3-flash-base", "loop-detection-double-check", "chat-compression-default"}
        assert all(one == {"extends": "base", "modelConfig": {"model": JOB.model}} for one in aliases.values())


def test_a_prompt_is_never_a_command_of_the_program() -> None:
    sent = [gemini_cli.command(replace(JOB, prompt=prompt)).stdin.decode() for prompt in ("/tmp/a is a file", "a /b")]
    assert sent == ["\n/tmp/a is a file", "a /b"]


def test_a_skill_that_was_asked_for_by_its_tool() -> None:
    reading = read("skill")
    assert (reading.invocations, reading.evidence) == (("zebra-invoices",), ("activate_skill zebra-invoices",))
    assert (reading.final_message, reading.stop_reason, reading.model) == ("All done.", "success", "some-model-1")
    # It leaves thoughts out of what it calls output; the total has them.
    assert reading.usage == Usage(3000, 120, 600, None, 30)
    assert (reading.turns, reading.tool_calls, reading.listed, reading.cost_usd) == (3, 2, None, None)
    assert (reading.failure, reading.error, reading.observable) == ("", "", True)
    assert [[tool.failed for tool in step.tools] for step in reading.steps] == [[], [False], [False], []]
    assert reading.steps[1].at == "2026-11-22T04:00:00.000Z" and reading.session_id


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("shell", "shell: cat .gemini/skills/zebra-invoices/SKILL.md"),
        ("file", "read_file /workspace/.gemini/skills/zebra-invoices/SKILL.md"),
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
        ("auth", "auth", "answered 400: API key not valid. Please pass a valid API key."),
        ("forbidden", "auth", "answered 403: Permission denied on resource project none."),
        ("bad-request", "infrastructure", "answered 400: Invalid JSON payload received."),
        ("no-model", "infrastructure", "models/some-model-1 is not found for API version v1beta"),
        ("refusal", "refusal", "The model response was blocked due to safety settings."),
    ],
)
def test_failures(name: str, failure: str, error: str) -> None:
    reading = read(name, exit_code=1)
    assert reading.failure == failure and reading.error.startswith(error)
    assert (reading.final_message, reading.turns, reading.tool_calls) == ("", None, 0)
    # Zeros of a program that had no answer count nothing.
    assert reading.usage == (Usage(4000, 160, 800, None, 40) if name == "refusal" else UNKNOWN)


def test_what_was_done_before_a_failure_is_kept() -> None:
    reading = read("mid", exit_code=147)
    assert (reading.failure, reading.turns, reading.invocations) == ("auth", 1, ("zebra-invoices",))
    assert reading.usage == Usage(1000, 40, 200, None, 10)


def line(**event: Any) -> bytes:
    return json.dumps(event).encode() + b"\n"


@pytest.mark.parametrize(
    ("message", "failure", "reason"),
    [
        ("Model response was truncated because it exceeded the token limit. Try using /compress.", "", "max_tokens"),
        ("The model response was blocked due to recitation/copyright filters.", "refusal", "error"),
        ("The model returned an empty response with no text or thoughts.", "infrastructure", "error"),
    ],
)
def test_an_answer_that_is_none(message: str, failure: str, reason: str) -> None:
    raw = line(type="error", severity="error", message=message) + line(type="result", status="error", stats={})
    reading = gemini_cli.read(ProgramOutput(0, raw), JOB)
    assert (reading.failure, reading.stop_reason) == (failure, reason)
    assert message[:20] in reading.error


def test_what_a_subagent_does_cannot_be_seen() -> None:
    use = line(type="tool_use", tool_name="invoke_agent", tool_id="a", parameters={"agent_name": "generalist"})
    assert not gemini_cli.read(ProgramOutput(0, use + line(type="result", status="success")), JOB).observable
    assert gemini_cli.read(ProgramOutput(0, WHOLE.splitlines(keepends=True)[2] + use), JOB).observable


@pytest.mark.parametrize("count", range(9))
def test_stopped_anywhere_what_was_said_is_kept_and_nothing_is_made_up(count: int) -> None:
    raw = b"".join(WHOLE.splitlines(keepends=True)[:count])
    reading = gemini_cli.read(ProgramOutput(None, raw + b'{"type":"tool_u', stopped="timeout"), JOB)
    assert (reading.failure, reading.error, reading.usage == UNKNOWN) == ("", "", count < 8)
    assert reading.turns == [None, None, None, 1, 1, 2, 2, 3, 3][count]
    assert reading.invocations == (("zebra-invoices",) if count >= 3 else ())


@pytest.mark.parametrize(
    ("stderr", "failure", "error"),
    [
        (b"", "infrastructure", "code 1"),
        (
            b"YOLO mode is enabled.\nInvalid settings: x\n    at main (file:///a/b.js:401:22)\n}\n", "infrastructure",
            "complete: Invalid settings: x",
        ),
        (b"Warning: no colour\nPlease set an Auth method: unauthorized\n", "auth", "Please set an Auth method"),
    ],
)  # fmt: skip
def test_a_program_that_breaks_down(stderr: bytes, failure: str, error: str) -> None:
    reading = gemini_cli.read(ProgramOutput(1, WHOLE[:90], stderr), JOB)
    assert reading.failure == failure and error in reading.error


def test_its_list_of_skills() -> None:
    said = (STREAMS / "gemini" / "probe.txt").read_bytes()
    assert gemini_cli.listed(ProgramOutput(0, said)) == ("zebra-invoices",)
    assert b"[Disabled] [Built-in]" in said
    assert gemini_cli.listed(ProgramOutput(0, b"No skills discovered.\n")) == ()
    # What a description says is no entry of the list.
    foreign = b"Discovered Agent Skills:\n\na [Enabled]\n  Description: one\nb [Enabled]\n  Location: x\n"
    assert gemini_cli.listed(ProgramOutput(0, foreign)) == ("a",)
    assert gemini_cli.listed(ProgramOutput(1, said)) is None
    assert gemini_cli.listed(ProgramOutput(0, b"Usage: gemini [options]\n")) is None


WORDS = (
    "type", "init", "message", "tool_use", "tool_result", "result", "error", "role", "assistant", "content", "stats",
    "status", "models", "input_tokens", "output_tokens", "total_tokens", "cached", "tool_id", "tool_name", "parameters",
)  # fmt: skip


@pytest.mark.slow
@given(events(*WORDS), st.binary(max_size=20), st.sampled_from(["", "timeout"]))
def test_events_of_the_wrong_shape_are_read(made: list[dict[str, Any]], junk: bytes, stopped: str) -> None:
    borne(gemini_cli.read, JOB, lines(made) + junk, stopped)
    gemini_cli.listed(ProgramOutput(0, b"Discovered Agent Skills:" + junk))


@given(st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=4))
def test_a_damaged_stream_is_read(at: int, junk: bytes) -> None:
    borne(gemini_cli.read, JOB, cut(WHOLE, at, junk), code=0)
