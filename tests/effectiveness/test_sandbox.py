"""Sandboxes: the programs that are started in them, what they leave, and which one is taken."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest
from trial_bench import needs_bubblewrap, running

from skill_health.core.errors import UsageError
from skill_health.effectiveness.agents._api import Command, ProgramOutput
from skill_health.effectiveness.sandbox import _container, _load, _run, bubblewrap, docker, none, podman
from skill_health.effectiveness.sandbox._api import SandboxLimits, SandboxSession
from skill_health.effectiveness.sandbox._host import SUPERVISOR, SUPERVISORS
from skill_health.effectiveness.sandbox._load import back_end, back_ends, pick
from skill_health.effectiveness.sandbox._private import private_python
from skill_health.effectiveness.sandbox._run import Disk, SandboxError, Streams, last_words, run, to_the_end

# Tests see no variable of ours, so it is read before they begin.
IMAGE = os.environ.get("SKILL_HEALTH_TEST_IMAGE", "")
BOTH = pytest.mark.parametrize("name", ["bubblewrap", "none"])
SLOW = pytest.mark.parametrize("name", ["bubblewrap", pytest.param("none", marks=pytest.mark.slow)])
SHORT = SandboxLimits(timeout_sec=8, output_bytes=1 << 20, disk_bytes=8 << 20)


def a_box(tmp_path: Path, **more: Any) -> SandboxSession:
    for name in ("w", "h", "t"):
        (tmp_path / name).mkdir(exist_ok=True)
    return SandboxSession(*(str(tmp_path / name) for name in ("w", "h", "t")), **more)


def go(
    name: str,
    box: SandboxSession,
    words: tuple[str, ...],
    limits: SandboxLimits = SHORT,
    stdin: bytes = b"",
    odd: str = "",
) -> ProgramOutput:
    if name == "bubblewrap":
        needs_bubblewrap()
    inside = back_end(name).layout(box)
    clean = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": inside.home, "TMPDIR": inside.temporary, "ODD": odd}
    return asyncio.run(run(back_end(name), box, Command(words, clean, (), stdin), limits))


# --- One program -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@BOTH
def test_streams_input_environment_and_exit_code(tmp_path: Path, name: str) -> None:
    text = 'cat; echo "$ODD" >&2; echo x > file; echo $HOME > ~/home; echo t > $TMPDIR/t; exit 3'
    odd = 'a\nb="c" é'
    output = go(name, a_box(tmp_path), ("bash", "-c", text), stdin=b"\0in\xff" * 50_000, odd=odd)
    assert (output.exit_code, output.stopped, output.notes) == (3, "", ())
    assert output.stdout == b"\0in\xff" * 50_000 and output.stderr.decode() == f"{odd}\n"
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"w/file", "h/home", "t/t"}
    assert output.duration_ms is not None and 0 < output.duration_ms < 8000


SLOW_THREADS = """
import _thread, time
_start = _thread.start_new_thread
def _late(*given):
    time.sleep(0.05)
    with open({trace!r}, "a") as stream:
        stream.write("thread\\n")
    return _start(*given)
_thread.start_new_thread = _late
"""


@pytest.mark.slow
def test_a_program_starts_when_nothing_of_ours_has_to_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that starts others without end leaves no room for threads, which would look like a failure of the sandbox."""
    trace, folder = tmp_path / "trace", tmp_path / "supervisor"
    folder.mkdir()
    for name in SUPERVISORS:
        shutil.copy(Path(SUPERVISOR).with_name(name), folder)
    with open(folder / "_guard.py", "a") as stream:
        stream.write(SLOW_THREADS.format(trace=str(trace)))
    monkeypatch.setattr("skill_health.effectiveness.sandbox._run.SUPERVISOR", str(folder / "_inside.py"))
    limits = SandboxLimits(60, processes=50)
    output = go("none", a_box(tmp_path), ("sh", "-c", f"echo program >> {trace}"), limits=limits)
    assert output.exit_code == 0, output
    assert trace.read_text().split() == ["thread"] * 2 + ["program"]


