"""A history read from its end says what reading it from its beginning says."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.errors import UsageError
from skill_health.core.history_tail import read_backwards


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
