"""The journal of a run: what was asked, what came back, and what of it survives kill -9.

A folder holds `manifest.json`, written before the first call and never again, `attempts.jsonl` (a `start` and an `end`
for each attempt) and `results.jsonl` (one record for each key). Lines are collected while the previous batch is on its
way to the disk; whoever appended goes on when its own lines are there. Attempts go before results, so that a result
that was lost can be had again from its attempts. What the keys, manifests and records mean is the caller's business.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Self

from skill_health.core.errors import AbortedError, UsageError
from skill_health.router import durable
from skill_health.router.journal_read import ATTEMPTS, MANIFEST, RESULTS, Key, Past, read_manifest, read_past
from skill_health.router.locks import locked
from skill_health.router.redact import redacted


class Journal:
    """A journal that is open for writing, and locked. Use it as a context manager.

    `past` is what was there when it was opened; `results` holds the record of every key that has one, `past` included.
    `fields` are the fields of a record that make its key. `secrets` are replaced in every line that is written.
    """

    def __init__(self, folder: str, fields: Sequence[str], secrets: Sequence[str] = ()) -> None:
        self.folder, self.fields, self.secrets = folder, tuple(fields), tuple(secrets)
        self.past = Past()
        self.results: dict[Key, dict[str, Any]] = {}
        self._pending: list[tuple[str, str]] = []
        self._ticket = self._durable = 0
        self._failure: OSError | None = None
        self._finished = False
        self._handles: dict[str, int] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, prepare: Callable[[], None]) -> None:
        try:
            os.makedirs(self.folder, exist_ok=True)
            self._stack.enter_context(locked(self.folder))
            prepare()
            for name in (ATTEMPTS, RESULTS):
                self._handles[name] = durable.open_to_append(self._path(name))
                self._stack.callback(os.close, self._handles[name])
            durable.sync_folder(self.folder)
            durable.sync_folder(os.path.dirname(self.folder))
            self._commits = asyncio.Lock()
            self._thread = self._stack.enter_context(ThreadPoolExecutor(1, "journal"))
        except OSError as error:
            self._stack.close()
            raise AbortedError(f"cannot write to {self.folder}: {error.strerror}") from error
        except BaseException:
            self._stack.close()
            raise

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def note(self, record: Mapping[str, Any]) -> None:
        """Add an attempt's event without waiting: it goes to the disk with whatever is next, or when closing."""
        self._pending.append((ATTEMPTS, self._line(record)))

    async def append(self, record: Mapping[str, Any]) -> None:
        """Add an attempt's event; it is durable on return. Raises AbortedError where the disk does not take it."""
        self.note(record)
        await self._settle()

    async def add(self, record: Mapping[str, Any]) -> None:
        """Add the one result of a key; it and all events before it are durable on return. Raises AbortedError."""
        key = self.key(record)
        if key in self.results:
            raise RuntimeError(f"a second result for {key}")
        self.results[key] = dict(record)
        self._pending.append((RESULTS, self._line(record)))
        await self._settle()

    def key(self, record: Mapping[str, Any]) -> Key:
        """What a record is the only result of."""
        return tuple(record[field] for field in self.fields)

    async def _settle(self) -> None:
        if self._finished:
            raise RuntimeError("the run is finished")
        self._ticket += 1
        ticket = self._ticket
        async with self._commits:
            if self._durable < ticket:
                # Without an await in between: the tickets so far are exactly the lines that are pending.
                batch, self._pending, last = self._pending, [], self._ticket
                await asyncio.get_running_loop().run_in_executor(self._thread, self._commit, batch)
                self._durable = last
        self._check()

    def _commit(self, batch: Iterable[tuple[str, str]]) -> None:
        """Write a batch. After a failure nothing more is written: it would follow half of a line."""
        if self._failure:
            return
        try:
            for name in (ATTEMPTS, RESULTS):
                lines = "".join(line for file, line in batch if file == name)
                if lines:
                    durable.write_all(self._handles[name], lines.encode("utf-8", "backslashreplace"))
                    os.fsync(self._handles[name])
                    durable.check_there(self._path(name), self._handles[name])
        except OSError as error:
            self._failure = error

    def _check(self) -> None:
        if self._failure:
            why = self._failure.strerror
            raise AbortedError(f"cannot write to {self.folder}: {why}; what is there is kept, and can be resumed")

    def _line(self, record: Mapping[str, Any]) -> str:
        return redacted(durable.to_json(record), self.secrets) + "\n"

    def finish(self, order: Iterable[Key]) -> None:
        """Rewrite the results in this order, as a whole or not at all; nothing can be added afterwards.

        Keys without a result are passed over. Raises AbortedError.
        """
        self._drain()
        lines = [self._line(self.results[key]) for key in order if key in self.results]
        try:
            durable.replace(self._path(RESULTS), "".join(lines).encode("utf-8", "backslashreplace"))
        except OSError as error:
            self._failure = error
            self._check()
        self._finished = True

    def close(self) -> None:
        """Write what is pending, let go of the files and of the lock."""
        self._drain()
        self._stack.close()

    def _drain(self) -> None:
        if self._handles and self._pending:
            batch, self._pending = self._pending, []
            self._thread.submit(self._commit, batch).result()


def create(folder: str, manifest: Mapping[str, Any], fields: Sequence[str], secrets: Sequence[str] = ()) -> Journal:
    """Begin a run in a folder of its own: the manifest is durable on return.

    Raises UsageError where the folder has a run already or another process holds it, AbortedError where it cannot be
    written.
    """
    journal = Journal(folder, fields, secrets)

    def prepare() -> None:
        if os.path.exists(os.path.join(folder, MANIFEST)):
            raise UsageError(f"{folder} holds a run already: resume it, or start a new one in another folder")
        text = redacted(durable.to_json(manifest), secrets) + "\n"
        durable.replace(os.path.join(folder, MANIFEST), text.encode("utf-8", "backslashreplace"))

    journal._open(prepare)
    return journal


def resume(
    folder: str,
    differences: Callable[[dict[str, Any]], Sequence[str]],
    fields: Sequence[str],
    secrets: Sequence[str] = (),
    again: Callable[[dict[str, Any]], bool] = lambda record: False,
) -> Journal:
    """Go on with a run. `differences` says in which ways the frozen manifest is not what would be run now.

    Torn last lines are cut off. Lines that are no results, and results for which `again` holds, are dropped, so that
    their keys are asked again.
    Raises UsageError where there are differences, no run, or another process, AbortedError where it cannot be written.
    """
    journal = Journal(folder, fields, secrets)

    def prepare() -> None:
        if found := differences(read_manifest(folder)):
            raise UsageError(f"{folder} cannot be resumed, since it is not the same run: {'; '.join(found)}")
        for name in (ATTEMPTS, RESULTS):
            durable.mend(os.path.join(folder, name))
        journal.past = read_past(folder, journal.fields, again)
        journal.results = dict(journal.past.results)
        if len(journal.results) < journal.past.lines:
            lines = "".join(durable.to_json(record) + "\n" for record in journal.results.values())
            durable.replace(os.path.join(folder, RESULTS), lines.encode("utf-8", "backslashreplace"))

    if not os.path.isdir(folder):
        raise UsageError(f"there is no run {folder}")
    journal._open(prepare)
    return journal
