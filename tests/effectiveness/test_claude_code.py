"""Claude Code: what it is started with, and what streams that the real program printed are read as."""

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
from skill_health.effectiveness.agents import claude_code
from skill_health.effectiveness.agents._api import ProgramOutput, StreamReading

ZEBRA = made_skill("zebra-invoices")
JOB = made_job(ZEBRA)
WHOLE = (STREAMS / "claude" / "skill.jsonl").read_bytes()


def read(name: str, **more: Any) -> StreamReading:
    return claude_code.read(recorded("claude", f"{name}.jsonl", **more), JOB)


def test_the_command_has_no_word_of_the_prompt_and_the_stand_in_in_no_argument() -> None:
    job = replace(JOB, prompt="--help; rm -rf $HOME\n`x`", max_output_tokens=900)
    command = claude_code.command(job)
    assert command.argv[0] == job.program and command.argv[-2:] == ("--model", job.model)
    assert command.stdin.decode() == job.prompt
    assert not any(job.key in word or "rm -rf" in word for word in command.argv)
    assert command.env.items() >= {
        "ANTHROPIC_API_KEY": job.key, "ANTHROPIC_BASE_URL": job.base_url, "CLAUDE_CONFIG_DIR": "/home/agent/.claude",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "900",
    }.items()  # fmt: skip
    assert command.argv == claude_code.command(replace(job, prompt="x", skills=(), arm="control")).argv


@pytest.mark.parametrize(
    ("prompt", "sent"), [("/cost", "\n/cost"), ("/tmp/a is a file", "\n/tmp/a is a file"), ("a /b", "a /b")]
)
def test_a_prompt_is_never_a_command_of_the_program(prompt: str, sent: str) -> None:
    assert claude_code.command(replace(JOB, prompt=prompt)).stdin.decode() == sent


def test_a_skill_that_was_asked_for_by_its_tool() -> None:
    reading = read("skill")
    assert reading.invocations == ("zebra-invoices",) and reading.evidence == ("Skill zebra-invoices",)
    assert reading.listed == ("zebra-invoices",)
    assert reading.final_message == "All done."
    assert replace(reading.usage, raw=None) == Usage(3000, 120, 600, 150)
    assert (reading.turns, reading.tool_calls, reading.stop_reason) == (3, 2, "end_turn")
    assert (reading.model, reading.version) == ("some-model-1", "2.1.197")
    assert reading.cost_usd is not None and reading.cost_usd > 0
    assert (reading.failure, reading.error, reading.observable) == ("", "", True)
    assert [step.source for step in reading.steps] == ["user", "agent", "system", "agent", "agent"]
    assert reading.steps[1].usage == Usage(1000, None, 200, 50)
    assert reading.steps[1].tools[0].result == "Launching skill: zebra-invoices"


def test_a_skill_that_was_read_as_a_file_and_by_a_command_that_others_followed() -> None:
    assert read("read").evidence == ("Read .claude/skills/zebra-invoices/SKILL.md",)
    reading = read("shell")
    assert reading.evidence == ("shell: cat .claude/skills/zebra-invoices/SKILL.md",)
    assert [tool.failed for step in reading.steps for tool in step.tools] == [False, True]


def test_a_control() -> None:
    reading = read("control")
    assert (reading.listed, reading.invocations, reading.tool_calls, reading.failure) == ((), (), 1, "")


@pytest.mark.parametrize(
    ("name", "failure", "error"),
    [
        ("credit", "quota", "Credit balance is too low"),
        ("billing", "quota", "API Error: 402"),
        ("forbidden", "auth", "Failed to authenticate. API Error: 403"),
        ("auth", "auth", "Invalid API key"),
        ("overload", "infrastructure", "529"),
        ("throttled", "infrastructure", "429"),
        ("no-model", "infrastructure", "issue with the selected model"),
        ("bad-request", "infrastructure", "API Error: 400 messages: too long"),
        ("refusal", "refusal", "Usage Policy"),
    ],
)
def test_failures(name: str, failure: str, error: str) -> None:
    reading = read(name, exit_code=1)
    assert reading.failure == failure
    assert error in reading.error and "\n" not in reading.error
    assert (reading.final_message, reading.tool_calls) == ("", 0)
    # A message that the program made itself is no turn of the model.
    assert reading.turns == 0


def test_stopped_while_it_waited_for_the_model() -> None:
    reading = read("auth-stopped", stopped="timeout")
    assert reading.failure == "auth"
    assert reading.error == "the model did not answer (status 401, authentication_failed)"
    assert reading.turns is None and reading.usage == Usage()


@pytest.mark.parametrize("lines", range(8))
def test_stopped_anywhere_what_was_said_is_kept_and_nothing_is_made_up(lines: int) -> None:
    raw = b"".join(WHOLE.splitlines(keepends=True)[:lines])
    reading = claude_code.read(ProgramOutput(None, raw + b'{"type": "assis', b"", "timeout"), JOB)
    done = lines == 8
    assert (reading.failure, reading.cost_usd, reading.usage == Usage()) == ("", None, not done)
    assert reading.listed == (("zebra-invoices",) if lines else None)
    assert reading.turns == ({0: None, 1: None, 2: 1, 3: 1, 4: 1, 5: 2, 6: 2, 7: 3}[lines])
    assert reading.invocations == (("zebra-invoices",) if lines >= 2 else ())


