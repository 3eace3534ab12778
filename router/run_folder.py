"""The folder of a run: a new one, or the one where the same run stopped before its end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from skill_health.core.errors import UsageError
from skill_health.router import manifest as frozen
from skill_health.router.durable import to_json
from skill_health.router.journal import Journal, create, resume
from skill_health.router.journal_read import MANIFEST, RESULTS, Key, read_past
from skill_health.router.records import ANSWERED
from skill_health.router.redact import redacted
from skill_health.router.results import from_line
from skill_health.router.runs import ROUTER, find_run, read_checked_manifest, run_ids, runs_folder

FIELDS = ("prompt_id", "model", "replication")
TEMPORARY = ".skill-health-"
REPORTS = ("report.json", "report.md")
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """What tells one kind of run from another: all else about folders and resumption is the same for all.

    `name` is the kind of its manifests, as in `router.runs`; `fields` are those that make the key of a result. `keys`
    are the keys of a manifest that results are wanted for, `covered` what its hashes stand for, as far as results rest
    on it, and `missing` says whether a result is missing data, which a run that is resumed asks for again.
    """

    name: str
    fields: tuple[str, ...]
    keys: Callable[[Record], Iterator[Key]]
    covered: Callable[[Record], Any]
    missing: Callable[[Record], bool]


@dataclass(frozen=True, slots=True)
class RunLocation:
    """Where a run goes. `stored` is the manifest that it began with, None for a new run; `done` the keys it has."""

    folder: str
    kind: Kind
    manifest: Record
    stored: Record | None = None
    done: frozenset[Key] = frozenset()

    def open(self, secrets: tuple[str, ...]) -> Journal:
        """The journal, locked. Raises UsageError where another process has it, or where it is another run."""
        if self.stored is None:
            return create(self.folder, self.manifest, self.kind.fields, secrets)
        now, again = self.manifest, _asked_again(self.kind, self.stored)
        return resume(self.folder, lambda stored: frozen.differences(stored, now), self.kind.fields, secrets, again)


def drop_reports(folder: str) -> None:
    """Remove the reports of a run that goes on, and halves of files that a killed process left.

    Reports are written last, and so tell that a run is over.
    """
    for name in os.listdir(folder):
        if name in REPORTS or name.endswith(".tmp") or name.startswith(TEMPORARY):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))


def _is_reported(folder: str) -> bool:
    return all(os.path.exists(os.path.join(folder, name)) for name in REPORTS)


def is_missing(record: Record) -> bool:
    """Whether a result is missing data, which a run that is resumed asks for again; so is one that is damaged."""
    if record.get("status") not in ANSWERED:
        return True
    try:
        result = from_line(record)
        names = (*result.ranking, *result.kinds, *result.notes, *result.first_kinds, result.rationale, result.error)
        numbers = (result.attempts, result.cost_usd or 0, result.confidence or 0, result.duration_ms or 0)
        return not (all(isinstance(each, str) for each in names) and min(numbers) >= 0)
    except (TypeError, ValueError):
        return True


def find_place(
    reports: str,
    manifest: Record,
    time: datetime,
    named: str = "",
    anew: bool = False,
    secrets: tuple[str, ...] = (),
    kind: Kind | None = None,
) -> RunLocation:
    """The folder of the run that is `named`, else of the latest unfinished run like this one, else a new one.

    Runs are alike by what they ask, not by when. A run is over when each of its calls has a result, be it missing
    data: whoever wants that asked again names the run. Raises UsageError where the one that is named is another, and
    where a manifest is damaged.
    """
    kind = kind or OF_ROUTER
    safe: dict[str, Any] = json.loads(redacted(to_json(manifest), secrets))
    if named:
        folder = find_run(named, reports, kind.name)
        stored, found = _stored(kind, folder, safe)
        if found:
            raise UsageError(f"{folder} cannot be resumed, since it is not the same run: {'; '.join(found)}")
        return RunLocation(folder, kind, safe, stored, _done(kind, folder, stored))
    mark = frozen.identity(safe)
    runs = runs_folder(reports, kind.name)
    for name in () if anew else run_ids(reports, kind.name):
        folder = os.path.join(runs, name)
        if name.endswith(f"-{mark[:8]}") and (begun := _unfinished(kind, folder, safe)) is not None:
            return RunLocation(folder, kind, safe, begun, _done(kind, folder, begun))
    name = _new_name(runs, f"{time:%Y%m%dT%H%M%SZ}", mark[:8])
    fresh = {**safe, "run_id": name, "created": f"{time:%Y-%m-%dT%H:%M:%SZ}"}
    return RunLocation(os.path.join(runs, name), kind, fresh)


def _new_name(runs: str, time: str, mark: str) -> str:
    """A name that no run has; of one second, the later one sorts behind the earlier.

    A folder without a manifest is one whose process was killed before the run began.
    """
    names = (f"{time}{more}-{mark}" for more in ("", *(f".{number}" for number in range(2, 1000))))
    return next(name for name in names if not os.path.exists(os.path.join(runs, name, MANIFEST)))


def _stored(kind: Kind, folder: str, now: Record) -> tuple[dict[str, Any], list[str]]:
    """The manifest of a run, and in which ways it is not what would be run now. Raises UsageError for a damaged one."""
    stored = read_checked_manifest(folder, kind.name)
    found = frozen.differences(stored, now)
    if not found and to_json(kind.covered(stored)) != to_json(kind.covered(now)):
        raise UsageError(
            f"{os.path.join(folder, MANIFEST)} is damaged (what it lists is not what its hashes say): "
            "restore it, or start a new run"
        )
    return stored, found


def _unfinished(kind: Kind, folder: str, now: Record) -> dict[str, Any] | None:
    """The manifest of a run that was begun like this one; None where it is over. Raises UsageError for a damaged one.

    To begin anew because of a damaged manifest would cost as much again, so whoever asks must say so.
    """
    try:
        stored, found = _stored(kind, folder, now)
        if found:  # its name says that there were none
            raise UsageError(f"{os.path.join(folder, MANIFEST)} is damaged ({'; '.join(found)})")
    except UsageError as error:
        if _is_over(kind, folder, now):
            return None
        raise UsageError(f"this run was begun and cannot go on: {error}; --no-resume begins a new one") from None
    return None if _is_over(kind, folder, stored) else stored


def _is_over(kind: Kind, folder: str, manifest: Record) -> bool:
    """Whether each key of a run has a result, and it was reported."""
    if not _is_reported(folder):
        return False
    try:
        with open(os.path.join(folder, RESULTS), "rb") as file:
            there = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return False
    return there >= sum(1 for _ in kind.keys(manifest))


def _asked_again(kind: Kind, manifest: Record) -> Callable[[Record], bool]:
    """Which records are no results of this run: missing data, and what it never asked."""
    planned = set(kind.keys(manifest))
    return lambda record: kind.missing(record) or tuple(record[name] for name in kind.fields) not in planned


def _done(kind: Kind, folder: str, manifest: Record) -> frozenset[Key]:
    return frozenset(read_past(folder, kind.fields, _asked_again(kind, manifest)).results)


def _covered(manifest: Record) -> Any:
    prompts = [{**prompt, "reason": "", "source": ""} for prompt in manifest["prompts"]]
    return [prompts, [(skill["name"], skill["text"]) for skill in manifest["catalogue"]]]


def _keys(manifest: Record) -> Iterator[Key]:
    for prompt in manifest["prompts"]:
        for model in manifest["models"]:
            for replication in range(model["replications"]):
                yield prompt["prompt_id"], model["spec"], replication


OF_ROUTER = Kind(ROUTER, FIELDS, _keys, _covered, is_missing)