@pytest.mark.slow
@SLOW
def test_a_program_that_does_not_start(tmp_path: Path, name: str) -> None:
    for word, reason in (("nowhere", "No such file"), ("/usr", "Permission"), ("/etc/passwd", "Permission")):
        with pytest.raises(SandboxError, match=f": {reason}"):
            go(name, a_box(tmp_path), (word,))


@pytest.mark.slow
@SLOW
def test_signals_are_negative(tmp_path: Path, name: str) -> None:
    assert go(name, a_box(tmp_path), ("sh", "-c", "kill -15 $$")).exit_code == -15
    assert go(name, a_box(tmp_path), ("sh", "-c", "(exit 143)")).exit_code == 143


@pytest.mark.slow
@SLOW
def test_limits_of_the_process(tmp_path: Path, name: str) -> None:
    text = "ulimit -c; ulimit -n; ulimit -f; umask; ulimit -Hf"
    words = go(name, a_box(tmp_path), ("bash", "-c", text)).stdout.decode().split()
    assert words[0] == "0"
    assert int(words[1]) <= 16_384
    assert words[2] == words[4] == str((8 << 20) >> 10)
    assert words[3] == "0022"


@pytest.mark.slow
@SLOW
def test_stopped_from_outside(tmp_path: Path, name: str) -> None:
    if name == "bubblewrap":
        needs_bubblewrap()
    word = f"3{os.getpid()}.{name[0] == 'b':d}"

    async def stopped() -> ProgramOutput:
        stop = asyncio.Event()
        text = f"echo begun; (setsid sleep {word} &); sleep {word}"
        command = Command(("bash", "-c", text), {"PATH": "/usr/bin:/bin"})
        task = asyncio.ensure_future(run(back_end(name), a_box(tmp_path), command, SHORT, stop))
        while len(running(word)) < 2:
            await asyncio.sleep(0.01)
        stop.set()
        return await task

    output = asyncio.run(asyncio.wait_for(stopped(), 600))
    assert (output.exit_code, output.stopped, output.stdout) == (None, "cancelled", b"begun\n")
    assert not running(word)


def test_nobody_can_speak_for_the_supervisor(tmp_path: Path) -> None:
    """Its words are known by a number that nobody else has, and come last."""
    fake = "printf '\\0%s 0 - \\n' aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa >&2; exit 5"
    assert go("none", a_box(tmp_path), ("bash", "-c", fake)).exit_code == 5
    streams = Streams(100)
    for part in (b"text\0n1 0 - \n", b"\0n1 7 ", b"disk x y\n"):
        streams.pipe_data_received(2, part)
    words = last_words(streams, "n1")
    assert words is not None and (words.exit_code, words.stopped, words.error) == (7, "disk", "x y")
    assert bytes(streams.kept[2]) == b"text\0n1 0 - \n" and streams.kept[2].total == 13
    assert last_words(streams, "n2") is None


def test_a_sandbox_that_breaks(tmp_path: Path) -> None:
    box = replace(a_box(tmp_path), workspace=str(tmp_path / "missing"))
    with pytest.raises(SandboxError, match="missing"):
        go("bubblewrap", box, ("true",))


# --- The way out -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_port_inside_is_a_socket_outside(tmp_path: Path) -> None:
    needs_bubblewrap()
    box = a_box(tmp_path, socket=str(tmp_path / "s"), port=8181)
    big = b"x" * 3_000_000

    def serve(server: socket.socket) -> None:
        for _ in range(4):
            there = server.accept()[0]
            with there:
                asked = b""
                while data := there.recv(1 << 16):
                    asked += data
                there.sendall(asked[:5] + big)

    client = (
        "import socket\ndef ask(text):\n s = socket.create_connection(('127.0.0.1', 8181)); s.sendall(text); s.shutdown(1)\n"
        " got = b''\n while data := s.recv(1 << 16): got += data\n s.close(); return got\n"
        f"print([(a[:5], len(a)) for a in map(ask, [b'one', b'two', b'y' * {len(big)}, b'four'])])\n"
        "import os; print(sorted(os.listdir('/run')), len(open('/proc/net/tcp').readlines()) > 1)"
    )
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(box.socket)
        server.listen()
        thread = threading.Thread(target=serve, args=(server,))
        thread.start()
        output = go("bubblewrap", box, ("python3", "-I", "-c", client))
        thread.join()
    assert output.stderr == b""
    answers = [(b"onexx", 3), (b"twoxx", 3), (b"yyyyy", 5), (b"fourx", 4)]
    answers = [(start, head + len(big)) for start, head in answers]
    assert output.stdout.decode().splitlines() == [repr(answers), "['supervisor'] True"]


