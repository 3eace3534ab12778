"""What is known of each repository, in files of their own: each is named by a hash of what it holds.

The last line of the history names the state of every repository. A state that it does not name is one that a run had
finished when it was killed; the next run finds it, and what the line names is still what it compares with.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

import msgspec
from msgspec import structs

from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b, read_limited, replace_file
from skill_health.core.history import append_history
from skill_health.documents._record import decode_record, record_values
from skill_health.documents.fleet_line import FleetLine
from skill_health.documents.fleet_state import FleetState, SeenRepository

HISTORY = "skill-health-fleet-history.jsonl"
FOLDER = "states"
_FILE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,63})@([0-9a-f]{32})\.json")
_MOST = 512 << 20
_UNSAID = "0" * 32


class StateStore:
    """The states in a folder of reports, whose lock the caller holds."""

    def __init__(self, reports: str) -> None:
        self.folder = os.path.join(reports, FOLDER)

    def read(self, name: str, key: str) -> FleetState | None:
        """A state of a repository; None where its file is gone, or does not hold what it was named for."""
        try:
            data = read_limited(self._path(name, key), _MOST, links=False)
            state = decode_record(data, FleetState) if data is not None else None
        except (OSError, ValueError):
            return None
        return state if state and _hash(state) == key else None

    def keys(self, name: str) -> list[str]:
        """The keys of all states of a repository that have a file, in order."""
        return [key for other, key in self._files() if other == name]

    def save(self, name: str, state: FleetState) -> str:
        """Write a state, so that it is there also when the power fails now. Returns its key.

        Raises UsageError where it cannot be written.
        """
        key = _hash(state)
        path = self._path(name, key)
        try:
            os.makedirs(self.folder, exist_ok=True)
            replace_file(path, msgspec.json.encode(state, order="sorted"), durable=True)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
        return key

    def prune(self, kept: Iterable[tuple[str, str]]) -> None:
        """Remove all states but these."""
        keep = set(kept)
        for name, key in list(self._files()):
            if (name, key) not in keep:
                with suppress(OSError):
                    os.unlink(self._path(name, key))

    def _path(self, name: str, key: str) -> str:
        return os.path.join(self.folder, f"{name}@{key}.json")

    def _files(self) -> Iterator[tuple[str, str]]:
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return
        for found in filter(None, map(_FILE.fullmatch, names)):
            yield found[1], found[2]


def _hash(state: FleetState) -> str:
    """A hash of what was found, whatever it is known again by: that is another on each machine."""
    told = structs.replace(state, seen=SeenRepository(rules=state.seen.rules, basis=_UNSAID, source=_UNSAID))
    return str(blake2b(msgspec.json.encode(told, order="sorted"), digest_size=16).hexdigest())


def append_run(line: FleetLine, reports: str) -> None:
    """Append the line that makes a run count, and remove the states that no line needs any longer.

    Raises UsageError where the history cannot be written.
    """
    append_history(os.path.join(reports, HISTORY), record_values(line))
    StateStore(reports).prune((name, entry.state) for name, entry in line.repositories.items() if entry.state)
