"""Cursor's agent, as its documents describe it: what it is started with, where it refuses, how its stream is read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import trial_bench
from agent_hostile import borne, events, lines
from agent_made import made_job, made_skill
from effects_made import replace
from hypothesis import given
from hypothesis import strategies as st
from run_made import only_read, rows, the_run, write_collection

from skill_health.bench.http.messages import Usage
from skill_health.cli import main
from skill_health.config.settings import RouterSettings
from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents import cursor
from skill_health.effectiveness.agents._api import ProgramOutput
from skill_health.effectiveness.agents._load import resolve
from skill_health.effectiveness.gateway import tunnel

KEY = "key_0123456789abcdef"
JOB = replace(made_job(made_skill("zebra-invoices"), prompt="-p x"), workspace="/var/tmp/job-1/workspace", key="")


def test_it_has_not_been_seen_to_work_and_says_so() -> None:
    assert cursor.VERIFIED == "" and cursor.PROTOCOLS == ()
    assert "documents only" in cursor.TITLE and "--weaker-proof cursor" in cursor.TITLE
    choice = resolve("cursor:auto", RouterSettings())
    assert (choice.model, choice.protocol, choice.provider) == ("auto", "", None)


def test_the_command_is_the_documented_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURSOR_API_KEY", KEY)
    command = cursor.command(JOB)
    assert command.argv == (
        JOB.program, "--print", "--output-format=stream-json", "--force", "--model=some-model-1", "--", "-p x"
    )  # fmt: skip
    assert (command.env["CURSOR_API_KEY"], command.env["HTTPS_PROXY"]) == (KEY, JOB.base_url)
    assert command == cursor.command(replace(JOB, skills=()))
    assert (cursor.probe(JOB), cursor.listed(ProgramOutput(0, b"x"))) == (None, None)
    cursor.check("cursor:auto")


def test_it_refuses_where_it_could_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURSOR_API_KEY", KEY)
    with pytest.raises(UsageError, match="which model"):
        cursor.check("cursor")
    monkeypatch.setenv("CURSOR_API_KEY", " ")
    for refused in (lambda: cursor.check("cursor:auto"), lambda: cursor.command(JOB)):
        with pytest.raises(UsageError, match="set CURSOR_API_KEY"):
            refused()


@pytest.mark.parametrize(
    ("line", "host"),
    [
        (b"CONNECT api2.cursor.sh:443 HTTP/1.1", "api2.cursor.sh"),
        (b"CONNECT CURSOR.COM:443 HTTP/1.0", "cursor.com"),
        (b"CONNECT api2.cursor.sh:80 HTTP/1.1", ""),
        (b"CONNECT evilcursor.sh:443 HTTP/1.1", ""),
        (b"CONNECT api2.cursor.sh.evil.example:443 HTTP/1.1", ""),
        (b"CONNECT 93.184.216.34:443 HTTP/1.1", ""),
        (b"CONNECT api2.cursor.sh:443:443 HTTP/1.1", ""),
        (b"GET http://api2.cursor.sh/ HTTP/1.1", ""),
        (b"CONNECT  api2.cursor.sh:443 HTTP/1.1", ""),
        (b"CONNECT \xff.cursor.sh:443 HTTP/1.1", ""),
        (b"", ""),
    ],
)
def test_the_way_out_leads_to_its_servers_alone(line: bytes, host: str) -> None:
    assert tunnel.allowed(line, cursor.DOMAINS) == host


@given(st.binary(max_size=60))
def test_no_line_gets_further(line: bytes) -> None:
    found = tunnel.allowed(line, ("cursor.sh",))
    assert found == "" or found.endswith("cursor.sh")


@pytest.fixture
def collection_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tasks and skills, and the stand-in on PATH under the real one's name."""
    place = write_collection(tmp_path / "c", 6, 1)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/cursor-agent"
    source = Path(__file__).with_name("cursor_agent_program.py").read_text("utf-8")
    program.write_text(f"#!/usr/bin/env python3\n{source}", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setenv("CURSOR_API_KEY", KEY)
    monkeypatch.chdir(place)
    only_read(monkeypatch)
    return place


RUN = ("effectiveness", "run", "tasks", "--agents", "cursor:some-model", "--reps", "1", "--arms", "target", "--quiet")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "give --weaker-proof cursor"),
        (("--weaker-proof", "cursor"), "take a sandbox that keeps the network apart"),
        (("--weaker-proof", "cursor,codex"), "--weaker-proof codex: no agent of the run is called so and needs it"),
    ],
)
def test_it_never_runs_unasked(
    collection_with_it: Path, more: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*RUN, "--sandbox", "none", *more, "--max-runs", "20", "--unsafe-no-cost-cap"]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (collection_with_it / "reports").exists()


