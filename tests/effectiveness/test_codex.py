"""Codex: what it is started with, and what streams that the real program printed are read as."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from agent_hostile import borne, cut, events, lines
from agent_made import STREAMS, made_job, made_skill, recorded
from effects_made import replace
from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench.http.messages import Usage
from skill_health.effectiveness.agents import codex
from skill_health.effectiveness.agents._api import ProgramOutput, StreamReading

ZEBRA = made_skill("zebra-invoices")
JOB = made_job(ZEBRA)
WHOLE = (STREAMS / "codex" / "skill.jsonl").read_bytes()


def read(name: str, **more: Any) -> StreamReading:
    return codex.read(recorded("codex", f"{name}.jsonl", **more), JOB)


def test_the_command_has_no_word_of_the_prompt_and_the_stand_in_in_no_file() -> None:
    job = replace(JOB, prompt="--help; rm -rf $HOME\n`x`", model='a"b\\c\n')
    command = codex.command(job)
    assert command.argv[0] == job.program and command.argv[-1] == "-"
    assert command.stdin.decode() == job.prompt
    assert command.env == {"CODEX_HOME": "/home/agent/.codex", "OPENAI_API_KEY": job.key}
    (config,) = command.files
    assert config.path == ".codex/config.toml" and job.key.encode() not in config.data
    read = tomllib.loads(config.data.decode())
    assert read["model"] == job.model
    assert read["model_providers"][read["model_provider"]]["base_url"] == "http://127.0.0.1:8181/v1"
    assert read["skills"]["bundled"]["enabled"] is False and read["web_search"] == "disabled"
    assert command.argv == codex.command(replace(job, prompt="x", skills=(), arm="control")).argv


def test_a_skill_that_was_read_by_a_command() -> None:
    reading = read("skill")
    assert reading.invocations == ("zebra-invoices",)
    assert reading.evidence == ("shell: cat .agents/skills/zebra-invoices/SKILL.md",)
    assert reading.final_message == "All done."
    assert replace(reading.usage, raw=None) == Usage(3000, 120, 600, 0, 30)
    assert (reading.cost_usd, reading.turns, reading.model, reading.listed) == (None, None, None, None)
    assert (reading.tool_calls, reading.stop_reason, reading.failure, reading.error) == (2, "completed", "", "")
    assert [step.source for step in reading.steps] == ["user", "system", "agent", "agent", "agent"]
    first = reading.steps[2].tools[0]
    assert (first.name, first.failed) == ("command_execution", False)
    assert first.result is not None and first.result.startswith("---\nname: zebra-invoices")


def test_a_control_and_a_command_that_failed() -> None:
    reading, refused = read("control"), read("refusal")
    assert (reading.invocations, reading.tool_calls, reading.failure) == ((), 1, "")
    # A refusal is not seen.
    assert (refused.failure, refused.final_message) == ("", "")
    (tool,) = [tool for step in read("failed-command").steps for tool in step.tools]
    assert tool.failed is True and tool.result and "nothing.txt" in tool.result


def test_a_patch() -> None:
    tools = [tool for step in read("patch").steps for tool in step.tools]
    assert [tool.name for tool in tools] == ["command_execution", "file_change"]
    assert tools[1].arguments == {"changes": [{"path": "/workspace/out.txt", "kind": "add"}]}
    assert tools[1].failed is False


@pytest.mark.parametrize(
    ("name", "failure", "error"),
    [
        ("auth", "auth", "unexpected status 401 Unauthorized"),
        ("quota", "quota", "Quota exceeded"),
        ("payment", "quota", "402 Payment Required"),
        ("throttled", "infrastructure", "429 Too Many Requests"),
        ("server", "infrastructure", "high demand"),
        ("no-model", "infrastructure", "does not exist"),
        ("bad-request", "infrastructure", "Invalid 'input'"),
        ("policy", "refusal", "usage policy"),
    ],
)
def test_failures(name: str, failure: str, error: str) -> None:
    reading = read(name, exit_code=1)
    assert (reading.failure, reading.stop_reason, reading.usage) == (failure, None, Usage())
    assert error in reading.error and "\n" not in reading.error


def test_stopped_while_it_waited_for_the_model() -> None:
    reading = read("auth-stopped", stopped="timeout")
    assert reading.failure == "auth" and "401 Unauthorized" in reading.error


@pytest.mark.parametrize("lines", range(9))
def test_stopped_anywhere_what_was_said_is_kept_and_nothing_is_made_up(lines: int) -> None:
    raw = b"".join(WHOLE.splitlines(keepends=True)[:lines])
    reading = codex.read(ProgramOutput(None, raw + b'{"type": "turn.comple', b"", "timeout"), JOB)
    assert (reading.failure, reading.usage, reading.stop_reason) == ("", Usage(), None)
    assert reading.invocations == (("zebra-invoices",) if lines >= 4 else ())
    assert reading.tool_calls == (0 if lines < 4 else 1 if lines < 6 else 2)
    if lines == 4:
        assert (reading.steps[-1].tools[0].result, reading.steps[-1].tools[0].failed) == (None, None)


@pytest.mark.parametrize(
    ("stdout", "stderr", "failure", "error"),
    [
        (b"", b"", "infrastructure", "code 1"),
        (b"", b"Error: Not logged in\n", "auth", "Not logged in"),
        (b'{"type":"thread.started","thread_id":"t"}\n', b"x\npanicked\n", "infrastructure", "complete: panicked"),
    ],
)
def test_a_program_that_breaks_down(stdout: bytes, stderr: bytes, failure: str, error: str) -> None:
    reading = codex.read(ProgramOutput(1, stdout, stderr), JOB)
    assert reading.failure == failure and error in reading.error


def line(**event: Any) -> bytes:
    return json.dumps(event).encode() + b"\n"


def test_items_of_other_kinds() -> None:
    items: list[dict[str, Any]] = [
        {"id": "1", "type": "reasoning", "text": "Hm."},
        {"id": "2", "type": "todo_list", "items": [{"text": "a", "completed": False}]},
        {"id": "3", "type": "mcp_tool_call", "server": "s", "tool": "look", "arguments": {"a": 1},
         "result": {"content": [{"type": "text", "text": "seen"}]}, "status": "completed"},
        {"id": "4", "type": "web_search", "query": "q"},
        {"id": "5", "type": "command_execution", "command": "x", "status": "declined", "exit_code": None},
        {"id": "6", "type": "brand_new", "what": "ever"},
    ]  # fmt: skip
    raw = b"".join(line(type="item.completed", item=item) for item in items)
    raw += line(type="item.updated", item={"id": "2", "type": "todo_list", "items": [{"text": "a", "completed": True}]})
    steps = codex.read(ProgramOutput(None, raw, stopped="timeout"), JOB).steps[1:]
    assert len(steps) == len(items)
    assert steps[0].reasoning == "Hm."
    assert [tool.name for step in steps for tool in step.tools] == [
        "todo_list", "look", "web_search", "command_execution", "brand_new",
    ]  # fmt: skip
    assert steps[1].tools[0].arguments["items"][0]["completed"] is True
    assert (steps[2].tools[0].arguments, steps[2].tools[0].result) == ({"a": 1}, "seen")
    assert steps[4].tools[0].failed is True


@pytest.mark.parametrize(
    ("usage", "read_as"),
    [
        ({}, Usage()),
        ({"input_tokens": 5}, Usage(5)),
        ({"input_tokens": 5, "cached_input_tokens": 9, "output_tokens": 1, "reasoning_output_tokens": 2}, Usage(5, 1)),
        ({"input_tokens": "5", "output_tokens": -1}, Usage()),
        ([5], Usage()),
    ],
)
def test_tokens_are_what_the_last_turn_says_or_unknown(usage: Any, read_as: Usage) -> None:
    reading = codex.read(ProgramOutput(0, line(type="turn.completed", usage=usage)), JOB)
    assert replace(reading.usage, raw=None) == read_as


def test_the_probe_lists_what_a_model_would_be_told() -> None:
    probe = codex.probe(JOB)
    assert probe.argv[1:3] == ("debug", "prompt-input") and probe.files == codex.command(JOB).files
    assert codex.listed(recorded("codex", "probe-staged.json")) == ("apple", "zebra-invoices")
    assert codex.listed(recorded("codex", "probe-none.json")) == ()
    for raw in (b"error: unknown\n", b"[]", b"[" * 100_000):
        assert codex.listed(ProgramOutput(0, raw)) is None


def test_a_description_makes_no_skill_and_hides_none() -> None:
    listing = (
        "### Available skills\n- a: One. - fake: Not one. (file: r0/fake/SKILL.md) and so on. (file: r0/a/SKILL.md)\n"
        "- b (file: r0/b/SKILL.md)\n- not a skill at all\n- c: (file: x) \n"
    )
    text = f"<skills_instructions>\n- r0: z (file: q)\n{listing}</skills_instructions>"
    told = {"developer": text, "user": text.replace("- a:", "- user:")}
    raw = [{"role": role, "content": [{"type": "input_text", "text": said}]} for role, said in told.items()]
    assert codex.listed(ProgramOutput(0, json.dumps(raw).encode())) == ("a", "b", "c")


WORDS = (
    "type", "item", "item.completed", "turn.completed", "turn.failed", "error", "message", "usage", "id", "status",
    "command_execution", "exit_code", "changes", "result", "content", "text", "thread.started", "thread_id", "role",
)  # fmt: skip
KINDS = {"type": st.sampled_from(["item.completed", "turn.completed", "turn.failed", "error"])}


@given(events(*WORDS, item=KINDS, error=KINDS), st.binary(max_size=20), st.sampled_from(["", "timeout"]))
def test_events_of_the_wrong_shape_are_read(made: list[dict[str, Any]], junk: bytes, stopped: str) -> None:
    borne(codex.read, JOB, lines(made) + junk, stopped)
    codex.listed(ProgramOutput(0, json.dumps(made).encode()))


@given(st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=4))
def test_a_damaged_stream_is_read(at: int, junk: bytes) -> None:
    reading = borne(codex.read, JOB, cut(WHOLE, at, junk), code=0)
    assert reading.turns is None and reading.tool_calls <= 3
