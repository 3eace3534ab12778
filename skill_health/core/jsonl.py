"""Bytes of JSON or JSON lines -> objects, or one plain sentence about what is wrong and where."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from skill_health.core.strict_json import JsonProblem, parse_object

_BOMS = (b"\xff\xfe", b"\xfe\xff")


class JsonLine(NamedTuple):
    """One line that is not blank: its number from 1, its text, and its object or the problem with it."""

    number: int
    text: str
    data: dict[str, Any] | None = None
    problem: JsonProblem | None = None


def read_lines(raw: bytes) -> Iterator[JsonLine]:
    """The lines of a JSONL file. A byte-order mark, CRLF and blank lines are no problem."""
    if raw.startswith(_BOMS):
        yield JsonLine(1, "", problem=JsonProblem("the file is UTF-16", help="Save it as UTF-8."))
        return
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            yield read_line(line.removesuffix(b"\r"), number)


def read_line(raw: bytes, number: int = 1) -> JsonLine:
    """One JSON object, as bytes; it may span several lines where it is a whole file."""
    try:
        text = raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        offset = len(raw[: error.start].decode("utf-8", "replace"))
        text = raw.decode("utf-8", "replace")
        return JsonLine(
            number, text, problem=JsonProblem("bytes that are not UTF-8", offset, "Save the file as UTF-8.")
        )
    try:
        return JsonLine(number, text, parse_object(text))
    except JsonProblem as problem:
        return JsonLine(number, text, problem=problem)
