"""Limits of memory, processors, tasks and disk, as what runs inside meets them; what does not hold is said."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_sandbox import a_box, go
from trial_bench import needs_bubblewrap, record, tried

from skill_health.effectiveness.sandbox import _resources, bubblewrap, docker, none
from skill_health.effectiveness.sandbox._api import SandboxLimits
from skill_health.effectiveness.sandbox._resources import CPU, MEMORY, TASKS, how_enforced, open_group

BOTH = pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
GROUPS = pytest.mark.skipif(
    MEMORY not in _resources._covered(SandboxLimits()), reason="no control group can be made here"
)
SMALL = SandboxLimits(timeout_sec=60, memory_bytes=256 << 20, disk_bytes=64 << 20)
TAKE = "python3 -I -S -c 'x = bytearray(%d << 20); print(len(x) >> 20)'"


@pytest.fixture(autouse=True)
def no_groups_left() -> Iterator[None]:
    yield
    for place in set(_resources._parents().values()):
        assert not [name for name in os.listdir(place) if name.startswith(f"skill-health-{os.getpid()}-")]


@pytest.fixture
def without_groups(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    whole = _resources._parents
    monkeypatch.setattr(_resources, "_parents", dict)
    _resources._tried.cache_clear()
    yield
    monkeypatch.setattr(_resources, "_parents", whole)
    _resources._tried.cache_clear()


# --- From inside -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@BOTH
def test_more_memory_than_a_process_may_have(tmp_path: Path, sandbox: str, without_groups: None) -> None:
    output = go(sandbox, a_box(tmp_path), ("bash", "-c", f"{TAKE % 100}; {TAKE % 3000}; echo $?"), SMALL)
    assert output.stdout.decode().split() == ["100", "1"] and b"MemoryError" in output.stderr


@GROUPS
@pytest.mark.real
@BOTH
def test_more_memory_than_all_may_have(tmp_path: Path, sandbox: str) -> None:
    """Each of four takes less than the limit, and all of them more."""
    holds = "python3 -I -S -c 'import time; x = bytearray(100 << 20); time.sleep(3)'"
    text = f"for i in 1 2 3 4; do {holds} & done; wait; {TAKE % 3000}; echo $?"
    output = go(sandbox, a_box(tmp_path), ("bash", "-c", text), SMALL)
    assert output.stdout.decode().split() == ["137"] and b"Killed" in output.stderr
    assert any("the kernel ended" in note and "bytes of memory" in note for note in output.notes)


@GROUPS
@pytest.mark.real
def test_files_in_memory_count(tmp_path: Path) -> None:
    needs_bubblewrap()
    output = go("bubblewrap", a_box(tmp_path), ("bash", "-c", "df --output=size -B1 /dev/shm | tail -1"), SMALL)
    assert int(output.stdout) == 256 << 20


@pytest.mark.skipif(CPU not in _resources._covered(SandboxLimits()), reason="no control group can be made here")
@pytest.mark.real
def test_processors(tmp_path: Path) -> None:
    """Two busy programs get half a processor between them."""
    needs_bubblewrap()
    # What is left when the first of them ends is ended with it, so that it waits for the other.
    busy = (
        "import os, time\nother = os.fork()\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass\n"
        "took = time.process_time()\nother and os.wait()\nprint(took, flush=True)\n"
    )
    limits = SandboxLimits(timeout_sec=60, cpus=0.5)
    took = go("bubblewrap", a_box(tmp_path), ("python3", "-I", "-S", "-c", busy), limits).stdout.decode().split()
    assert len(took) == 2 and sum(map(float, took)) < 1.6


@GROUPS
@pytest.mark.real
def test_tasks(tmp_path: Path) -> None:
    needs_bubblewrap()
    bomb = (
        "import os, time\ncount = 0\n"
        "try:\n    for count in range(2000):\n        if not os.fork():\n            time.sleep(5)\n            os._exit(0)\n"
        "except OSError as error:\n    print(count, error.errno, flush=True)\n"
    )
    limits = SandboxLimits(timeout_sec=60, processes=10)
    output = go("bubblewrap", a_box(tmp_path), ("python3", "-I", "-S", "-c", bomb), limits)
    count = output.stdout.decode().split()
    # The supervisor may come first; either way there were never more than the group lets in.
    assert output.stopped == "processes" or (int(count[0]) <= 160 and count[1] == "11")


@pytest.mark.slow
def test_ten_gigabytes_by_fallocate(tmp_path: Path) -> None:
    needs_bubblewrap()
    take = (
        "import ctypes, os\nlibrary = ctypes.CDLL(None, use_errno=True)\n"
        "for n in range(10):\n    handle = os.open(f'f{n}', os.O_CREAT | os.O_RDWR)\n"
        "    print(library.fallocate(handle, 0, ctypes.c_long(0), ctypes.c_long(60 << 20)), ctypes.get_errno())\n"
        "os.posix_fallocate(os.open('real', os.O_CREAT | os.O_RDWR), 0, 1 << 20)\n"
        "print(sum(os.stat(name).st_blocks * 512 for name in os.listdir('.')))\n"
    )
    output = go("bubblewrap", a_box(tmp_path), ("python3", "-I", "-S", "-c", take), SMALL)
    lines = output.stdout.decode().splitlines()
    assert set(lines[:-1]) == {"-1 95"} and (1 << 20) <= int(lines[-1]) < (2 << 20)


# --- What is said ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@BOTH
def test_the_record_says_what_was_enforced(tmp_path: Path, sandbox: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fresh").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "fresh"))
    _, place = tried(tmp_path, "true", sandbox)
    said = record(place, "trial.json")["sandbox"]["enforced"]
    assert set(said) == {"memory", "cpu", "processes", "file_size", "disk", "network", "stdout", "clock", "verifier"}
    # Whether a file system can be mounted is the machine's; without a sandbox none is.
    assert said["disk"].startswith(("not enforced", *["by "] * (sandbox != "none")))
    assert said["file_size"] == "by rlimit"
    assert (said["network"] == "not enforced") == (sandbox == "none")


def test_what_is_said_where_there_are_no_groups(without_groups: None) -> None:
    said = how_enforced(bubblewrap, SandboxLimits())  # type: ignore[arg-type]
    assert said["memory"].endswith("not enforced for all together") and said["cpu"] == "not enforced"
    assert how_enforced(none, SandboxLimits(memory_bytes=0))["memory"] == "not enforced"  # type: ignore[arg-type]
    assert how_enforced(docker, SandboxLimits())["memory"] == "by the container engine"  # type: ignore[arg-type]


# --- The files of both versions --------------------------------------------------------------------------------------


def test_a_group_of_version_2(tmp_path: Path) -> None:
    """Over a made-up tree: this machine may have the other version."""
    group = open_group(SandboxLimits(memory_bytes=1 << 30, cpus=1.5), "x", 100, {"": str(tmp_path)})
    assert group is not None and (group.version, group.covers) == (2, {MEMORY, TASKS, CPU})
    (folder,) = map(Path, group.folders)
    values = {path.name: path.read_text() for path in folder.iterdir()}
    assert values == {"memory.max": str(1 << 30), "memory.swap.max": "0", "pids.max": "100", "cpu.max": "150000 100000"}
    (folder / "memory.events").write_text("low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
    assert group.memory_kills() == 2
    words = group.entered(("bwrap", "a b"))
    assert words[-2:] == ("bwrap", "a b") and str(folder) in words


def test_groups_of_version_1_that_are_there_in_part(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    group = open_group(SandboxLimits(), "x", 100, {MEMORY: str(tmp_path / "m"), TASKS: str(tmp_path / "missing")})
    assert group is not None and (group.version, group.covers, len(group.folders)) == (1, {MEMORY}, 1)
    assert (Path(group.folders[0]) / "memory.limit_in_bytes").read_text() == str(4 << 30)
    assert open_group(SandboxLimits(), "x", 100, {}) is None
    assert open_group(SandboxLimits(memory_bytes=0, cpus=0), "y", 0, {"": str(tmp_path)}) is None
    assert not [name for name in os.listdir(tmp_path) if name.endswith("-y")]


def test_the_nearest_folder_that_was_given_to_us(tmp_path: Path) -> None:
    inner = tmp_path / "user.slice" / "app.slice" / "own.scope"
    inner.mkdir(parents=True)
    given_to = {tmp_path: "cpu memory pids", tmp_path / "user.slice": "memory pids", inner.parent: "pids"}
    for place, given in given_to.items():
        (place / "cgroup.subtree_control").write_text(given)
        (place / "cgroup.procs").write_text("")
    assert _resources._delegated(str(tmp_path), "/user.slice/app.slice/own.scope") == str(tmp_path / "user.slice")
    assert _resources._delegated(str(inner), "/") == ""
    assert dict(_resources._own_paths("4:memory:/a\n1:cpu,cpuacct:/b\n0::/c\n")) == {
        "memory": "/a", "cpu": "/b", "cpuacct": "/b", "": "/c",
    }  # fmt: skip
    mounts = "30 20 0:1 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 20 0:2 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\nodd\n"
    assert dict(_resources._mounts(mounts)) == {"memory": "/sys/fs/cgroup/memory", "": "/sys/fs/cgroup/unified"}


def test_groups_of_the_dead_are_removed(tmp_path: Path) -> None:
    for name in ("skill-health-999999999-x", f"skill-health-{os.getpid()}-x", "others"):
        (tmp_path / name).mkdir()
    _resources._sweep(str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["others", f"skill-health-{os.getpid()}-x"]