@pytest.mark.slow
def test_a_gateway_that_is_gone(tmp_path: Path) -> None:
    box = a_box(tmp_path, socket=str(tmp_path / "s"), port=8181)
    (tmp_path / "s").write_bytes(b"")
    client = "import socket; s = socket.create_connection(('127.0.0.1', 8181))\ntry: print(s.recv(1))\nexcept OSError: print(b'')"
    assert go("bubblewrap", box, ("python3", "-I", "-c", client)).stdout == b"b''\n"


# --- The root of bubblewrap ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_readable_writable_and_hidden(tmp_path: Path) -> None:
    for name in ("read", "write", "read/inner"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text(name)
    places = ("/usr/share/doc", "/usr/share/perl5", "/usr/share/man", "/usr/lib/python3")
    hidden = (next(filter(os.path.isdir, places)), f"{tmp_path}/read/inner")
    box = a_box(tmp_path, readable=(f"{tmp_path}/read",), writable=(f"{tmp_path}/write",), hidden=hidden)
    at = tmp_path
    text = f"cat {at}/*/f; echo new > {at}/write/f; echo new > {at}/read/f; ls -A {hidden[0]}; touch file"
    output = go("bubblewrap", box, ("bash", "-c", text))
    assert output.stdout == b"readwrite"
    assert ((tmp_path / "read/f").read_text(), (tmp_path / "write/f").read_text()) == ("read", "new\n")
    assert (tmp_path / "w/file").exists()
    again = go("bubblewrap", replace(box, read_only_workspace=True), ("bash", "-c", "rm file || echo kept"))
    assert again.stdout == b"kept\n"


def test_what_is_readable_may_lie_in_what_is_hidden(tmp_path: Path) -> None:
    words = bubblewrap.wrap(a_box(tmp_path, hidden=("/usr/src",), readable=("/usr/src/app/x",)), Command(("x",))).argv
    if os.path.isdir("/usr/src"):
        assert words.index("/usr/src") < words.index("/usr/src/app/x")
    assert "--unshare-all" in words and "--die-with-parent" in words and words[-2:] == ("--", "x")


# --- Containers ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("module", [docker, podman])
def test_the_command_line_of_containers(tmp_path: Path, module: Any) -> None:
    shown = {"readable": ("/opt/agent,1", "/usr/bin/x"), "writable": ("/x/rewards",)}
    box = a_box(tmp_path, image="image:1", socket="/x/s", port=8181, **shown)
    inside = module.layout(box)
    assert (inside.workspace, inside.python) == ("/workspace", "python3")
    wrapped = module.wrap(box, Command(("python3", "-I", "-S", SUPERVISOR)))
    words = list(wrapped.argv)
    start, *python = private_python().words
    assert words[words.index("run") + 1] == "--rm" and words[words.index("image:1") :] == [
        "image:1", *python, "-I", "-S", "/run/supervisor/_inside.py"
    ]  # fmt: skip
    for pair in (("--network", "none"), ("--cap-drop", "ALL"), ("--pull", "never"), ("--entrypoint", start),
                 ("--security-opt", "no-new-privileges"), ("--user", f"{os.getuid()}:{os.getgid()}")):  # fmt: skip
        assert words[words.index(pair[0]) + 1] == pair[1]
    assert "--read-only" in words and "--interactive" in words and "--pids-limit" in words
    mounts = [words[at + 1] for at, word in enumerate(words) if word == "--mount"]
    assert f"type=bind,source={box.workspace},target=/workspace" in mounts
    assert 'type=bind,source="/opt/agent,1",target="/opt/agent,1",readonly' in mounts
    assert "type=bind,source=/x/rewards,target=/x/rewards" in mounts and "type=bind,source=/x/s,target=/x/s" in mounts
    assert not any("/usr/bin/x" in mount for mount in mounts)
    assert not set(wrapped.env) & {"OPENAI_API_KEY", "LD_PRELOAD"}
    for image in ("", "--privileged"):
        with pytest.raises(ValueError, match="image"):
            module.wrap(replace(box, image=image), Command(("x",)))


def fake(program: Path, text: str) -> None:
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)


