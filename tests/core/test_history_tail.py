"""A history read from its end says what reading it from its beginning says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.errors import UsageError
from skill_health.core.history import read_backwards


@given(
    st.lists(st.sampled_from([b"", b" ", b"a", b"bcd", b"\r", b"xyz" * 9]), max_size=8).map(b"\n".join),
    st.integers(1, 7),
)
def test_every_line_with_its_number_last_first(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, block: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "tail.jsonl"
    path.write_bytes(data)
    expected = [(n, line) for n, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    assert list(read_backwards(str(path), block)) == expected[::-1]


def test_an_absent_file_is_empty_and_a_folder_a_mistake(tmp_path: Path) -> None:
    assert list(read_backwards(str(tmp_path / "none"))) == []
    with pytest.raises(UsageError, match="cannot read"):
        list(read_backwards(str(tmp_path)))


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "history.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match=r"history\.jsonl"):
        list(read_backwards(str(pipe)))


@pytest.mark.slow
def test_a_line_without_an_end_does_not_eat_the_memory(tmp_path: Path) -> None:
    sparse = tmp_path / "history.jsonl"
    with sparse.open("wb") as file:
        file.truncate(80 << 20)
    with pytest.raises(UsageError, match="longer than 64 MiB"):
        list(read_backwards(str(sparse)))
