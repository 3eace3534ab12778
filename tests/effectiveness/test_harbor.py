"""The back end of Harbor's environments, with a stand-in of Harbor's interface and namespaces of this machine."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents._api import Command, ProgramOutput
from skill_health.effectiveness.check.verifier_runs import nothing_done, solved
from skill_health.effectiveness.sandbox import _mailbox, bubblewrap, harbor
from skill_health.effectiveness.sandbox._api import SandboxLimits, SandboxSession
from skill_health.effectiveness.sandbox._load import back_end, pick, unproved
from skill_health.effectiveness.sandbox._resources import how_enforced
from skill_health.effectiveness.sandbox._run import SandboxError, run
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.workspace.images import GATEWAY_ONLY, drop_copies, place_tasks
from skill_health.effectiveness.workspace.scripts import ScriptOptions

STAND_IN = Path(__file__).parent / "harbor_stand_in"
LOCAL = "harbor:local_environment:LocalEnvironment"
PATH = {"PATH": "/usr/bin:/bin"}
there = pytest.mark.skipif(not bubblewrap.found(), reason=bubblewrap.missing() or "bubblewrap")


def forget() -> None:
    harbor._python.cache_clear()
    harbor.of_provider.cache_clear()


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Harbor's program on PATH; yields the log of what its environments did."""
    program = tmp_path / "bin" / "harbor"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(STAND_IN))
    monkeypatch.setenv("LOCAL_LOG", str(tmp_path / "log"))
    forget()
    yield tmp_path / "log"
    forget()


def bridge() -> ModuleType:
    """The program that speaks with Harbor, as a module."""
    spec = importlib.util.spec_from_file_location("bridge", harbor._BRIDGE)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def a_box(root: Path, **more: object) -> SandboxSession:
    folders = [root / name for name in ("workspace", "home", "tmp")]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    return SandboxSession(*map(str, folders), image="debian", **more)  # type: ignore[arg-type]


def go(box: SandboxSession, *words: str, stdin: bytes = b"", limits: SandboxLimits | None = None) -> ProgramOutput:
    return asyncio.run(run(back_end(LOCAL), box, Command(words, PATH, stdin=stdin), limits or SandboxLimits(60)))


def test_without_harbor_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(harbor, "find_spec", lambda name: None)
    forget()
    with pytest.raises(
        UsageError, match=r"harbor:daytona cannot be used: Harbor is not installed: .*skill-health\[harbor\].*3\.12"
    ):
        pick("harbor:daytona", "debian")
    assert unproved("harbor", "") == harbor._MISSING
    forget()


@pytest.mark.parametrize("name", ["harbor:", "bubblewrap:x", "harbour:daytona", ":x"])
def test_what_is_no_provider_is_no_sandbox(name: str) -> None:
    with pytest.raises(UsageError, match="sandbox"):
        back_end(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "said"),
    [
        ("", "name one of its environments, as --sandbox harbor:daytona"),
        (":daytona", "Harbor cannot use daytona: ImportError: The 'daytona' environment requires extra dependencies."),
        (":mars", "Harbor cannot use mars: Harbor has no environment 'mars'; it has daytona, docker"),
        (":nowhere:Environment", "Harbor cannot use nowhere:Environment: ModuleNotFoundError: No module named 'nowhere'"),
        (":local_environment:LockedEnvironment", "LockedEnvironment: LOCAL_API_KEY is not set: get one, and set it"),
    ],
)  # fmt: skip
def test_a_provider_that_cannot_be_used_says_why(provider: str, said: str, installed: Path) -> None:
    chosen = back_end(f"harbor{provider}")
    assert chosen.found() == "" and said in chosen.missing() and "\n" not in chosen.missing()


@pytest.mark.slow
def test_what_the_provider_holds_is_what_is_recorded(installed: Path) -> None:
    held, online = back_end(LOCAL), back_end("harbor:local_environment:OnlineEnvironment")
    assert (held.found(), held.ISOLATES) == ("0", ("files", "network", "processes"))
    assert online.ISOLATES == ("files", "processes")
    said = how_enforced(held, SandboxLimits())
    assert said["memory"] == "by local_environment:LocalEnvironment, as Harbor says"
    assert said["network"].partition(", by ")[2].startswith("local_environment:")
    assert {key for key, text in said.items() if text.startswith("not")} == {"cpu", "disk", "stdout", "clock"}
    assert how_enforced(online, SandboxLimits())["network"].startswith("not enforced")