def forget() -> None:
    for memory in (_container._answer, _container.ran):
        memory.cache_clear()


@pytest.fixture
def _nothing_tried() -> Iterator[None]:
    forget()
    yield
    forget()


@pytest.mark.parametrize(("text", "version", "reason"), [
    ('test "$*" = "version --format {{.Server.Version}}" && echo 27.1', "27.1", ""),
    ("echo Cannot connect to the daemon >&2; exit 1", "", "Cannot connect to the daemon"),
    ("exit 0", "", "it says nothing"),
    (None, "", ""),
])  # fmt: skip
@pytest.mark.usefixtures("_nothing_tried")
def test_engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, version: str, reason: str) -> None:
    if text is not None:
        fake(tmp_path / "docker", text)
    monkeypatch.setenv("PATH", str(tmp_path))
    missing, _, said = docker.missing().partition(" (")
    assert (docker.found(), missing.partition(" ")[0], said) == (
        version,
        "" if version else "docker",
        reason and f"{reason})",
    )


RUNS = """case "$1" in version) echo 27.1;; run) shift
for word; do case "$word" in type=bind,source=*,target=/workspace) place=${word#*source=}; place=${place%%,*};; esac; done
%s;; esac"""


@pytest.mark.parametrize(("text", "reason"), [
    (': > "$place/ran"', ""),
    ("exit 0", "docker cannot run a container of image:1 (exit code 0"),
    ("echo keep-id is only supported in rootless mode >&2; exit 125", "docker cannot run a container of image:1 (keep-id is only"),
])  # fmt: skip
@pytest.mark.usefixtures("_nothing_tried")
def test_an_engine_is_usable_once_a_container_has_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    fake(tmp_path / "docker", RUNS % text)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert _load.unproved("docker", "").startswith("its engine answers (27.1), but no container was run")
    said = _load.unproved("docker", "image:1")
    assert said.startswith(reason) and bool(said) == bool(reason)
    assert "needs the name of an image" in _load.unproved("docker", "--privileged")
    if reason:
        with pytest.raises(UsageError, match="the sandbox docker cannot be used: docker cannot run a container"):
            pick("docker", "image:1")
    else:
        assert pick("docker", "image:1") == "docker"


@pytest.mark.slow
def test_podman_asks_root_for_no_mapping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for user, wanted in ((0, False), (1000, True)):
        monkeypatch.setattr(os, "getuid", lambda user=user: user)
        words = podman.wrap(a_box(tmp_path, image="image:1"), Command(("python3",))).argv
        assert ("keep-id" in words) == wanted
        assert words[words.index("--user") + 1].startswith(f"{user}:")


def test_containers_get_the_limits(tmp_path: Path) -> None:
    words = docker.wrap(a_box(tmp_path, image="image:1", memory_bytes=1 << 30, cpus=1.5), Command(("python3",))).argv
    for name, value in (("--memory", str(1 << 30)), ("--memory-swap", str(1 << 30)), ("--cpus", "1.5")):
        assert words[words.index(name) + 1] == value
    assert "--memory" not in docker.wrap(a_box(tmp_path, image="image:1"), Command(("python3",))).argv


@pytest.mark.real
@pytest.mark.parametrize("module", [docker, podman])
def test_a_real_container(tmp_path: Path, module: Any) -> None:
    if not module.found() or not IMAGE:
        pytest.skip(f"no container engine: {module.missing() or 'SKILL_HEALTH_TEST_IMAGE names no image'}")
    words = ("sh", "-c", "echo x > f; cat; exit 3")
    output = go(module.__name__.rpartition(".")[2], a_box(tmp_path, image=IMAGE), words, stdin=b"in")
    assert (output.exit_code, output.stdout, (tmp_path / "w/f").read_text()) == (3, b"in", "x\n")


