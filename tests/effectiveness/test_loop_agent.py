"""The agent `loop`: skills are read on demand, tools stay in the workspace, and whatever a model does, it ends."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_server import USAGE, AgentServer, Play
from effects_made import replace
from hypothesis import given
from hypothesis import strategies as st
from loop_server import chat, results, says
from loopback import Loopback, Reaction, failure
from scripted_bench import bench, fixture_copies, fixture_tasks

from skill_health.bench.http.messages import ToolCall, ToolResult
from skill_health.effectiveness.agents import loop
from skill_health.effectiveness.agents._api import Job, ProgramOutput, StreamReading
from skill_health.effectiveness.loop.agent import MOST_CALLS, MOST_TALK, SYSTEM, find, main, system_prompt
from skill_health.effectiveness.loop.job import LoopJob, decoded
from skill_health.effectiveness.loop.tools import MOST_LINES, MOST_TEXT, TOOLS, Toolbox

KEY = "stand-in-0123456789abcdef"
FOLDER = ".agents/skills"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty workspace that is the current folder, with a secret beside it."""
    (tmp_path / "secret.txt").write_text("nobody may read this")
    place = tmp_path / "workspace"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


Ask = Callable[..., tuple[StreamReading, list[dict[str, Any]]]]


@pytest.fixture
def ask(workspace: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run the agent in this process against a server; what is given back is its reading and what it printed."""

    def run(server: Loopback | str, **job: Any) -> tuple[StreamReading, list[dict[str, Any]]]:
        url = server if isinstance(server, str) else server.url
        told = LoopJob(prompt="Do it.", model="mock", protocol="openai", base_url=url, key=KEY, skills=FOLDER)
        code = main(replace(told, **{"timeout_sec": 20.0, **job}).encoded())
        printed = capsys.readouterr().out
        assert KEY not in printed
        output = ProgramOutput(code, printed.encode())
        reading = loop.read(output, Job("loop:mock", "mock", "Do it.", str(workspace), "/h", "/t", ()))
        assert code == (reading.failure == "infrastructure")
        return reading, [json.loads(line) for line in printed.splitlines()]

    return run


def skill(workspace: Path, name: str, text: str) -> Path:
    path = workspace / FOLDER / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("protocol", loop.PROTOCOLS)
def test_it_reads_the_staged_skill_and_does_the_work(protocol: str) -> None:
    (task,) = fixture_tasks("001-member-export")
    found = fixture_copies()
    watched = {name: copy.description for name, copy in found.items()}
    with AgentServer(Play(watched=watched, reader="file")) as server:
        arms = {"target": ("csv-cleaning",), "control": ()}
        for arm, offered in arms.items() if protocol == "openai" else [("target", arms["target"])]:
            server.clear()
            told = {"spec": "loop:mock", "model": "mock-1", "protocol": protocol, "base_url": server.url, "key": KEY}
            with bench(task, arm, found, **told) as made:
                output = made.run(loop)
                reading = loop.read(output, made.job)
                assert (Path(made.places.workspace) / "out.txt").is_file() == bool(offered)
            assert output.exit_code == 0, output.stderr
            assert KEY.encode() not in output.stdout + output.stderr
            assert set(server.offered()) == set(offered) and not server.faults
            assert reading.invocations == reading.listed == offered
            assert reading.evidence == tuple(f"read {FOLDER}/{name}/SKILL.md" for name in offered)
            assert (reading.final_message, reading.failure, reading.error) == ("All done.", "", "")
            answers = 3 if offered else 1
            assert (reading.turns, reading.tool_calls) == (answers, answers - 1)
            for name in ("input_tokens", "output_tokens", "cached_tokens"):
                assert getattr(reading.usage, name) == answers * getattr(USAGE, name)
            assert reading.model == "mock-1"
            first, last = server.bodies()[0], server.bodies()[-1]
            # The listing has the description; the body comes only when it was read.
            body = "Facts are proved" if not offered else found["csv-cleaning"].files[0].data.decode().splitlines()[-1]
            assert body not in first.text
            assert (body in last.text) == bool(offered)
            assert ("available_skills" in first.text) == bool(offered)


@pytest.mark.slow
def test_the_probe_lists_the_skills_in_their_order_and_asks_no_model() -> None:
    (task,) = fixture_tasks("001-member-export")
    found = fixture_copies()
    with bench(task, "order:7", found, base_url="http://127.0.0.1:9", protocol="openai") as made:
        output = made.run(loop, probing=True)
        names = tuple(copy.name for copy in made.job.skills)
    assert loop.listed(output) == names != tuple(sorted(names))


def test_a_job_survives_its_way() -> None:
    odd = "\u2028\x00\ud800 \U0001f600"
    job = LoopJob(odd, "m", "gemini", "http://x", KEY, FOLDER, ("b", "a"), 3, 4, 5.5, "l", True)
    assert decoded(job.encoded()) == job
    assert KEY not in repr(job)


def test_skills_are_listed_as_their_files_say(workspace: Path) -> None:
    skill(workspace, "zeal", "---\nname: zeal\ndescription: >\n  Use <when>\n  A & B.\n---\nBody of zeal.\n")
    skill(workspace, "tidy", "\ufeff---\r\nname: tidy\r\ndescription: Tidies.\r\n---\r\nBody.\r\n")
    skill(workspace, "bare", "No frontmatter at all.\n")
    skill(workspace, "torn", "---\nname: [\ndescription: \n")
    (workspace / FOLDER / "empty").mkdir()
    (workspace / FOLDER / "file.md").write_text("no folder")
    outside = workspace.parent / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text("---\nname: outside\ndescription: No.\n---\n")
    (workspace / FOLDER / "link").symlink_to(outside)
    os.mkfifo(skill(workspace, "pipe", "").with_name("SKILL.md.fifo"))
    (workspace / FOLDER / "pipe/SKILL.md").unlink()
    (workspace / FOLDER / "pipe/SKILL.md.fifo").rename(workspace / FOLDER / "pipe/SKILL.md")
    found = find(str(workspace), FOLDER, ("zeal", "bare"))
    assert [each.path.split("/")[-2] for each in found] == ["zeal", "bare", "tidy", "torn"]
    assert [(each.name, each.description) for each in found[:3]] == [
        ("zeal", "Use <when> A & B."), ("bare", ""), ("tidy", "Tidies."),
    ]  # fmt: skip
    told = system_prompt(found)
    assert "<name>zeal</name>\n<description>Use &lt;when&gt; A &amp; B.</description>" in told
    assert f"<location>{FOLDER}/zeal/SKILL.md</location>" in told
    assert "Body" not in told
    assert system_prompt(()) == SYSTEM and "skill" not in SYSTEM.lower()
    assert find(str(workspace), "nowhere") == ()


def box(workspace: Path, left: float = 60.0) -> Callable[..., ToolResult]:
    tools = Toolbox(str(workspace), lambda: left)
    return lambda name, **given: tools.call(ToolCall("id", name, given))


def test_the_tools_do_what_they_say(workspace: Path) -> None:
    use = box(workspace)
    assert use("write", path="a/b.txt", content="one\ntwo\nthree é").text == "wrote 16 bytes to a/b.txt"
    assert use("read", path="a/b.txt").text == "one\ntwo\nthree é"
    assert use("read", path=str(workspace / "a/b.txt"), offset=2, limit="1").text.startswith("two\n... 1 more")
    (workspace / "link").symlink_to("a")
    assert use("list").text == "a/\nlink -> a"
    assert use("list", path="link").text == "b.txt (16 bytes)"
    assert use("read", path="link/b.txt", offset=3).text == "three é"
    ran = use("run", command="echo out; echo err >&2; exit 3")
    assert (ran.text, ran.failed) == ("exit code 3\nout\nerr", True)
    assert use("run", command="cat a/b.txt | wc -l").text == "exit code 0\n2"
    assert (use("list", path="a").failed, use("run", command="true").failed) == (False, False)


@pytest.mark.parametrize("tool", ["read", "write", "list"])
def test_nothing_outside_is_reached(workspace: Path, tool: str) -> None:
    (workspace / "out").symlink_to(workspace.parent / "secret.txt" if tool != "list" else workspace.parent)
    (workspace / "loop").symlink_to("loop")
    before = (workspace.parent / "secret.txt").read_text()
    for path in ("../secret.txt", "..", "/etc/passwd", "a/../../secret.txt", "out", "out/x", "loop", "/proc/self/environ",
                 "x\0y", "\ud800"):  # fmt: skip
        result = box(workspace)(tool, path=path, content="mine")
        assert result.failed, path
        assert before not in result.text and "root:" not in result.text
        assert (workspace.parent / "secret.txt").read_text() == before
        assert sorted(os.listdir(workspace.parent)) == ["secret.txt", "workspace"]


def test_special_files_are_left_alone(workspace: Path) -> None:
    os.mkfifo(workspace / "pipe")
    use = box(workspace)
    for tool in ("read", "write"):
        assert use(tool, path="pipe", content="x").text == "pipe is not a file"
        assert use(tool, path=".", content="x").failed
    (workspace / "binary").write_bytes(b"\0" * 10)
    assert use("read", path="binary").text == "binary is not a text file (10 bytes)"
    assert use("read", path="missing").text == "missing: No such file or directory"
    assert use("list", path="pipe").failed


@pytest.mark.slow
def test_output_and_time_are_bounded(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEN", "yes")
    use = box(workspace, left=0.3)
    stopped = use("run", command="echo $SEEN; (sleep 3300; touch late) & sleep 3400", timeout_sec=10_000)
    assert stopped.text.startswith("stopped after 0.3 s\nyes") and stopped.failed
    assert len(box(workspace)("run", command="yes | head -c 3000000").text) <= MOST_TEXT
    (workspace / "long").write_text("x" * 200_000)
    (workspace / "many").write_text("y\n" * 5_000)
    assert len(use("read", path="long").text) <= MOST_TEXT
    assert use("read", path="many").text.endswith(f"read on with offset {MOST_LINES + 1}")
    for number in range(600):
        (workspace / f"f{number}").touch()
    assert use("list").text.endswith("... and 102 more")


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc to look into")
def test_commands_see_neither_the_key_nor_an_input() -> None:
    look = "cat; cat /proc/$PPID/environ /proc/self/environ /proc/$PPID/cmdline /proc/$PPID/fd/0 | tr '\\0' '\\n'; env"
    (task,) = fixture_tasks("001-member-export")
    with says([chat(None, ("run", {"command": look}))]) as server:
        told = {"spec": "loop:mock", "model": "mock-1", "protocol": "openai", "base_url": server.url, "key": KEY}
        with bench(task, "control", skills=(), **told) as made:
            reading = loop.read(made.run(loop), made.job)
        (said,) = results(server.seen[1])
    assert (reading.final_message, reading.failure) == ("Done.", "")
    assert said.startswith("exit code 0") and "PATH=" in said and "__main__.py" in said
    assert KEY not in said
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
GIVEN = st.none() | st.dictionaries(
    st.sampled_from(["path", "content", "offset", "limit", "timeout_sec"]), JSON, max_size=4
)


@given(st.sampled_from([*(tool.name for tool in TOOLS), "", "rm", "\x1b"]), GIVEN)
def test_no_arguments_break_the_tools(workspace: Path, name: str, given: dict[str, Any] | None) -> None:
    result = Toolbox(str(workspace), lambda: 5.0).call(ToolCall("id", name, given))
    assert isinstance(result.text, str) and len(result.text) <= MOST_TEXT
    assert sorted(os.listdir(workspace.parent)) == ["secret.txt", "workspace"]
    if given is None or name not in {tool.name for tool in TOOLS}:
        assert result.failed


def test_a_model_that_never_ends_is_ended(ask: Ask) -> None:
    with Loopback(lambda seen: chat("again", ("list", {}))) as server:
        reading, _ = ask(server, max_turns=4)
    assert (reading.stop_reason, reading.turns, reading.tool_calls, reading.failure) == ("turn_limit", 4, 4, "")
    assert reading.usage.input_tokens == 40
    assert len(server.seen) == 4


def test_a_model_that_asks_for_everything_at_once_gets_a_part(ask: Ask, workspace: Path) -> None:
    many = [("write", {"path": f"f{number}", "content": ""}) for number in range(40)]
    with says([chat(None, *many)]) as server:
        reading, _ = ask(server)
        given = results(server.seen[1])
    assert len(given) == 40
    assert len(os.listdir(workspace)) == MOST_CALLS
    assert [use.failed for use in reading.steps[2].tools] == [False] * MOST_CALLS + [True] * (40 - MOST_CALLS)


@pytest.mark.slow
def test_huge_arguments_are_cut_in_the_stream_and_end_the_talk(ask: Ask, workspace: Path) -> None:
    huge = "z" * (MOST_TALK + 10)
    with says([chat("so", ("write", {"path": "huge", "content": huge}))]) as server:
        reading, events = ask(server)
    assert (reading.stop_reason, reading.failure, len(server.seen)) == ("conversation_limit", "", 1)
    assert (workspace / "huge").stat().st_size == len(huge)
    assert sum(len(json.dumps(event)) for event in events) < 20_000


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        *[("read", text, "the arguments are not a JSON object") for text in ('{"path": "a', "[1]", "[" * 5000)],
        ("read", {}, "path is missing"),
        ("read", {"path": 7}, "path must be a text"),
        ("read", {"path": "x", "offset": "many"}, "x: No such file or directory"),
        ("write", {"path": "a"}, "content is missing"),
        ("run", {"command": "true", "timeout_sec": "NaN"}, "timeout_sec must be a number"),
        ("delete_all", {}, "there is no tool 'delete_all'; the tools are list, read, write, run"),
    ],
)
def test_what_makes_no_sense_is_answered(ask: Ask, name: str, arguments: Any, said: str) -> None:
    with says([chat(None, (name, arguments))]) as server:
        reading, _ = ask(server)
        assert results(server.seen[1]) == [said]
    assert (reading.final_message, reading.failure) == ("Done.", "")
    assert reading.steps[2].tools[0].failed is True


@pytest.mark.parametrize(
    ("reaction", "stop", "kind", "final"),
    [
        (chat(""), "stop", "", ""),
        (chat(None), "stop", "", ""),
        (chat("Half a", finish="length"), "length", "", "Half a"),
        (chat("", ("run", {"command": "touch done"}), finish="length"), "length", "", ""),
        (chat("No.", finish="content_filter"), "content_filter", "refusal", ""),
        (Reaction(body=b"{}"), "fatal", "infrastructure", ""),
        (Reaction(body=b"<html>", content_type="text/html"), "fatal", "infrastructure", ""),
        (Reaction(body=b"[]"), "fatal", "infrastructure", ""),
    ],
)
def test_every_end_is_told(ask: Ask, workspace: Path, reaction: Reaction, stop: str, kind: str, final: str) -> None:
    with says([reaction]) as server:
        reading, _ = ask(server)
    assert (reading.stop_reason, reading.failure, reading.final_message) == (stop, kind, final)
    assert bool(reading.error) == bool(kind)
    assert len(server.seen) == 1
    assert os.listdir(workspace) == []


@pytest.mark.parametrize("protocol", loop.PROTOCOLS)
def test_failures_are_classified(ask: Ask, protocol: str) -> None:
    kinds = {"wrong_key": "auth", "no_credit": "quota", "no_model": "infrastructure", "bad_request": "infrastructure"}
    for problem, kind in kinds.items():
        with Loopback(lambda seen, problem=problem: failure(seen, problem)) as server:
            reading, events = ask(server, protocol=protocol)
        assert (reading.failure, reading.turns) == (kind, None), problem
        assert reading.error and KEY not in json.dumps(events)
        assert len(server.seen) == 1


def test_the_other_name_of_the_limit_is_learnt_once(ask: Ask) -> None:
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    no = Reaction(status=400, body=json.dumps({"error": {"message": words, "type": "invalid_request_error"}}).encode())
    with Loopback(
        lambda seen: no if "max_tokens" in seen.body else chat(None, ("list", {})) if seen.number < 3 else chat("Yes.")
    ) as server:
        reading, _ = ask(server, max_output_tokens=77)
    assert (reading.final_message, reading.failure) == ("Yes.", "")
    assert [seen.body.get("max_completion_tokens") for seen in server.seen] == [None, 77, 77]
    assert {seen.path for seen in server.seen} == {"/v1/chat/completions"}


def test_a_skill_counts_as_read_only_where_it_was(ask: Ask, workspace: Path) -> None:
    skill(workspace, "tidy", "---\nname: tidy\ndescription: Tidies.\n---\n# Tidy\n\nPut everything where it belongs.\n")
    calls = [("list", {"path": f"{FOLDER}/tidy"}), ("read", {"path": f"{FOLDER}/none/SKILL.md"})]
    with says([chat(None, *calls)]) as server:
        reading, _ = ask(server)
    assert (reading.listed, reading.invocations) == (("tidy",), ())
    assert "<name>tidy</name>" in server.seen[0].body["messages"][0]["content"]


@pytest.mark.slow
def test_a_server_that_never_answers_does_not_hold_us(ask: Ask) -> None:
    with Loopback(lambda seen: Reaction(hang=True)) as server:
        reading, _ = ask(server, timeout_sec=1.0)
    assert reading.failure == "infrastructure" and "within 1 s" in reading.error


@pytest.mark.exhaustive
def test_a_server_that_is_not_there_does_not_hold_us(ask: Ask) -> None:
    with Loopback() as server:
        url = server.url
    reading, _ = ask(url, timeout_sec=2.0)
    assert (reading.failure, reading.turns) == ("infrastructure", None)
