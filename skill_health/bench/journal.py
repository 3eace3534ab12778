"""The journal of a run: what was asked and what came back, durable through a kill; reading does not modify it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self, TypeVar

from skill_health.bench import durable
from skill_health.bench.durable import locked, read_objects
from skill_health.bench.redact import redacted
from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import (
    cannot_read,
    is_folder,
    is_there,
    make_folder,
    read_each_line,
    read_whole,
    sync_folder,
)
from skill_health.core.strict_json import JsonProblem, parse_object

MANIFEST, ATTEMPTS, RESULTS = "manifest.json", "attempts.jsonl", "results.jsonl"
BATCHES = "batches.jsonl"
Key = tuple[str | int, ...]


@dataclass(slots=True)
class PastBatch:
    """A batch that was handed in, as far as is known, and some of whose attempts have no end yet.

    `sent` and `submitted` are its lines in the journal, the latter {} where nobody saw the provider take it. `open` has
    the dollars that are reserved for each (key, attempt) without an end.
    """

    sent: dict[str, Any]
    submitted: dict[str, Any] = field(default_factory=dict)
    cancelled: bool = False
    open: dict[tuple[Key, int], float] = field(default_factory=dict)


@dataclass(slots=True)
class Past:
    """The content of a journal. `results` has the first record of each key, in file order.

    `ends` are the recorded ends of the attempts at each key without a result, in order. `attempts` and `usd` are how
    many began and what they cost: an attempt that was cut off, or whose cost is unknown, costs as much as was reserved
    for it. `lost` counts those cut off. `batches` are those whose answers may still come, by our names of them: their
    attempts count, and their dollars do not, as they are still reserved. `lines` counts the lines of the results file,
    including those left out.
    `problems` names lines that are not ours.
    """

    results: dict[Key, dict[str, Any]] = field(default_factory=dict)
    ends: dict[Key, list[dict[str, Any]]] = field(default_factory=dict)
    attempts: int = 0
    usd: float = 0.0
    lost: int = 0
    batches: dict[str, PastBatch] = field(default_factory=dict)
    lines: int = 0
    problems: list[str] = field(default_factory=list)


def read_clock() -> str:
    """The current time as the journal records it: UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_manifest(folder: str) -> dict[str, Any]:
    """Read the frozen manifest of a run. Raises UsageError if there is none, or if it cannot be read."""
    path = os.path.join(folder, MANIFEST)
    try:
        return parse_object(read_whole(path, 256 << 20).decode("utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{folder} is no run: it has no {MANIFEST}") from None
    except OSError as error:
        raise cannot_read(path, error) from error
    except (UnicodeDecodeError, JsonProblem) as problem:
        raise UsageError(f"{path} is damaged ({problem}): restore it, or start a new run") from None


def read_past(
    folder: str, fields: Sequence[str], leave_out: Callable[[dict[str, Any]], bool] = lambda record: False
) -> Past:
    """Read everything in the journal of a folder, except results to be left out.

    Raises AbortedError if a file cannot be read.
    """
    past = Past()
    foreign: list[str] = []
    for record in read_objects(os.path.join(folder, RESULTS), foreign):
        key = _key([record.get(name) for name in fields])
        past.lines += 1
        if key is None:
            past.problems.append(f"{RESULTS} has a record without {', '.join(fields)}; it is left out")
        elif not leave_out(record):
            past.results.setdefault(key, record)
    past.lines += len(foreign)
    past.problems[:0] = foreign
    _read_attempts(folder, past)
    return past


def _read_attempts(folder: str, past: Past) -> None:
    reserved: dict[tuple[Key, str], list[tuple[float, str]]] = {}
    sent = _read_batches(folder, past)
    for record in read_objects(os.path.join(folder, ATTEMPTS), past.problems):
        key = _key(record.get("key"))
        if key is None or record.get("event") not in ("start", "end"):
            past.problems.append(
                f"{ATTEMPTS} has a record that is neither the start nor the end of an attempt; it is left out"
            )
            continue
        name = (key, str(record.get("attempt")))
        if record["event"] == "start":
            batch = str(record.get("batch") or "")
            if not batch or batch in sent:
                past.attempts += 1
                reserved.setdefault(name, []).append((_number(record.get("reserved_usd")) or 0.0, batch))
            continue
        # An earlier start of the same attempt was cut off: the end belongs to the last one.
        ahead = reserved.get(name) or [(0.0, "")]
        (held, _), cost = ahead.pop(), _number(record.get("cost_usd"))
        past.usd += held if cost is None else cost
        if key not in past.results:
            past.ends.setdefault(key, []).append(record)
    for (key, number), starts in reserved.items():
        for held, batch in starts:
            if batch in sent and number.isdecimal():
                past.batches.setdefault(batch, sent[batch]).open[key, int(number)] = held
            else:
                past.lost += 1
                past.usd += held


def _read_batches(folder: str, past: Past) -> dict[str, PastBatch]:
    """The batches that were handed in, or may have been: no attempt in another one was ever made."""
    found: dict[str, PastBatch] = {}
    for record in read_objects(os.path.join(folder, BATCHES), past.problems):
        name, event = str(record.get("batch")), record.get("event")
        if event == "sending":
            found[name] = PastBatch(record)
        elif event == "submitted" and name in found:
            found[name].submitted = record
        elif event == "cancelled" and name in found:
            found[name].cancelled = True
        elif event == "void":
            found.pop(name, None)
    return found


def _key(values: Any) -> Key | None:
    if not isinstance(values, list) or not all(isinstance(value, str | int) for value in values):
        return None
    return tuple(values)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


class Journal:
    """A locked journal, open for writing. Use it as a context manager.

    `past` is its content when it was opened; `results` has the record of every key that has one, including `past`.
    `fields` are the fields of a record that form its key. `secrets` are masked in every line written.
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
            make_folder(self.folder)
            self._stack.enter_context(locked(self.folder))
            prepare()
            for name in (ATTEMPTS, RESULTS):
                self._handles[name] = durable.open_to_append(self._path(name))
                self._stack.callback(os.close, self._handles[name])
            sync_folder(self.folder)
            sync_folder(os.path.dirname(self.folder))
            # Only a run needs them: reading a journal should not wait for the imports of an event loop.
            import asyncio
            from concurrent.futures import ThreadPoolExecutor

            self._commits = asyncio.Lock()
            self._thread = self._stack.enter_context(ThreadPoolExecutor(1, "journal"))
        except OSError as error:
            self._stack.close()
            raise AbortedError(f"cannot write to {self.folder}: {error.strerror or error}") from error
        except BaseException:
            self._stack.close()
            raise

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def note(self, record: Mapping[str, Any]) -> None:
        """Add an attempt's event without waiting: it is written with whatever comes next, or on closing."""
        self._pending.append((ATTEMPTS, self._line(record)))

    async def append(self, record: Mapping[str, Any]) -> None:
        """Add an attempt's event; it is durable on return. Raises AbortedError if it cannot be written."""
        self.note(record)
        await self._settle()

    async def record_batch(self, event: Mapping[str, Any]) -> None:
        """Add what became of a batch; it and all events before it are durable on return. Raises AbortedError."""
        if BATCHES not in self._handles:
            try:
                self._handles[BATCHES] = durable.open_to_append(self._path(BATCHES))
            except OSError as error:
                raise AbortedError(f"cannot write to {self.folder}: {error.strerror or error}") from error
            self._stack.callback(os.close, self._handles[BATCHES])
            sync_folder(self.folder)
        self._pending.append((BATCHES, self._line(event)))
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
        """The key of which a record is the only result."""
        return tuple(record[field] for field in self.fields)

    async def _settle(self) -> None:
        if self._finished:
            raise RuntimeError("the run is finished")
        self._ticket += 1
        ticket = self._ticket
        async with self._commits:
            if self._durable < ticket:
                # Without an await in between, the tickets so far are exactly the pending lines.
                batch, self._pending, last = self._pending, [], self._ticket
                import asyncio

                await asyncio.get_running_loop().run_in_executor(self._thread, self._commit, batch)
                self._durable = last
        self._check()

    def _commit(self, batch: Iterable[tuple[str, str]]) -> None:
        """Write a batch. After a failure nothing more is written, since it would follow a truncated line."""
        if self._failure:
            return
        try:
            for name in (ATTEMPTS, BATCHES, RESULTS):
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

        Keys without a result are skipped. Raises AbortedError.
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
        """Write what is pending, and release the files and the lock."""
        self._drain()
        self._stack.close()

    def _drain(self) -> None:
        if self._handles and self._pending:
            batch, self._pending = self._pending, []
            self._thread.submit(self._commit, batch).result()


def create(folder: str, manifest: Mapping[str, Any], fields: Sequence[str], secrets: Sequence[str] = ()) -> Journal:
    """Start a run in its own folder: the manifest is durable on return.

    Raises UsageError if the folder already has a run or another process holds it, AbortedError if it cannot be written.
    """
    journal = Journal(folder, fields, secrets)

    def prepare() -> None:
        if is_there(os.path.join(folder, MANIFEST)):
            raise UsageError(f"{folder} already contains a run: resume it, or start a new one in another folder")
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
    """Resume a run. `differences` says how the frozen manifest differs from what would be run now.

    Torn last lines are cut off. Lines that are not results, and results for which `again` is true, are dropped, so that
    their keys are asked again. Raises UsageError if there are differences, no run, or another process, AbortedError if
    it cannot be written.
    """
    journal = Journal(folder, fields, secrets)

    def prepare() -> None:
        if found := differences(read_manifest(folder)):
            raise UsageError(f"{folder} cannot be resumed, since it is not the same run: {'; '.join(found)}")
        for name in (ATTEMPTS, BATCHES, RESULTS):
            durable.repair_last_line(os.path.join(folder, name))
        journal.past = read_past(folder, journal.fields, again)
        journal.results = dict(journal.past.results)
        if len(journal.results) < journal.past.lines:
            lines = "".join(durable.to_json(record) + "\n" for record in journal.results.values())
            durable.replace(os.path.join(folder, RESULTS), lines.encode("utf-8", "backslashreplace"))

    if not is_folder(folder):
        raise UsageError(f"there is no run {folder}")
    journal._open(prepare)
    return journal


T = TypeVar("T")


def read_lines(path: str, make: Callable[[Any], T]) -> Iterable[T]:
    """Apply `make` to each line of a results file, in order; a torn last line is left out.

    `make` raises ValueError for a line that is not a result. Raises UsageError for such a line, or if the file cannot
    be read.
    """
    try:
        for number, line in enumerate(read_each_line(path), 1):
            try:
                yield make(json.loads(line))
            except (ValueError, RecursionError):
                if not line.endswith(b"\n"):
                    return
                raise UsageError(f"{path}:{number}: this line is not a result of a run; restore the file") from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None


def readable_lines(path: str, make: Callable[[Any], T]) -> Iterator[T]:
    """The same for as much of a file as can be read, for callers that only want to learn from it; never raises."""
    try:
        for line in read_each_line(path):
            try:
                yield make(json.loads(line))
            except (ValueError, RecursionError):
                continue
    except OSError:
        return