# --- Which one -------------------------------------------------------------------------------------------------------


def test_back_ends_are_found_and_none_must_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(back_ends()) == ["bubblewrap", "podman", "docker", "harbor", "none"]
    assert none.ISOLATES == () and pick("none") == "none"
    works: dict[str, str] = {}
    for module in (bubblewrap, podman, docker):
        name = module.__name__.rpartition(".")[2]
        monkeypatch.setattr(module, "found", lambda name=name: works.get(name, ""))
        monkeypatch.setattr(module, "missing", lambda name=name: f"no {name}")
        monkeypatch.setattr(module, "proved", lambda image: "", raising=False)
    with pytest.raises(UsageError, match=r"no bubblewrap; no podman; no docker; .*--sandbox none"):
        pick(None, "image")
    with pytest.raises(UsageError, match="no bubblewrap; or run"):
        pick()
    works["docker"] = "1"
    assert pick(None, "image") == "docker"
    with pytest.raises(UsageError, match="needs an image"):
        pick("docker")
    works["bubblewrap"] = "1"
    assert pick() == pick("bubblewrap") == "bubblewrap"
    with pytest.raises(UsageError, match="the sandbox podman cannot be used: no podman"):
        pick("podman", "image")
    with pytest.raises(UsageError, match="did you mean bubblewrap"):
        pick("bubblewarp")


def test_a_bubblewrap_that_may_not_make_namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path / "bwrap", "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bubblewrap.found() == "" and "setting up uid map: Permission denied" in bubblewrap.missing()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert "Permission denied" not in bubblewrap.missing() != ""


# --- Parts -----------------------------------------------------------------------------------------------------------


def test_the_disk_is_looked_at_seldom_and_in_time(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    disk = Disk([str(tmp_path)], SandboxLimits(disk_bytes=1 << 20, files=10))
    looks = []
    disk._look = lambda look=disk._look: looks.append(1) or look()  # type: ignore[method-assign, func-returns-value]
    assert not asyncio.run(disk.exceeded()) and not looks
    disk._looked -= 2
    assert not asyncio.run(disk.exceeded()) and len(looks) == 1
    (tmp_path / "d" / "big").write_bytes(b"x" * (2 << 20))
    disk._looked -= 2
    assert asyncio.run(disk.exceeded()) and disk.said == "more than 1,048,576 bytes were written"
    assert not asyncio.run(Disk([str(tmp_path)], SandboxLimits(disk_bytes=0, files=0)).exceeded())
    missing = Disk([str(tmp_path / "missing")], SandboxLimits(disk_bytes=1))
    missing._looked -= 9
    assert not asyncio.run(missing.exceeded())


@pytest.mark.slow
def test_work_that_must_not_be_left_half_done() -> None:
    done: list[str] = []

    async def work() -> str:
        await asyncio.sleep(0.05)
        done.append("x")
        return "value"

    async def cancelled() -> None:
        task = asyncio.ensure_future(to_the_end(work()))
        for _ in range(3):
            await asyncio.sleep(0.005)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert done == ["x"]
    assert asyncio.run(to_the_end(work())) == "value"


@pytest.mark.parametrize(("temporary", "spoke"), [("/t", False), ("/t", True), ("", False), ("", True)])
def test_only_a_supervisor_that_died_leaves_something_to_end(
    temporary: str, spoke: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    monkeypatch.setattr(_run, "end_leftovers", ended.append)

    async def end() -> None:
        done = asyncio.Event()
        done.set()
        streams = SimpleNamespace(started=done, exited=done, closed=done, has=lambda nonce: spoke)
        await _run._end(MagicMock(), cast(Any, streams), temporary, "nonce")

    asyncio.run(end())
    assert ended == ([temporary] if temporary and not spoke else [])


@pytest.mark.usefixtures("_nothing_tried")
def test_an_engine_that_is_installed_later_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert _container.tried("some-engine", "version") == ("", "some-engine is not installed")
    engine = tmp_path / "some-engine"
    engine.write_text("#!/bin/sh\necho 5.1\n", encoding="utf-8")
    engine.chmod(0o755)
    assert _container.tried("some-engine", "version") == ("5.1", "")