@pytest.mark.parametrize(
    ("stdout", "stderr", "failure", "error"),
    [
        (b"", b"", "infrastructure", "exit code 1"),
        (b"", b"Not logged in - Please run /login\n", "auth", "Please run /login"),
        (b"Credit balance is too low\n", b"", "quota", "Credit balance"),
        (b"", b"a\x1b[2J\nnode: bad option\n\n", "infrastructure", "complete: node: bad option"),
    ],
)
def test_a_program_that_breaks_down(stdout: bytes, stderr: bytes, failure: str, error: str) -> None:
    reading = claude_code.read(ProgramOutput(1, stdout, stderr), JOB)
    assert reading.failure == failure and error in reading.error
    assert reading.listed is None and reading.turns is None and reading.cost_usd is None


def line(**event: Any) -> bytes:
    return json.dumps(event).encode() + b"\n"


def test_blocks_of_one_message_are_one_step_and_thoughts_are_kept_apart() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Both at once."},
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "false"}}, {"type": "new", "x": 1},
    ]  # fmt: skip
    raw = b"".join(line(type="assistant", message={"id": "m", "model": "x", "content": [block]}) for block in blocks)
    for call_id, failed in (("b", True), ("a", False)):
        result = {"type": "tool_result", "tool_use_id": call_id, "is_error": failed}
        raw += line(type="user", message={"content": [result | {"content": [{"type": "text", "text": call_id}]}]})
    _, step = claude_code.read(ProgramOutput(None, raw, stopped="timeout"), JOB).steps
    assert (step.message, step.reasoning, step.model) == ("Both at once.", "Hm.", "x")
    assert [(tool.call_id, tool.result, tool.failed) for tool in step.tools] == [("a", "a", False), ("b", "b", True)]


@pytest.mark.parametrize(
    ("result", "usage", "cost"),
    [
        ({}, Usage(), None),
        ({"usage": {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 5}}, Usage(15, 2, 5), None),
        ({"usage": {"input_tokens": -1, "output_tokens": "2"}, "total_cost_usd": -1}, Usage(), None),
        (
            {"modelUsage": {
                "a": {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 3, "cacheCreationInputTokens": 4},
                "b": {"inputTokens": 10, "outputTokens": 20, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0},
             }, "usage": {"input_tokens": 1, "output_tokens": 2}, "total_cost_usd": 0.25},
            Usage(18, 22, 3, 4), 0.25,
        ),
        ({"modelUsage": {"a": {"inputTokens": 1}, "b": {"outputTokens": 5}}}, Usage(), None),
        ({"modelUsage": {"a": 5}, "usage": [1], "total_cost_usd": True}, Usage(), None),
        ({"total_cost_usd": 10**400}, Usage(), None),
        ({"total_cost_usd": 0}, Usage(), 0.0),
    ],
)  # fmt: skip
def test_tokens_and_cost_are_what_the_last_line_says_or_unknown(
    result: dict[str, Any], usage: Usage, cost: float | None
) -> None:
    reading = claude_code.read(ProgramOutput(0, line(type="result", is_error=False, result="x", **result)), JOB)
    assert replace(reading.usage, raw=None) == usage
    assert reading.cost_usd == cost


def test_the_probe_asks_no_model_and_its_list_is_the_stream_s() -> None:
    probe = claude_code.probe(JOB)
    assert probe.stdin == b"/cost" and probe.argv == claude_code.command(JOB).argv
    assert claude_code.listed(recorded("claude", "skill.jsonl")) == ("zebra-invoices",)
    assert claude_code.listed(recorded("claude", "control.jsonl")) == ()
    assert claude_code.listed(ProgramOutput(1, b"error\n")) is None
    assert claude_code.listed(ProgramOutput(0, line(type="system", subtype="init", skills="x"))) is None


WORDS = (
    "type", "subtype", "init", "assistant", "user", "result", "system", "message", "content", "id", "usage", "modelUsage",
    "skills", "is_error", "text", "tool_use", "tool_result", "input", "errors", "model", "api_retry", "error_status",
)  # fmt: skip
KINDS = {"type": st.sampled_from(["assistant", "user", "result", "system"]), "subtype": st.sampled_from(WORDS)}


@given(events(*WORDS, message=KINDS), st.binary(max_size=20), st.sampled_from(["", "timeout"]))
def test_events_of_the_wrong_shape_are_read(made: list[dict[str, Any]], junk: bytes, stopped: str) -> None:
    borne(claude_code.read, JOB, lines(made) + junk, stopped)
    claude_code.listed(ProgramOutput(1, lines(made) + junk))


@given(st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=4))
def test_a_damaged_stream_is_read(at: int, junk: bytes) -> None:
    reading = borne(claude_code.read, JOB, cut(WHOLE, at, junk), code=0)
    assert reading.turns is None or 0 <= reading.turns <= 3
