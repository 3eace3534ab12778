"""What is known of each repository, in files of their own: each is named by a hash of what it holds.

The last line of the history names the state of every repository. A state that it does not name is one that a run had
finished when it was killed; the next run finds it, and what the line names is still what it compares with.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice

import msgspec
from msgspec import structs

from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b, is_there, make_folder, open_regular, read_limited, replace_file
from skill_health.core.history import append_history
from skill_health.documents._history import HistoryTail
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
        self.folder, self.history = os.path.join(reports, FOLDER), os.path.join(reports, HISTORY)

    def outlived(self) -> bool:
        """Whether there are states beside a history that is there. A run that was killed first leaves no history."""
        return is_there(self.history) and bool(self._files())

    def check(self) -> None:
        """Raise UsageError if it cannot be known which states there are."""
        try:
            self._files()
        except OSError as error:
            raise UsageError(f"cannot read {self.folder}: {error.strerror or error}") from None

    def read(self, name: str, key: str) -> FleetState | None:
        """A state of a repository; None if there is no such file.

        Raises UsageError for a file that cannot be read, or does not hold what it was named for: to take it for absent
        would accept every regression since.
        """
        path = self._path(name, key)
        try:
            data = read_limited(path, _MOST, links=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
        try:
            state = decode_record(data, FleetState) if data is not None else None
        except ValueError:
            state = None
        if state is None or _hash(state) != key:
            raise UsageError(f"{path} is damaged: restore it, or remove it to begin anew with {name}")
        return state

    def finished(self, name: str, known: str) -> Iterable[FleetState]:
        """The states of a repository but the `known` one, of runs that were killed. What is no state is passed over."""
        with suppress(OSError):
            for key in (key for other, key in self._files() if other == name and key != known):
                with suppress(UsageError):
                    if state := self.read(name, key):
                        yield state

    def save(self, name: str, state: FleetState) -> str:
        """Write a state, so that it is there also when the power fails now. Returns its key.

        Raises UsageError if it cannot be written.
        """
        key = _hash(state)
        path = self._path(name, key)
        try:
            make_folder(self.folder)
            replace_file(path, msgspec.json.encode(state, order="sorted"), durable=True)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
        return key

    def prune(self, kept: Iterable[tuple[str, str]], named: Iterable[tuple[str, str]]) -> None:
        """Remove the files that we wrote, but for those `kept`: the ones that a history `named`, and all sound states.

        What else there is stays, and so does what is no regular file.
        """
        keep, ours = set(kept), set(named)
        with suppress(OSError):
            for name, key in self._files():
                with suppress(OSError, UsageError):
                    if (name, key) not in keep and ((name, key) in ours or self.read(name, key)):
                        _remove_file(self._path(name, key))

    def _path(self, name: str, key: str) -> str:
        return os.path.join(self.folder, f"{name}@{key}.json")

    def _files(self) -> list[tuple[str, str]]:
        try:
            names = sorted(os.listdir(self.folder))
        except FileNotFoundError:
            if is_there(self.folder, links=False):
                raise OSError(errno.ENOTDIR, "it is a symbolic link that leads nowhere") from None
            return []
        return [(found[1], found[2]) for found in filter(None, map(_FILE.fullmatch, names))]


def _remove_file(path: str) -> None:
    if stat.S_ISREG(os.lstat(path).st_mode):
        os.unlink(path)


def _hash(state: FleetState) -> str:
    """A hash of what was found, whatever it is known again by: that is another on each machine."""
    told = structs.replace(state, seen=SeenRepository(rules=state.seen.rules, basis=_UNSAID, source=_UNSAID))
    return str(blake2b(msgspec.json.encode(told, order="sorted"), digest_size=16).hexdigest())


def read_runs(reports: str, most: int) -> tuple[tuple[FleetLine, ...], tuple[str, ...]]:
    """The latest lines of the history, oldest first, and what is damaged in it.

    Raises UsageError if the history is there and cannot be read, or is no regular file.
    """
    path = os.path.join(reports, HISTORY)
    try:
        os.close(open_regular(path, links=False))
    except FileNotFoundError:
        return (), ()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    tail = HistoryTail(reports, HISTORY, FleetLine, {"schema": FleetLine.ID}, lambda _: True)
    lines = tuple(reversed(list(islice(tail, most))))
    if tail.too_long:
        raise UsageError(tail.too_long.replace(HISTORY, path))
    return lines, tail.problems


def append_run(line: FleetLine, earlier: Iterable[FleetLine], reports: str) -> None:
    """Append the line that makes a run count, and remove the states that no line needs any longer.

    Raises UsageError if the history cannot be written.
    """
    append_history(os.path.join(reports, HISTORY), record_values(line))
    StateStore(reports).prune(_named_by([line]), _named_by(earlier))


def _named_by(lines: Iterable[FleetLine]) -> set[tuple[str, str]]:
    return {(name, entry.state) for line in lines for name, entry in line.repositories.items() if entry.state}
