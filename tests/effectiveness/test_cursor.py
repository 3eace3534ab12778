"""Cursor's agent, as its documents describe it: what it is started with, where it refuses, how its stream is read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest
import trial_bench
from agent_hostile import borne, events, lines
from agent_made import made_job, made_skill
from effects_made import replace
from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench.http.messages import Usage
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents import cursor
from skill_health.effectiveness.agents._api import Agent, ProgramOutput
from skill_health.effectiveness.agents._load import resolve
from skill_health.effectiveness.run.probes import problems, run_probe

KEY = "key_0123456789abcdef"
JOB = replace(made_job(made_skill("zebra-invoices"), prompt="-p x"), workspace="/var/tmp/job-1/workspace", key="")


def test_it_has_not_been_seen_to_work_and_says_so() -> None:
    assert cursor.VERIFIED == "" and cursor.PROTOCOLS == ()
    assert "documents only" in cursor.TITLE and "a run refuses it" in cursor.TITLE
    choice = resolve("cursor:auto", RouterSettings())
    assert (choice.model, choice.protocol, choice.provider) == ("auto", "", None)


def test_the_command_is_the_documented_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURSOR_API_KEY", KEY)
    command = cursor.command(JOB)
    assert command.argv == (
        JOB.program, "--print", "--output-format=stream-json", "--force", "--model=some-model-1", "--", "-p x"
    )  # fmt: skip
    assert command.env["CURSOR_API_KEY"] == KEY
    assert command == cursor.command(replace(JOB, skills=()))
    assert (cursor.probe(JOB), cursor.listed(ProgramOutput(0, b"x"))) == (None, None)
    cursor.check("cursor:auto")


def test_it_refuses_where_it_could_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURSOR_API_KEY", KEY)
    with pytest.raises(UsageError, match="it runs with --sandbox none alone"):
        cursor.command(replace(JOB, workspace="/workspace"))
    with pytest.raises(UsageError, match="which model"):
        cursor.check("cursor")
    monkeypatch.setenv("CURSOR_API_KEY", " ")
    for refused in (lambda: cursor.check("cursor:auto"), lambda: cursor.command(JOB)):
        with pytest.raises(UsageError, match="set CURSOR_API_KEY"):
            refused()


def test_a_probe_of_it_fails_before_anything_is_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURSOR_API_KEY", KEY)
    cell = trial_bench.cell(trial_bench.task(tmp_path, None), cast(Agent, cursor), "none")
    probe = asyncio.run(run_probe(cell))
    assert probe.error == "nothing shows what script sees: it neither lists its skills nor asks a model"
    assert problems(cell, probe, None) == [probe.error]


def call(call_id: str, kind: str, args: dict[str, Any], result: dict[str, Any] | None = None) -> dict[str, Any]:
    inner = {"args": args} if result is None else {"args": args, "result": result}
    subtype = "started" if result is None else "completed"
    return {"type": "tool_call", "subtype": subtype, "call_id": call_id, "tool_call": {f"{kind}ToolCall": inner}}


PATH = {"path": "/var/tmp/job-1/workspace/.cursor/skills/zebra-invoices/SKILL.md"}
START = {"type": "system", "subtype": "init", "session_id": "s", "model": "Auto", "permissionMode": "default"}
WORK = [
    {"type": "thinking", "subtype": "delta", "text": "Hm."},
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "I read it."}]}},
    call("a\n1", "read", PATH),
    call("a\n1", "read", PATH, {"success": {"content": "# Steps"}}),
    call("b", "shell", {"command": "false"}),
    call("b", "shell", {"command": "false"}, {"failure": {"stderr": "no", "exitCode": 1}}),
    {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}},
]
END = {"type": "result", "subtype": "success", "is_error": False, "result": "I read it.Done."}


def read(*made: dict[str, Any], **more: Any) -> Any:
    return cursor.read(ProgramOutput(0, lines(list(made)), **more), JOB)


def test_a_stream() -> None:
    reading = read(START, *WORK, END | {"usage": {"inputTokens": 90, "outputTokens": 7, "cacheReadTokens": 0}})
    assert (reading.final_message, reading.model, reading.session_id, reading.stop_reason) == (
        "Done.",
        "Auto",
        "s",
        "success",
    )
    assert (reading.invocations, reading.evidence) == (("zebra-invoices",), (f"read {PATH['path']}",))
    assert [(tool.name, tool.result, tool.failed) for step in reading.steps for tool in step.tools] == [
        ("read", "# Steps", False), ("shell", "no", True)
    ]  # fmt: skip
    assert reading.steps[1].reasoning == "Hm."
    assert reading.usage == Usage(90, 7, 0)
    assert (reading.turns, reading.cost_usd, reading.listed, reading.failure) == (None, None, None, "")


def test_tokens_that_may_mean_one_thing_or_another_are_not_known() -> None:
    usage = {"inputTokens": 90, "outputTokens": 7, "cacheReadTokens": 50, "cacheWriteTokens": 4}
    assert read(START, END | {"usage": usage}).usage == Usage(None, 7, 50, 4)
    assert read(START, END).usage == Usage()


@pytest.mark.parametrize(
    ("made", "stderr", "failure", "error"),
    [
        ([START, END | {"is_error": True, "result": "You have hit your usage limit"}], b"", "quota", "usage limit"),
        ([START, *WORK], b"", "infrastructure", "before its stream was complete"),
        ([], b"Error: Authentication required. Not logged in\n", "auth", "Not logged in"),
    ],
)
def test_failures(made: list[dict[str, Any]], stderr: bytes, failure: str, error: str) -> None:
    reading = read(*made, stderr=stderr)
    assert reading.failure == failure and error in reading.error
    assert read(*made[:1], stopped="timeout").failure == ""


WORDS = ("type", "assistant", "thinking", "tool_call", "readToolCall", "args", "result", "success", "call_id", "message",
         "content", "text", "usage", "inputTokens", "cacheReadTokens", "is_error", "completed", "subtype")  # fmt: skip


@given(events(*WORDS), st.binary(max_size=20), st.sampled_from(["", "timeout"]))
def test_events_of_the_wrong_shape_are_read(made: list[dict[str, Any]], junk: bytes, stopped: str) -> None:
    borne(cursor.read, JOB, lines(made) + junk, stopped)
    json.dumps(made)