@there
@pytest.mark.slow
def test_a_program_has_its_files_and_input_and_leaves_what_it_wrote(tmp_path: Path, installed: Path) -> None:
    box = a_box(tmp_path)
    workspace = Path(box.workspace)
    (workspace / "a.txt").write_text("first\n")
    (workspace / "away").symlink_to("/etc/nowhere")
    script = "cat; cat a.txt; rm a.txt; mkdir in; echo more > in/b.sh; chmod +x in/b.sh; ln in/b.sh in/c.sh; mkfifo pipe; pwd; echo no >&2; exit 3"
    output = go(box, "bash", "-c", script, stdin=b"given\n")
    assert (output.exit_code, output.stdout, output.stderr) == (3, b"given\nfirst\n/workspace\n", b"no\n")
    assert output.stopped == "" and output.notes == ()
    assert sorted(path.name for path in workspace.rglob("*")) == ["away", "b.sh", "c.sh", "in"]
    assert os.readlink(workspace / "away") == "/etc/nowhere"
    assert (workspace / "in/c.sh").read_text() == "more\n" and os.access(workspace / "in/b.sh", os.X_OK)
    assert [line.split()[0] for line in installed.read_text().splitlines()] == ["start", "pid", "stop"]


ASKS = r"""
import hashlib, socket, threading
def ask(n, size):
    there = socket.create_connection(("127.0.0.1", 8123))
    there.sendall(b"%d " % n + b"x" * size)
    there.shutdown(socket.SHUT_WR)
    found = b"".join(iter(lambda: there.recv(65536), b""))
    said.append((n, len(found), hashlib.sha256(found).hexdigest()))
said = []
threads = [threading.Thread(target=ask, args=(n, n * 70_001)) for n in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(*sorted(said), sep="\n")
try:
    socket.create_connection(("192.0.2.1", 80), 2)
except OSError as error:
    print(type(error).__name__)
"""


