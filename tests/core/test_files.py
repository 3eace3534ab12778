"""What stands in a file's place is told from a file without waiting for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skill_health.core.files import read_bytes
from skill_health.documents.effect_history import estimate


def test_a_named_pipe_is_unreadable_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "report.json"
    os.mkfifo(pipe)
    assert read_bytes(str(pipe)) == (b"", "unreadable")


def test_a_file_a_folder_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x00x")
    assert read_bytes(str(tmp_path / "a")) == (b"\x00x", "")
    assert read_bytes(str(tmp_path)) == (b"", "directory")
    assert read_bytes(str(tmp_path / "b")) == (b"", "dangling")


@pytest.mark.parametrize("value", [10**400, -(10**400), float("inf"), float("nan"), 1.5, "1", True])
def test_no_number_of_a_history_is_beyond_measure(value: object) -> None:
    with pytest.raises(ValueError, match="not such a number"):
        estimate({"value": value})
