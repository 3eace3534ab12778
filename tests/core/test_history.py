"""Appends are whole lines or nothing: under kill -9, with two writers, after somebody else's crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.errors import UsageError
from skill_health.core.history import append_history, append_lines, read_backwards

WRITER = """
import sys
from skill_health.core.history import append_history
path, name, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for n in range(count):
    append_history(path, {"writer": name, "n": n, "fill": "x" * size})
    print(n, flush=True)
"""


def read_records(path: Path) -> tuple[list[Any], int]:
    """The records of a history, oldest first, and how many lines are none."""
    found: list[Any] = []
    bad = 0
    for _, line in read_backwards(str(path)):
        try:
            found.append(json.loads(line))
        except ValueError:
            bad += 1
    return found[::-1], bad


def writer(path: Path, name: str, count: int, size: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(count), str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def test_append_and_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "h.jsonl"
    assert read_records(path) == ([], 0)
    for n in range(3):
        append_history(str(path), {"n": n, "text": "a\nb\u2028c"})
    assert [record["n"] for record in read_records(path)[0]] == [0, 1, 2]
    assert path.read_bytes().count(b"\n") == 3


def test_a_torn_line_of_another_writer_is_survived(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(b'{"n": 0}\n{"n": 1, "te')
    assert read_records(path) == ([{"n": 0}], 1)
    append_history(str(path), {"n": 2})
    assert read_records(path) == ([{"n": 0}, {"n": 2}], 1)


@pytest.mark.slow
def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    running = [writer(path, name, 60, 9_000) for name in "ab"]
    assert [process.wait(600) for process in running] == [0, 0]
    for process in running:
        assert process.stdout is not None
        process.stdout.close()
    records, bad = read_records(path)
    assert bad == 0
    assert sorted((r["writer"], r["n"]) for r in records) == [(w, n) for w in "ab" for n in range(60)]


@pytest.mark.slow
def test_kill_leaves_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    confirmed = 0
    for attempt in range(8):
        process = writer(path, str(attempt), 10_000, 200_000)
        time.sleep(0.12 + 0.013 * attempt)
        os.kill(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        confirmed += output.count(b"\n")
    records, bad = read_records(path)
    assert bad == 0 and confirmed <= len(records) <= confirmed + 8
    assert path.read_bytes().endswith(b"\n")


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        append_history(str(tmp_path / "file" / "h.jsonl"), {})
    with pytest.raises(UsageError, match="cannot read"):
        list(read_backwards(str(tmp_path)))


@given(data=st.binary(max_size=200))
def test_any_bytes_are_survived(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("h") / "h.jsonl"
    path.write_bytes(data)
    append_history(str(path), {"last": True})
    (_, last), *_ = read_backwards(str(path))
    assert json.loads(last) == {"last": True}


LINES = b'{"state":"1","name":"a"}\n{"state":"1","name":"b"}\n'


@pytest.mark.slow
@pytest.mark.parametrize("before", [b"", b"\n", b'{"state":"0"}\n', LINES[:24] + LINES])
@pytest.mark.parametrize("there", range(len(LINES) + 1))
def test_lines_that_a_killed_process_began_are_finished(before: bytes, there: int, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "states.jsonl"
    append_lines(str(path), before + LINES[:there])
    assert path.read_bytes() == before + LINES[:there]
    append_lines(str(path), LINES)
    assert path.read_bytes() == (before + LINES if there or before != LINES[:24] + LINES else before)


def test_a_torn_line_of_another_writer_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "states.jsonl"
    path.write_bytes(b'{"torn":')
    append_lines(str(path), LINES)
    assert path.read_bytes() == b'{"torn":\n' + LINES


def test_lines_are_appended_to_nothing_but_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, why in (("link", "it is a link"), ("pipe", "/pipe: "), ("folder", "cannot write")):
        with pytest.raises(UsageError, match=why):
            append_lines(str(tmp_path / name), LINES)
    assert (tmp_path / "secret").read_text() == "x"


def test_a_disk_that_is_full_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "states.jsonl"
    path.write_bytes(LINES)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        append_lines(str(path), b"{}\n" * 4)
    assert path.read_bytes() == LINES
