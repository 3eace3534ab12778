"""Appends are whole lines or nothing: under kill -9, with two writers, after somebody else's crash."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.errors import UsageError
from skill_health.core.history import append_history, read_history

WRITER = """
import sys
from skill_health.core.history import append_history
path, name, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for n in range(count):
    append_history(path, {"writer": name, "n": n, "fill": "x" * size})
    print(n, flush=True)
"""


def writer(path: Path, name: str, count: int, size: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(count), str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def test_an_absent_history_is_empty(tmp_path: Path) -> None:
    assert read_history(str(tmp_path / "none.jsonl")).records == ()


def test_append_and_read(tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "h.jsonl")
    for n in range(3):
        append_history(path, {"n": n, "text": "a\nb\u2028c"})
    assert [record["n"] for record in read_history(path).records] == [0, 1, 2]
    assert Path(path).read_bytes().count(b"\n") == 3


def test_a_torn_line_of_another_writer_is_reported_and_survived(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(b'{"n": 0}\n{"n": 1, "te')
    history = read_history(str(path))
    assert [r["n"] for r in history.records] == [0]
    assert "h.jsonl:2" in history.problems[0] and "torn" in history.problems[0]
    append_history(str(path), {"n": 2})
    history = read_history(str(path))
    assert [r["n"] for r in history.records] == [0, 2]
    assert len(history.problems) == 1


@pytest.mark.slow
def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    running = [writer(path, name, 60, 9_000) for name in "ab"]
    assert [process.wait(600) for process in running] == [0, 0]
    for process in running:
        assert process.stdout is not None
        process.stdout.close()
    records = read_history(str(path)).records
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
    history = read_history(str(path))
    assert history.problems == ()
    assert confirmed <= len(history.records) <= confirmed + 8
    assert path.read_bytes().endswith(b"\n")


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        append_history(str(tmp_path / "file" / "h.jsonl"), {})
    with pytest.raises(UsageError, match="cannot read"):
        read_history(str(tmp_path))


@given(data=st.binary(max_size=200))
def test_any_bytes_are_survived(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("h") / "h.jsonl"
    path.write_bytes(data)
    append_history(str(path), {"last": True})
    history = read_history(str(path))
    assert history.records[-1] == {"last": True}
    json.dumps(history.records)
