"""The shards of a run, put together as the one run that they are parts of."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from skill_health.bench import durable
from skill_health.bench.durable import read_objects
from skill_health.bench.journal import ATTEMPTS, BATCHES, MANIFEST, RESULTS, Key, read_past
from skill_health.bench.manifest import differences, identity
from skill_health.bench.run_folder import (
    Kind,
    folder_named,
    growing_folder,
    new_name,
    open_runs_folder,
    read_checked_manifest,
)
from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import here, kind_of
from skill_health.executors.shards import Shard, refuse_incomplete
from skill_health.text.near import list_some
from skill_health.text.patterns import lazy
from skill_health.text.terminal import clean

_SHARD = lazy(r"-([0-9a-f]{8})-([0-9]{1,5})of([0-9]{1,5})$")


@dataclass(frozen=True, slots=True)
class RunShard:
    """One part of a run as its folder holds it; `results` are by their keys."""

    folder: str
    shard: Shard
    manifest: Mapping[str, Any]
    results: Mapping[Key, dict[str, Any]]

    @property
    def run_id(self) -> str:
        """Its name."""
        return str(self.manifest["run_id"])


@dataclass(frozen=True, slots=True)
class MergedRun:
    """A run that was put together, of which `left` keys have no result."""

    folder: str
    left: int


def merge_shards(
    folders: Sequence[str], kind: Kind, reports: str, bring: Callable[[Sequence[RunShard], str], None]
) -> MergedRun:
    """Put all shards of a run together as a new run in a folder of reports, which comes into being when it is complete.

    `bring` puts what a kind keeps beside the journal into the new folder. Raises UsageError where these are not all
    shards of one run, where two of them have a result for one key, or as `bring` does; AbortedError where the run
    cannot be written.
    """
    shards = sorted((_read_shard(folder, kind) for folder in folders), key=lambda each: each.shard)
    refuse_incomplete([(here(each.folder), each.shard) for each in shards])
    first = shards[0]
    for each in shards[1:]:
        if found := differences(first.manifest, each.manifest):
            raise UsageError(
                clean(f"{here(each.folder)} is of another run than {here(first.folder)}: {'; '.join(found)}")
            )
    order = list(kind.keys(first.manifest))
    results = _join_results(shards, set(order))
    created = min(str(each.manifest["created"]) for each in shards)
    runs = open_runs_folder(reports, kind.name)
    mark = identity(first.manifest)[:8]
    place = os.path.join(runs, new_name(runs, datetime.fromisoformat(created), mark))
    try:
        with growing_folder(place) as half:
            for name in (ATTEMPTS, BATCHES):
                events = [event for each in shards for event in read_objects(os.path.join(each.folder, name), [])]
                if events or name == ATTEMPTS:
                    _write_lines(half, name, events)
            _write_lines(half, RESULTS, [results[key] for key in order if key in results])
            bring(shards, half)
            manifest = {**first.manifest, "run_id": os.path.basename(place), "created": created}
            durable.replace(os.path.join(half, MANIFEST), f"{durable.to_json(manifest)}\n".encode())
    except (OSError, shutil.Error) as error:
        raise AbortedError(f"cannot write {here(runs)}: {getattr(error, 'strerror', None) or error}") from error
    return MergedRun(place, len(order) - len(results))


def _read_shard(folder: str, kind: Kind) -> RunShard:
    """Raises UsageError where there is no shard of such a run."""
    folder = folder_named(folder)
    manifest = read_checked_manifest(folder, kind.name)
    named = _SHARD.search(str(manifest["run_id"]))
    shard = Shard(int(named[2]), int(named[3])) if named else None
    if named is None or shard is None or not 1 <= shard.number <= shard.total:
        raise UsageError(f"{here(folder)} is no shard of a run: a run with --shard K/N makes one")
    if named[1] != identity(manifest)[:8]:
        raise UsageError(f"{os.path.join(here(folder), MANIFEST)} is damaged: it is not that of a run of its name")
    planned = set(kind.keys(manifest))
    past = read_past(folder, kind.fields)
    if past.problems:
        raise UsageError(f"{here(folder)} is damaged, or was cut off: {past.problems[0]}; run its command again")
    if strange := [key for key in past.results if key not in planned]:
        raise UsageError(f"{here(folder)} has a result that its run does not ask for: {_name_key(strange[0])}")
    return RunShard(folder, shard, manifest, past.results)


def _join_results(shards: Sequence[RunShard], planned: set[Key]) -> dict[Key, dict[str, Any]]:
    """The results of all shards. Raises UsageError where two have one for the same key."""
    owners: dict[Key, RunShard] = {}
    found: dict[Key, dict[str, Any]] = {}
    for each in shards:
        twice = [key for key in each.results if key in owners]
        if twice:
            other = owners[twice[0]]
            raise UsageError(
                f"{here(each.folder)} and {here(other.folder)} both have results for "
                f"{list_some([_name_key(key) for key in twice], 3)}: nothing is counted twice"
            )
        owners |= dict.fromkeys(each.results, each)
        found |= each.results
    return found


def _name_key(key: Key) -> str:
    return clean(" / ".join(map(str, key)))


def _write_lines(folder: str, name: str, records: Sequence[Mapping[str, Any]]) -> None:
    text = "".join(f"{durable.to_json(record)}\n" for record in records)
    durable.replace(os.path.join(folder, name), text.encode("utf-8", "backslashreplace"))


def copy_beside(source: str, target: str, path: str) -> None:
    """Copy a folder of a shard, such as that of a trial, to the same path of the merged run; nothing if it is gone.

    Links stay behind: none of ours are there, and those of others lead anywhere.
    """
    with suppress(FileNotFoundError):
        os.makedirs(os.path.dirname(os.path.join(target, path)), exist_ok=True)
        shutil.copytree(os.path.join(source, path), os.path.join(target, path), symlinks=True, ignore=_no_files)


def _no_files(folder: str, names: list[str]) -> set[str]:
    """What is neither a file nor a folder."""
    return {name for name in names if kind_of(os.path.join(folder, name), links=False) in ("link", "other")}
