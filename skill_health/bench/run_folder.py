"""The folder of a run: a new one, or that of the same run if it stopped early."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from skill_health.bench.durable import to_json
from skill_health.bench.journal import (
    MANIFEST,
    RESULTS,
    Journal,
    Key,
    create,
    read_lines,
    read_manifest,
    read_past,
    resume,
)
from skill_health.bench.manifest import differences, identity
from skill_health.bench.redact import redacted
from skill_health.core.boundary import git_top
from skill_health.core.errors import SkillHealthError, UsageError
from skill_health.core.files import (
    UnreadableError,
    cannot_read,
    here,
    is_absence,
    is_there,
    may_be_file,
    open_binary,
    sync_folder,
)
from skill_health.core.validation import problems
from skill_health.discovery.changes import Revision, read_revision
from skill_health.discovery.roots import stay_inside
from skill_health.documents._record import RecordType, convert_record
from skill_health.executors.shards import Shard
from skill_health.text.near import nearest

TEMPORARY = ".skill-health-"
REPORTS = ("report.json", "report.md")
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """What distinguishes one kind of run from another: everything else about folders and resuming is shared.

    `name` is the kind of its manifests, as in `router.runs`; `fields` form the key of a result. `keys` returns the keys
    that a manifest wants results for, `covered` what its hashes cover, as far as results depend on it, and `settled`
    says whether a result needs not be asked for again; it raises ValueError for one that is damaged. Keys of one `unit`
    are compared with each other, so that one machine has all of their results.
    """

    name: str
    fields: tuple[str, ...]
    keys: Callable[[Record], Iterator[Key]]
    covered: Callable[[Record], Any]
    settled: Callable[[Record], bool]
    unit: Callable[[Key], Hashable] = lambda key: key[0]

    def missing(self, record: Record) -> bool:
        """Whether a result is missing data, which a resumed run asks for again; so is one that is damaged."""
        try:
            return not self.settled(record)
        except ValueError:
            return True


@dataclass(frozen=True, slots=True)
class RunLocation:
    """Where a run goes. `stored` is the manifest it began with, None for a new run; `done` the keys it has.

    `others` are the keys of other shards, where it is one.
    """

    folder: str
    kind: Kind
    manifest: Record
    stored: Record | None = None
    done: frozenset[Key] = frozenset()
    others: frozenset[Key] = frozenset()

    @property
    def settled(self) -> frozenset[Key]:
        """The keys that nothing is to be done for here."""
        return self.done | self.others

    def open(self, secrets: tuple[str, ...]) -> Journal:
        """Open the journal, locked. Raises UsageError if another process has it, or if it belongs to another run."""
        if self.stored is None:
            return create(self.folder, self.manifest, self.kind.fields, secrets)
        now, again = self.manifest, _asked_again(self.kind, self.stored)
        return resume(self.folder, lambda stored: differences(stored, now), self.kind.fields, secrets, again)


def drop_reports(folder: str) -> None:
    """Remove the reports of a run that continues, and partial files left by a killed process.

    Reports are written last, so they show that a run is over.
    """
    for name in os.listdir(folder):
        if name in REPORTS or name.endswith(".tmp") or name.startswith(TEMPORARY):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))


def is_reported(folder: str) -> bool:
    """Whether a run has its reports, so that it was over once."""
    return all(is_there(os.path.join(folder, name)) for name in REPORTS)


def find_place(
    reports: str,
    manifest: Record,
    time: datetime,
    kind: Kind,
    named: str = "",
    anew: bool = False,
    secrets: tuple[str, ...] = (),
    shard: Shard | None = None,
) -> RunLocation:
    """Find the folder of the run that is `named`, else of the latest unfinished run like this one, else a new one.

    Runs are alike if they ask the same, whenever they do. A run is over when each of its calls has a result, even if
    that is missing data: to ask that again, name the run. A shard has a folder of its own. Raises UsageError if
    the named run is a different one, if a manifest is damaged, or if it cannot be known which runs there are.
    """
    safe: dict[str, Any] = json.loads(redacted(to_json(manifest), secrets))
    others = _others(kind, safe, shard)
    if named:
        folder = find_run(named, reports, kind.name)
        stored, found = _stored(kind, folder, safe)
        if found:
            raise UsageError(f"{folder} cannot be resumed, since it is not the same run: {'; '.join(found)}")
        if shard and not os.path.basename(os.path.abspath(folder)).endswith(shard.suffix):
            raise UsageError(f"{folder} is not shard {shard} of its run: its name would end in {shard.suffix}")
        return RunLocation(folder, kind, safe, stored, _done(kind, folder, stored), others)
    mark = f"{identity(safe)[:8]}{shard.suffix if shard else ''}"
    runs = open_runs_folder(reports, kind.name)
    for name in () if anew else run_ids(reports, kind.name):
        folder = os.path.join(runs, name)
        if name.endswith(f"-{mark}") and (begun := _unfinished(kind, folder, safe)) is not None:
            return RunLocation(folder, kind, safe, begun, _done(kind, folder, begun), others)
    name = new_name(runs, time, mark)
    fresh = {**safe, "run_id": name, "created": f"{time:%Y-%m-%dT%H:%M:%SZ}"}
    return RunLocation(os.path.join(runs, name), kind, fresh, others=others)


def _others(kind: Kind, manifest: Record, shard: Shard | None) -> frozenset[Key]:
    """The keys that other shards of the run are to have."""
    if shard is None:
        return frozenset()
    keys = tuple(kind.keys(manifest))
    return frozenset(keys).difference(shard.take_keys(keys, kind.unit))


def new_name(runs: str, time: datetime, mark: str) -> str:
    """A name that no run has; of names from one second, the later sorts after the earlier.

    A folder without a manifest belongs to a process that was killed before the run began. Raises UsageError if what is
    there cannot be looked at.
    """
    names = (f"{time:%Y%m%dT%H%M%SZ}{more}-{mark}" for more in ("", *(f".{number}" for number in range(2, 1000))))
    for name in names:
        if not is_there(os.path.join(runs, name, MANIFEST)):
            return name
    raise UsageError(f"cannot find out which runs there are in {runs}")


def _stored(kind: Kind, folder: str, now: Record) -> tuple[dict[str, Any], list[str]]:
    """The manifest of a run, and how it differs from what would be run now. Raises UsageError for a damaged one."""
    stored = read_checked_manifest(folder, kind.name)
    found = differences(stored, now)
    if not found and to_json(kind.covered(stored)) != to_json(kind.covered(now)):
        raise UsageError(
            f"{os.path.join(folder, MANIFEST)} is damaged (what it lists is not what its hashes say): "
            "restore it, or start a new run"
        )
    return stored, found


def _unfinished(kind: Kind, folder: str, now: Record) -> dict[str, Any] | None:
    """The manifest of an unfinished run like this one; None if it is over. Raises UsageError for a damaged one.

    Starting anew because of a damaged manifest would cost as much again, so the user must ask for it.
    """
    try:
        stored, found = _stored(kind, folder, now)
        if found:  # its name says that there were none
            raise UsageError(f"{os.path.join(folder, MANIFEST)} is damaged ({'; '.join(found)})")
    except UsageError as error:
        if _is_over(kind, folder, now):
            return None
        raise UsageError(f"this run was begun and cannot be resumed: {error}; --no-resume starts a new one") from None
    return None if _is_over(kind, folder, stored) else stored


def _is_over(kind: Kind, folder: str, manifest: Record) -> bool:
    """Whether each key of a run has a result, and the run was reported."""
    if not is_reported(folder):
        return False
    try:
        with open_binary(os.path.join(folder, RESULTS)) as file:
            there = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return False
    return there >= sum(1 for _ in kind.keys(manifest))


def _asked_again(kind: Kind, manifest: Record) -> Callable[[Record], bool]:
    """Which records do not count as results of this run: missing data, and keys it never asked."""
    planned = set(kind.keys(manifest))
    return lambda record: kind.missing(record) or tuple(record[name] for name in kind.fields) not in planned


def _done(kind: Kind, folder: str, manifest: Record) -> frozenset[Key]:
    return frozenset(read_past(folder, kind.fields, _asked_again(kind, manifest)).results)


LAST = "last"


def runs_folder(reports: str, kind: str) -> str:
    """Where the runs of a kind are in a folder of reports. Raises UsageError where a link leads out of that."""
    return stay_inside(os.path.join(reports, kind), reports)


def open_runs_folder(reports: str, kind: str) -> str:
    """Where a new run of a kind goes. Raises UsageError if its folder, or that of the reports, is none or unreadable.

    To take what cannot be read for empty would begin anew a run that stopped early, and pay for it again.
    """
    runs = runs_folder(reports, kind)
    for folder in (reports, runs):
        try:
            os.listdir(folder)
        except FileNotFoundError:
            if is_there(folder, links=False):
                raise UsageError(f"cannot keep runs in {here(folder)}: it is a link that leads nowhere") from None
        except NotADirectoryError:
            raise UsageError(f"cannot keep runs in {here(folder)}: it is not a folder") from None
        except OSError as error:
            raise UsageError(f"cannot read {here(folder)}: {error.strerror or error}") from None
    return runs


def folder_named(name: str) -> str:
    """The folder of a run that is given as that, or as the manifest in it."""
    return os.path.dirname(name) if os.path.basename(name) == MANIFEST else name


@contextmanager
def growing_folder(target: str) -> Iterator[str]:
    """A folder beside the target that becomes it in the end, or goes. Raises OSError."""
    above = os.path.dirname(os.path.abspath(target))
    os.makedirs(above, exist_ok=True)
    half = tempfile.mkdtemp(prefix=TEMPORARY, dir=above)
    try:
        yield half
        os.chmod(half, 0o755)
        os.rename(half, target)
        sync_folder(above)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def find_run(name: str, reports: str, kind: str) -> str:
    """Find the folder of a run given by its id, its folder or its manifest, or as "last" for the latest in the reports.

    Raises UsageError with similar ids.
    """
    given = folder_named(name)
    if name and may_be_file(os.path.join(given, MANIFEST)):
        return given
    below = os.path.join(runs_folder(reports, kind), name)
    if name and may_be_file(os.path.join(below, MANIFEST)):
        return stay_inside(below, reports)
    if name == LAST:
        for folder, _ in earlier_runs(reports, kind):
            return folder
    known = list(run_ids(reports, kind))
    near = nearest(name, known)
    hint = f"did you mean {near}?" if near else f"the latest is {known[0]}" if known else "there are none there"
    raise UsageError(f"there is no run {name!r}, neither a folder nor an id in {runs_folder(reports, kind)}: {hint}")


def run_ids(reports: str, kind: str) -> Iterator[str]:
    """The ids of the runs in a folder of reports, in descending order of their names, which begin with their time.

    Raises UsageError where it cannot be known which there are.
    """
    runs = runs_folder(reports, kind)
    try:
        names = sorted(os.listdir(runs), reverse=True)
    except OSError as error:
        if is_absence(error):
            return
        raise cannot_read(runs, error) from None
    for name in names:
        # What a killed process was about to put there begins with a dot.
        if name[0] != "." and may_be_file(os.path.join(runs, name, MANIFEST)):
            yield name


def read_checked_manifest(folder: str, kind: str) -> dict[str, Any]:
    """Read the manifest of a run of a kind. Raises UsageError if it is not valid by the published schema."""
    manifest = read_manifest(folder)
    if manifest.get("kind") != kind:
        raise UsageError(
            f"{folder} is not a run of the {kind} benchmark: its manifest says kind {manifest.get('kind')!r}"
        )
    for problem in problems(f"{kind}-manifest", manifest):
        raise UsageError(f"{os.path.join(folder, MANIFEST)} is not a manifest of ours: {problem.message}")
    return manifest


def load_manifest_record(folder: str, kind: str, record: type[RecordType]) -> RecordType:
    """The manifest of a run as its record. Raises UsageError where it is missing, damaged, or of another kind."""
    try:
        return convert_record(read_checked_manifest(folder, kind), record)
    except ValueError as error:
        raise UsageError(f"{os.path.join(folder, MANIFEST)} is not a manifest of ours: {error}") from None


def load_result_records(folder: str, record: type[RecordType]) -> tuple[RecordType, ...]:
    """The results of a run, as many as there are. Raises UsageError where the file is damaged."""
    path = os.path.join(folder, RESULTS)
    return tuple(read_lines(path, lambda line: convert_record(line, record))) if is_there(path) else ()


def earlier_runs(reports: str, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The folders and manifests of the runs, latest first, each read on demand.

    Folders without a valid manifest are skipped: a damaged one must not keep a sweep from its baseline. Raises
    UsageError for one that cannot be read, which may be the very run that is asked for.
    """
    for name in run_ids(reports, kind):
        folder = os.path.join(runs_folder(reports, kind), name)
        try:
            yield folder, read_checked_manifest(folder, kind)
        except UnreadableError:
            raise
        except SkillHealthError:
            continue


def revision_of(root: str, reports: str) -> Revision:
    """The commit of a collection; changes in the reports folder do not count."""
    own = os.path.relpath(reports, root).replace(os.sep, "/")
    return read_revision(root, git_top(root), () if own.startswith("..") or own == "." else (own,))
