"""Streams of JSON lines, whatever stands in them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.effectiveness.agents import _stream
from skill_health.effectiveness.agents._stream import one_line, read_stream, words_of
from skill_health.text.terminal import clean


@pytest.mark.parametrize(
    ("raw", "events", "junk"),
    [
        (b"", [], 0),
        (b'{"a": 1}\n{"b": 2}\n', [{"a": 1}, {"b": 2}], 0),
        (b'{"a": 1}\r\n\r\n  \n{"b": 2}', [{"a": 1}, {"b": 2}], 0),
        (b'warning: old\n{"a": 1}\n{"b": "cut o', [{"a": 1}], 2),
        (b'[1]\n"x"\n3\nnull\n{}\n', [{}], 4),
        (b'{"a": NaN, "b": -Infinity}\n', [{"a": None, "b": None}], 0),
        (b'{"a": "\\ud800x", "b": "\\ud83d\\ude00"}\n', [{"a": "�x", "b": "😀"}], 0),
        (b'{"a": "\xff"}\n', [{"a": "�"}], 0),
        (b'{"a": ' + b"9" * 5000 + b"}\n", [], 1),
        (b'{"a": ' * 70 + b"1" + b"}" * 70 + b"\n", [], 1),
        (b"[" * 100_000 + b"\n", [], 1),
    ],
)
def test_objects_are_read_and_the_rest_is_counted(raw: bytes, events: list[object], junk: int) -> None:
    stream = read_stream(raw)
    assert (list(stream.events), stream.junk) == (events, junk)


def test_plain_lines_are_kept_safe_to_print_and_bounded() -> None:
    stream = read_stream(b"\x1b[31mNot logged in\x1b[0m\n" + b"x" * 5000 + b"\n" + b"again\n" * 100)
    assert stream.plain[0] == "\\x1b[31mNot logged in\\x1b[0m"
    assert len(stream.plain) == 20 and max(map(len, stream.plain)) == 300
    assert stream.junk == 102


def test_there_is_a_limit_of_events_and_of_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(read_stream(b"{}\n" * 10, most=3).events) == 3
    monkeypatch.setattr(_stream, "LONGEST_LINE", 20)
    assert read_stream(b'{"a": "' + b"b" * 50 + b'"}\n{}\n').junk == 1


@given(st.binary(max_size=400))
def test_any_bytes_can_be_read_and_written_again(raw: bytes) -> None:
    stream = read_stream(raw)
    json.dumps(stream.events, ensure_ascii=False).encode()
    assert all(clean(line) == line and "\n" not in line for line in stream.plain)


@pytest.mark.slow
@given(st.recursive(st.none() | st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_words_of_any_value_are_text(value: object) -> None:
    assert isinstance(words_of(value), str)


def test_words_of_blocks() -> None:
    assert words_of("a") == "a"
    assert words_of([{"type": "text", "text": "a"}, {"type": "image"}, "b", {"content": [{"text": "c"}]}]) == "a\nb\nc"
    assert one_line("  a \n\n b\t", 20) == "a b"
    assert one_line("abcdef", 4) == "abc…"
