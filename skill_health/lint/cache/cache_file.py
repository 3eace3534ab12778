"""One file of the cache: records, then an index of them, then where the index begins and what its digest is.

It is written from front to back and read at the places that the index names, so that neither needs more memory than the
index. The digest of the index covers the name of the file: under another name it is no cache. Each record is held
against its own digest when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from skill_health.lint.cache.cache_folder import line_sum, open_cached
from skill_health.lint.cache.records import (
    CorpusFindings,
    SkillLines,
    SkillState,
    decoded,
    encoded,
    read_corpus,
    read_summary,
)
from skill_health.lint.cache.spool import Spool

_MAGIC = b"skill-health lint cache 5\n"
_SUM = len(line_sum("", b""))
_TRAILER = _SUM + 17
_MOST_INDEX = 256 << 20


class CacheFile:
    """What a file holds: an unusable one nothing, and so does one that is not there (its name is "").

    It is looked for in the folder of the caches unless it is given, open. `skills` maps paths to `SkillState`s, both as
    lines of JSON.
    """

    def __init__(self, name: str, file: BinaryIO | None = None) -> None:
        self.skills: dict[bytes, bytes] = {}
        self.corpora: list[tuple[str, int, int, str]] = []
        self._parts: dict[str, tuple[int, int, str]] = {}
        self._size = 0
        self._file = file or (open_cached(name) if name else None)
        if self._file is not None:
            self._read_index(name, self._file)

    def _read_index(self, name: str, file: BinaryIO) -> None:
        self._size = size = file.seek(0, 2)
        trailer = self.read(max(0, size - _TRAILER), _TRAILER)
        known, _, place = trailer.partition(b" ")
        if self.read(0, len(_MAGIC)) != _MAGIC or len(trailer) < _TRAILER or not place.isdigit():
            return
        at = int(place)
        if not 0 < size - _TRAILER - at <= _MOST_INDEX:
            return
        lines = self.read(at, size - _TRAILER - at)
        if line_sum(name, lines).encode() != known:
            return
        first, *skills = lines.split(b"\n")
        head = decoded(first)
        if type(head) is not dict or not _are_places(head):
            return
        self.corpora = [(key, *place) for key, *place in head["corpora"]]
        self._parts = {part: (at, length, known) for part, (at, length, known) in head["parts"].items()}
        for line in skills:
            state, _, path = line.partition(b"\t")
            self.skills[path] = state

    def read(self, at: int, length: int) -> bytes:
        """The bytes from this place on; fewer, or none, where the file has no more."""
        length = min(length, self._size - at)
        if self._file is None or at < 0 or length <= 0:
            return b""
        try:
            self._file.seek(at)
            return self._file.read(length)
        except OSError:
            return b""

    def close(self) -> None:
        """Let go of the file: from now on it holds nothing."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _line(self, name: str, at: int, length: int, known: str) -> bytes:
        """A record as it stands in the file; b"" if that is not what was written under this name."""
        line = self.read(at, length)
        return line if line and line_sum(name, line) == known else b""

    def part(self, name: str) -> Any:
        """What is stored once for the whole collection; None where there is nothing."""
        return decoded(self._line(name, *self._parts.get(name, (0, 0, ""))))

    def lines(self, path: str, state: SkillState) -> SkillLines | None:
        """The lines of a skill; None if they are not what was written."""
        data, facts = self.read(state.at, state.length), state.summary + state.facts
        lines = SkillLines(data[: state.summary], data[state.summary : facts], data[facts:])
        return lines if lines.digests(path) == (state.summary_sum, state.facts_sum, state.record_sum) else None

    def summary(self, path: str, state: SkillState) -> dict[str, Any] | None:
        """The summary of a skill, by itself; None if it is not what was written."""
        return read_summary(self._line("summary:" + path, state.at, state.summary, state.summary_sum))

    def corpus(self, key: str) -> CorpusFindings | None:
        """What is stored of the collection under this key."""
        for each, at, length, known in self.corpora:
            record = read_corpus(self._line("corpus:" + key, at, length, known)) if each == key else None
            if record is not None and record.key == key:
                return record
        return None


class CacheWriter:
    """The chunks of a new file, each made when it is asked for; the index is put aside until all records are out."""

    def __init__(self) -> None:
        self._at = len(_MAGIC)
        self._corpora: list[tuple[str, int, int, str]] = []
        self._parts: dict[str, tuple[int, int, str]] = {}
        self._index = Spool()

    def skill(self, path: str, state: SkillState, lines: bytes) -> bytes:
        """The lines of a skill, joined: whoever reads them holds them against their digests."""
        self._index.add(b"\n" + encoded(state._replace(at=self._at)) + b"\t" + encoded(path))
        self._at += len(lines)
        return lines

    def corpus(self, key: str, line: bytes, known: str = "") -> bytes:
        """A record of the collection; `known` is its digest where it was read from another file."""
        self._corpora.append((key, *self._place("corpus:" + key, line, known)))
        return line

    def part(self, name: str, line: bytes) -> bytes:
        """What is stored once for the whole collection."""
        self._parts[name] = self._place(name, line)
        return line

    def _place(self, name: str, line: bytes, known: str = "") -> tuple[int, int, str]:
        at = self._at
        self._at += len(line)
        return at, len(line), known or line_sum(name, line)

    def chunks(self, name: str, records: Iterable[bytes]) -> Iterator[bytes]:
        """The file of this name: `records` are made by the methods above, as they are asked for."""
        yield _MAGIC
        yield from records
        head = encoded({"corpora": self._corpora, "parts": self._parts})
        index = head + self._index.read(0, self._index.size)
        self._index.close()
        yield index
        yield f"{line_sum(name, index)} {self._at:016d}".encode()


def _are_places(head: dict[str, Any]) -> bool:
    corpora, parts = head.get("corpora"), head.get("parts")
    if type(corpora) is not list or type(parts) is not dict:
        return False
    places = [*(each[1:] for each in corpora if type(each) is list and each and type(each[0]) is str), *parts.values()]
    if len(places) < len(corpora) + len(parts):
        return False
    return all(type(place) is list and [*map(type, place)] == [int, int, str] for place in places)
