"""What stands in a file's place is told from a file without waiting for it."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from skill_health.core import files
from skill_health.core.files import (
    MAX_BYTES,
    is_there,
    kind_of,
    may_be_file,
    read_bytes,
    read_each_line,
    read_head,
    read_limited,
    read_small,
    read_whole,
    replace_file,
)


def test_a_file_a_folder_a_pipe_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x00x")
    os.mkfifo(tmp_path / "pipe")
    assert read_bytes(str(tmp_path / "a")) == (b"\x00x", "")
    assert read_bytes(str(tmp_path)) == (b"", "directory")
    assert read_bytes(str(tmp_path / "pipe")) == (b"", "unreadable")
    assert read_bytes(str(tmp_path / "b")) == (b"", "dangling")


@pytest.mark.parametrize("options", [{}, {"durable": True}, {"temporary": "x.tmp"}, {"private": True}])
def test_a_file_is_replaced_whole_and_keeps_its_permissions(tmp_path: Path, options: dict[str, object]) -> None:
    more: dict[str, Any] = {
        key: str(tmp_path / "x.tmp") if key == "temporary" else each for key, each in options.items()
    }
    path = tmp_path / "x"
    before = os.umask(0o027)
    try:
        replace_file(str(path), b"new", **more)
        assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o600 if "private" in more else 0o640)
        path.chmod(0o604)
        replace_file(str(path), b"newer", **more)
    finally:
        os.umask(before)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"newer", 0o604)
    assert os.listdir(tmp_path) == ["x"]


def test_what_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(str(path), b"new", durable=True)
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["x"])


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each read of a file gave."""
    sizes: list[int] = []
    real = os.read

    def read(handle: int, most: int) -> bytes:
        data = real(handle, most)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(os, "read", read)
    return sizes


def test_no_more_is_read_than_the_limit(tmp_path: Path, counted: list[int]) -> None:
    path = tmp_path / "sparse"
    with open(path, "wb") as file:
        file.truncate(20 << 30)
    assert len(read_bytes(str(path))[0]) == MAX_BYTES + 1
    assert read_limited(str(path), 1000) is None
    assert len(read_head(str(path), 10)) == 10
    with pytest.raises(OSError, match="larger than 1 MiB"):
        read_whole(str(path))
    assert sum(counted) == 2 * (MAX_BYTES + 1) + 1001 + 10


@pytest.mark.skipif(not os.path.exists("/proc/self/mounts"), reason="files that claim to be empty")
def test_a_file_that_claims_to_be_empty_is_read_to_its_end_or_the_limit() -> None:
    assert os.stat("/proc/self/mounts").st_size == 0
    whole = Path("/proc/self/mounts").read_bytes()
    assert read_limited("/proc/self/mounts") == whole
    assert read_head("/proc/self/mounts", 7) == whole[:7]


@pytest.mark.parametrize("place", ["/dev/zero", "/dev/tty", "/dev/full", "pipe", "socket"])
def test_devices_pipes_and_sockets_are_not_even_opened(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        monkeypatch.setattr(os, "open", lambda *_: pytest.fail("opened"))
        with pytest.raises(OSError, match="not a regular file"):
            read_head(place, 1)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 5000])
def test_names_that_no_file_can_have_are_of_no_file(name: str, tmp_path: Path) -> None:
    assert read_small(str(tmp_path / name)) is None
    assert read_bytes(str(tmp_path / name))[1] in ("dangling", "unreadable")


def test_lines_are_read_one_by_one_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\n" * 3 + b"b" * 9)
    assert list(read_each_line(str(path))) == [b"a\n"] * 3 + [b"b" * 9]
    monkeypatch.setattr(files, "LONGEST_LINE", 8)
    lines = read_each_line(str(path))
    assert [next(lines) for _ in range(3)] == [b"a\n"] * 3
    with pytest.raises(OSError, match="a line is longer than"):
        next(lines)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOENT, "nothing"), (errno.ENOTDIR, "nothing"), (errno.ELOOP, "nothing"),
        (errno.ENAMETOOLONG, "nothing"), (errno.EIO, "unknown"), (errno.EACCES, "unknown"), (errno.ESTALE, "unknown"),
        (errno.ENOMEM, "unknown"),
    ],
    ids=lambda each: errno.errorcode[each] if isinstance(each, int) else each,
)  # fmt: skip
def test_only_what_is_known_not_to_be_there_is_absent(number: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str) -> os.stat_result:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "stat", fail)
    monkeypatch.setattr(os, "lstat", fail)
    for links in (True, False):
        assert kind_of("x", links) == kind
        assert is_there("x", links) == (kind == "unknown")
    assert may_be_file("x") == (kind == "unknown")


def test_what_is_at_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("folder").mkdir()
    os.mkfifo("pipe")
    for name in ("file", "folder", "pipe", "nothing"):
        Path(f"to-{name}").symlink_to(name)
    Path("loop").symlink_to("loop")
    names = ("file", "folder", "pipe", "nothing", "loop", "file/x", "a\0b", "to-file", "to-folder", "to-nothing")
    kinds = ["file", "folder", "other", *["nothing"] * 4, "file", "folder", "nothing"]
    assert [kind_of(name) for name in names] == kinds
    assert [kind_of(name, links=False) for name in names[4:]] == ["link", "nothing", "nothing", *["link"] * 3]
