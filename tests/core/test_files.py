"""What stands in a file's place is told from a file without waiting for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from skill_health.core.files import read_bytes, replace_file


def test_a_named_pipe_is_unreadable_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "report.json"
    os.mkfifo(pipe)
    assert read_bytes(str(pipe)) == (b"", "unreadable")


def test_a_file_a_folder_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x00x")
    assert read_bytes(str(tmp_path / "a")) == (b"\x00x", "")
    assert read_bytes(str(tmp_path)) == (b"", "directory")
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
