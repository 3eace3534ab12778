"""How the last lines of a history are read, whatever wrote it: damaged ones are counted, foreign ones passed over."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic

import msgspec

from skill_health.core.errors import SkillHealthError
from skill_health.core.history import read_backwards
from skill_health.documents._record import RecordType, decode_record

# Further back nobody looks for a measurement that is still of interest.
_MOST_LINES = 20_000
MOST = 10**12
"""Of anything that is counted: more is damage."""


@dataclass(slots=True)
class HistoryTail(Generic[RecordType]):
    """The lines of a file in a folder of reports, the last one first, as far as they are sound ones of a kind.

    Lines without the `marks` of the kind are another program's or of another version. Going through it never raises;
    `problems` says afterwards what could not be read.
    """

    folder: str
    file: str
    kind: type[RecordType]
    marks: Mapping[str, Any]
    is_sound: Callable[[RecordType], bool]
    damaged: int = 0
    unreadable: str = ""

    def __iter__(self) -> Iterator[RecordType]:
        path = os.path.join(self.folder, self.file)
        try:
            for _, raw in islice(read_backwards(path), _MOST_LINES):
                if (line := self._decode(raw)) is not None:
                    yield line
        except SkillHealthError as error:
            self.unreadable = str(error).replace(path, self.file)

    def _decode(self, raw: bytes) -> RecordType | None:
        try:
            line = decode_record(raw, self.kind)
        except ValueError:
            self.damaged += not self._is_foreign(raw)
            return None
        if self.is_sound(line):
            return line
        self.damaged += 1
        return None

    def _is_foreign(self, raw: bytes) -> bool:
        try:
            found = msgspec.json.decode(raw, type=dict[str, Any])
        except (ValueError, RecursionError):
            return False
        return any(found.get(key) != value for key, value in self.marks.items())

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read so far."""
        n = self.damaged
        damaged = f"{n} line{'s' * (n != 1)} of {self.file} {'is' if n == 1 else 'are'} damaged and left out"
        return tuple(filter(None, [self.unreadable, damaged if n else ""]))
