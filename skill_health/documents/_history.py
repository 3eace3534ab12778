"""How the last lines of a history are read, whatever wrote it: damaged ones are counted, foreign ones passed over."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic

import msgspec

from skill_health.core.files import is_there
from skill_health.core.history import LineTooLongError, read_backwards
from skill_health.documents._record import RecordType, decode_record

# Further back nobody looks for a measurement that is still of interest.
_MOST_LINES = 20_000
MOST = 10**12
"""Of anything that is counted: more is damage."""


@dataclass(slots=True)
class HistoryTail(Generic[RecordType]):
    """The lines of a file in a folder of reports, the last one first, as far as they are sound ones of a kind.

    Lines without the `marks` of the kind are another program's or of another version. Going through it raises
    UsageError for a file that cannot be read, and for nothing that one holds: `problems` says afterwards what was
    damaged, and `lost` whether that left nothing.
    """

    folder: str
    file: str
    kind: type[RecordType]
    marks: Mapping[str, Any]
    is_sound: Callable[[RecordType], bool]
    damaged: int = 0
    sound: int = 0
    too_long: str = ""
    empty: bool = False

    def __iter__(self) -> Iterator[RecordType]:
        path = os.path.join(self.folder, self.file)
        blank = True
        try:
            for _, raw in islice(read_backwards(path), _MOST_LINES):
                blank = False
                if (line := self._decode(raw)) is not None:
                    self.sound += 1
                    yield line
        except LineTooLongError as error:
            self.too_long = str(error).replace(path, self.file)
        self.empty = blank and not self.too_long and is_there(path)

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
        """What was damaged so far."""
        n = self.damaged
        damaged = f"{n} line{'s' * (n != 1)} of {self.file} {'is' if n == 1 else 'are'} damaged and left out"
        return tuple(filter(None, [self.too_long, f"{self.file} is empty" if self.empty else "", damaged if n else ""]))

    @property
    def lost(self) -> str:
        """What is damaged where no sound line is left; "" where there is one, or nothing is damaged."""
        return next(iter(self.problems), "") if not self.sound else ""