def test_a_configuration_cannot_ask_for_it(collection_with_it: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (collection_with_it / "skill-health.toml").write_text('[effectiveness]\nweaker-proof = ["cursor"]\n', "utf-8")
    assert main([*RUN, "--sandbox", "none", "--max-runs", "20", "--unsafe-no-cost-cap"]) == 2
    assert "weaker-proof" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_a_run_under_a_weaker_proof(
    collection_with_it: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The protocol played by a stand-in: its server is on loopback, behind the one way out of the sandbox."""
    trial_bench.needs_bubblewrap()
    asked: list[tuple[str, int]] = []
    keys: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        keys.append((await reader.readline()).decode().strip())
        writer.write(b"hello\n")
        writer.close()

    async def dial(host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        asked.append((host, port))
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        line = await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])
        server.close()
        return line

    monkeypatch.setattr(tunnel, "dial", dial)
    more = ("--weaker-proof", "cursor", "--sandbox", "bubblewrap", "--max-runs", "40", "--unsafe-no-cost-cap")
    code = main([*RUN[:-1], *more])
    said = capsys.readouterr()
    assert code == 0, said.err
    assert "cursor:some-model, under a weaker proof: it asks Cursor's servers with your key" in said.err
    folder = the_run(collection_with_it / "reports")
    results = rows(folder / "results.jsonl")
    assert {(row["arm"], row["outcome"], row["invoked"]) for row in results} == {
        ("control", "fail", "no"), ("target", "pass", "yes")
    }  # fmt: skip
    used = {(row["usage_source"], row["usage"]["input_tokens"], row["cost_usd"]) for row in results}
    assert used == {("agent", 900, None)}
    ways = json.loads((folder / results[0]["folder"] / "final.txt").read_text("utf-8"))
    assert ways == {"api2.cursor.sh": "200 hello", "example.com": "403", "by itself": "no way"}
    assert set(asked) == {("api2.cursor.sh", 443)} and set(keys) == {KEY}
    # Marked wherever a figure is shown, and the key is in no file.
    for format_ in ("text", "md", "json", "csv", "junit"):
        assert main(["effectiveness", "report", "--format", format_]) == 0
        shown = capsys.readouterr().out.casefold()
        assert "weaker proof" in shown or "weaker_proof" in shown or '"unproved": "it asks' in shown, format_
    assert main(["status"]) == 0
    assert "weaker proof" in capsys.readouterr().out
    (line, *_) = rows(collection_with_it / "reports" / "effectiveness-history.jsonl")
    assert line["unproved"] == cursor.UNPROVED
    files = [path for path in collection_with_it.rglob("*") if path.is_file()]
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


def call(call_id: str, kind: str, args: dict[str, Any], result: dict[str, Any] | None = None) -> dict[str, Any]:
    inner = {"args": args} if result is None else {"args": args, "result": result}
    subtype = "started" if result is None else "completed"
    return {"type": "tool_call", "subtype": subtype, "call_id": call_id, "tool_call": {f"{kind}ToolCall": inner}}


PATH = {"path": "/var/tmp/job-1/workspace/.cursor/skills/zebra-invoices/SKILL.md"}
START: dict[str, Any] = {"type": "system", "subtype": "init", "session_id": "s", "model": "Auto"}


def told(text: str) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}}


WORK: list[dict[str, Any]] = [
    {"type": "thinking", "subtype": "delta", "text": "Hm."},
    told("I read it."),
    call("a\n1", "read", PATH),
    call("a\n1", "read", PATH, {"success": {"content": "# Steps"}}),
    call("b", "shell", {"command": "false"}),
    call("b", "shell", {"command": "false"}, {"failure": {"stderr": "no", "exitCode": 1}}),
    told("Done."),
]
END: dict[str, Any] = {"type": "result", "subtype": "success", "is_error": False, "result": "I read it.Done."}


def read(*made: dict[str, Any], **more: Any) -> Any:
    return cursor.read(ProgramOutput(0, lines([*made]), **more), JOB)


def test_a_stream() -> None:
    reading = read(START, *WORK, END | {"usage": {"inputTokens": 90, "outputTokens": 7, "cacheReadTokens": 0}})
    assert (reading.final_message, reading.model) == ("Done.", "Auto")
    assert (reading.session_id, reading.stop_reason) == ("s", "success")
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
        ([START, *WORK], b"", "infrastructure", "its stream"),
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