@there
@pytest.mark.slow
@pytest.mark.parametrize("faults", ["", "exec"])
def test_a_socket_out_here_is_reached_also_where_commands_are_lost(
    faults: str, tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTS", faults)
    box = a_box(tmp_path, socket=str(tmp_path / "gateway"), port=8123)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.read(-1)
        for _ in range(4):
            writer.write(hashlib.sha256(asked).digest() * 2_000)
            await writer.drain()
        writer.close()

    async def all_of_it() -> ProgramOutput:
        async with await asyncio.start_unix_server(serve, box.socket):
            return await run(back_end(LOCAL), box, Command(("python3", "-c", ASKS), PATH), SandboxLimits(200))

    output = asyncio.run(all_of_it())
    *lines, refused = output.stdout.decode().splitlines()
    answers = [hashlib.sha256(b"%d " % n + b"x" * n * 70_001).digest() * 8_000 for n in range(3)]
    assert lines == [str((n, len(data), hashlib.sha256(data).hexdigest())) for n, data in enumerate(answers)], output
    assert refused in ("OSError", "TimeoutError")


def test_the_end_gives_up_no_command_that_is_under_way() -> None:
    """Whoever gives one up may be answered as if nothing were, or leave a process that no environment ends without."""
    module = bridge()
    said: list[str] = []

    class There:
        async def exchange(self, take_at: int, give_at: int, data: bytes, take: bool) -> bytes:
            if take:
                await begun.wait()
                ended = json.dumps({"code": 0}).encode()
                return _mailbox.FRAME.pack(_mailbox.ENDED, len(ended)) + ended
            begun.set()
            try:
                for _ in range(50):
                    await asyncio.sleep(0)
                said.append("ended")
            except asyncio.CancelledError:
                said.append("given up")
            return b""

    async def all_of_it() -> object:
        given: asyncio.Queue[bytes] = asyncio.Queue()
        given.put_nowait(b"x" * 200_000)
        return await module.Carrier(There(), [], 1, 2).carry(given)

    begun = asyncio.Event()
    assert asyncio.run(all_of_it()) == {"code": 0}
    assert said == ["ended"]


@there
@pytest.mark.slow
def test_limits_of_time_and_of_the_disk(tmp_path: Path, installed: Path) -> None:
    box = a_box(tmp_path)
    late = go(box, "bash", "-c", "echo here > y; sleep 100", limits=SandboxLimits(2))
    assert (late.stopped, late.exit_code) == ("timeout", None)
    assert Path(box.workspace, "y").read_text() == "here\n"
    fill = "for n in 1 2 3; do head -c 9000000 /dev/zero > $n; done"
    full = go(box, "bash", "-c", fill, limits=SandboxLimits(60, disk_bytes=20 << 20))
    assert full.stopped == "disk" and os.listdir(box.workspace) == []
    assert [line.split()[0] for line in installed.read_text().splitlines()] == ["start", "pid", "stop"] * 2


@there
@pytest.mark.slow
@pytest.mark.parametrize(("faults", "said"), [("start", "no machine is free"), ("stop", "it cannot be deleted")])
def test_what_the_provider_fails_at_is_nobody_elses_failure(
    faults: str, said: str, tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTS", faults)
    with pytest.raises(SandboxError, match=said) as found:
        go(a_box(tmp_path), "true")
    assert "\n" not in str(found.value)
    assert "stop delete=True" in installed.read_text()


@there
@pytest.mark.slow
def test_an_environment_is_deleted_though_we_are_killed(tmp_path: Path, installed: Path) -> None:
    code = (
        "import asyncio, sys\nsys.path.insert(0, sys.argv[1])\nfrom pathlib import Path\nfrom test_harbor import a_box, go\n"
        "go(a_box(Path(sys.argv[2])), 'sleep', '300')\n"
    )
    ours = subprocess.Popen([sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path)])

    def wait_for(word: str) -> None:
        for _ in range(600):
            if installed.exists() and word in installed.read_text():
                return
            time.sleep(0.1)
        raise AssertionError(f"never: {word}")

    wait_for("pid ")
    ours.send_signal(signal.SIGKILL)
    ours.wait()
    wait_for("stop delete=True")


TASK = {
    "task.toml": 'version = "1.0"\n[metadata]\ncategory = "finance"\n[agent]\ntimeout_sec = 60\n',
    "instruction.md": "Count the lines of prices.txt, write the number to /srv/work/lines.txt.\n",
    "environment/Dockerfile": "FROM debian\nENV ROUNDING=half-up\nWORKDIR /srv/work\nCOPY prices.txt .\nCOPY skills /root/.claude/skills\n",
    "environment/prices.txt": "1.25\n2.50\n3.75\n",
    "environment/skills/counting/SKILL.md": "---\nname: counting\ndescription: Use when lines are counted.\n---\n# Counting\n",
    # The environment's own variables, and the skill where the task's image would have it.
    "solution/solve.sh": "#!/bin/bash\ncd /srv/work\n[ $ROUNDING = half-up ] && grep -q counting /root/.claude/skills/counting/SKILL.md || exit 1\n"
    "grep -c . prices.txt > lines.txt\n",
    "tests/test.sh": "#!/bin/bash\ntest -z \"$(find /root -name SKILL.md)\" || exit 9\n"
    "grep -qxf /tests/lines.txt /srv/work/lines.txt && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n",
    "tests/lines.txt": "3\n",
}  # fmt: skip


@there
@pytest.mark.slow
def test_nothing_fails_and_the_oracle_passes(tmp_path: Path, installed: Path) -> None:
    for name, text in TASK.items():
        path = tmp_path / "tasks" / "line-count" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    loaded = load_tasks((str(tmp_path / "tasks"),), str(tmp_path))
    try:
        (task,) = place_tasks(loaded.tasks, LOCAL, "", GATEWAY_ONLY).tasks
        assert task.blockers == () and task.recipe is not None
        terms = ScriptOptions(back_end(LOCAL))
        start, end = (asyncio.run(state(task, terms, 1)) for state in (nothing_done, solved))
    finally:
        drop_copies()
    assert {one.verified.verdict.outcome for one in start.tried} == {"fail"}
    assert {one.verified.verdict.reward for one in end.tried} == {1.0}
    done = [line.split()[0] for line in installed.read_text().splitlines()]
    assert done.count("start") == done.count("stop") > 1


def packed(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return raw.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname, found.mode = kind, target, 0o6777
    return found


ATTACKS = {
    "above": [(entry("0/../out"), b"x")], "absolute": [(entry("/etc/out"), b"x")],
    "another place": [(entry("7/out"), b"x")], "a place that is read only": [(entry("1/out"), b"x")],
    "the place itself": [(entry("0", tarfile.SYMTYPE, "/etc"), b"")], "a dot": [(entry("0/./x"), b"x")],
    "twice": [(entry("0/a"), b"x"), (entry("0/a"), b"y")],
    "below a file": [(entry("0/a"), b"x"), (entry("0/a/b"), b"y")],
    "too many": [(entry(f"0/{n}"), b"") for n in range(6)], "too large": [(entry("0/a"), b"x" * 2_000)], "cut": [],
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_comes_back_stays_where_it_belongs(attack: str, tmp_path: Path) -> None:
    place, archive, module = tmp_path / "place", tmp_path / "left.tar.gz", bridge()
    place.mkdir()
    raw = packed(*ATTACKS[attack])
    archive.write_bytes(raw if attack != "cut" else packed((entry("0/a"), os.urandom(900)))[:-300])
    with pytest.raises(module.EnvironmentProblem):
        module.unpack(str(archive), [str(place), ""], 1_000, 5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["left.tar.gz", "place"]


def test_nothing_is_written_through_a_link_and_no_device_is_made(tmp_path: Path) -> None:
    place, archive, outside = tmp_path / "place", tmp_path / "left.tar.gz", tmp_path / "outside"
    place.mkdir()
    outside.mkdir()
    link, hard = entry("0/link", tarfile.SYMTYPE, str(outside)), entry("0/hard", tarfile.LNKTYPE, str(archive))
    device, fifo = entry("0/device", tarfile.CHRTYPE), entry("0/fifo", tarfile.FIFOTYPE)
    archive.write_bytes(packed((link, b""), (hard, b""), (device, b""), (fifo, b""), (entry("0/a"), b"x")))
    module = bridge()
    module.unpack(str(archive), [str(place)], 0, 0)
    assert sorted(os.listdir(place)) == ["a", "link"] and os.readlink(place / "link") == str(outside)
    assert (place / "a").stat().st_mode & 0o7777 == 0o777
    archive.write_bytes(packed((link, b""), (entry("0/link/a"), b"x")))
    with pytest.raises(module.EnvironmentProblem):
        module.unpack(str(archive), [str(place)], 0, 0)
    assert os.listdir(outside) == []


@pytest.mark.parametrize("size", [1, 3, 11, 1000])
def test_frames_come_out_whole_however_they_are_cut(size: int) -> None:
    wanted = [(1, b"abc"), (16, b""), (0, b"x" * 40), (2**31, b"\0")]
    raw = b"".join(_mailbox.FRAME.pack(channel, len(data)) + data for channel, data in wanted)
    frames = _mailbox.Frames()
    assert [one for at in range(0, len(raw), size) for one in frames.feed(raw[at : at + size])] == wanted


def test_a_piece_that_is_given_or_taken_twice_counts_once() -> None:
    program = object.__new__(_mailbox.Program)
    vars(program).update(
        _frames=_mailbox.Frames(), _received=0, _taking=_mailbox.threading.Lock(), _inputs={0: _mailbox.queue.Queue()}
    )
    raw = _mailbox.FRAME.pack(0, 4) + b"abcd"
    for at, piece in ((0, raw[:6]), (0, raw[:6]), (3, raw[3:9]), (9, raw[9:]), (0, raw)):
        program.receive(at, piece)
    with pytest.raises(ValueError, match="a piece is missing"):
        program.receive(len(raw) + 1, b"x")
    assert list(program._inputs[0].queue) == [b"abcd"]
    box = _mailbox.Outbox()
    box.put(1, b"first")
    whole = box.take(0)
    assert box.take(0) == whole and box.take(4) == whole[4:]
    box.put(2, b"second")
    assert box.take(len(whole)) == _mailbox.FRAME.pack(2, 6) + b"second"


def test_what_the_mailbox_prints_is_found_among_other_words() -> None:
    module = bridge()
    text = f"warning: <<\n<<<{base64.encodebytes(bytes(range(256)) * 3).decode()}>>>\nbye"
    assert module.answer_of(text) == bytes(range(256)) * 3
    with pytest.raises(module.EnvironmentProblem, match="the last"):
        module.answer_of("nothing\nthe last\n")


@pytest.mark.slow
def test_what_lies_in_a_folder_that_is_carried_is_not_carried_again(tmp_path: Path, installed: Path) -> None:
    ours, rewards = tmp_path / "ours", tmp_path / "rewards"
    (ours / "in").mkdir(parents=True)
    (ours / "in/main.py").write_text("")
    rewards.mkdir()
    box = a_box(
        tmp_path, readable=(str(ours / "in/main.py"), str(ours)), writable=(str(rewards),),
        mounts=((str(rewards), "/logs/verifier"),), socket=str(tmp_path / "gateway"),
    )  # fmt: skip
    plan = json.loads(back_end(LOCAL).wrap(box, Command(("python3", "x"))).argv[-1])
    places = {place["inside"]: place for place in plan["places"]}
    assert set(places) == {"/workspace", "/home/agent", "/tmp", "/logs/verifier", str(ours)}
    assert [inside for inside, place in places.items() if not place["back"]] == [str(ours)]
    assert plan["links"] == [["/logs/verifier", str(rewards)]] and plan["sockets"] == [str(tmp_path / "gateway")]


@pytest.mark.slow
def test_no_key_of_a_model_is_in_what_is_told(tmp_path: Path, installed: Path) -> None:
    wrapped = back_end(LOCAL).wrap(a_box(tmp_path), Command(("python3", "x")))
    plan = json.loads(wrapped.argv[-1])
    assert set(plan) == {
        "argv", "boot", "build_timeout_sec", "cpus", "cwd", "deed", "disk_bytes", "environment", "files", "image", "links",
        "memory_bytes", "name", "network", "places", "provider", "python", "sockets", "workdir",
    }  # fmt: skip
