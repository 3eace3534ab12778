"""The folder of a run: a new one, or the one where the same run stopped before its end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from router import manifest as frozen
from router.durable import to_json
from router.journal import Journal, create, resume
from router.journal_read import MANIFEST, Key, read_manifest, read_past
from router.records import ANSWERED
from router.redact import redacted
from router.runs import find_run, run_ids, runs_folder
from skill_health.core.errors import SkillHealthError, UsageError

FIELDS = ("prompt_id", "model", "replication")
TEMPORARY = ".skill-health-"
REPORTS = ("report.json", "report.md")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run goes. `stored` is the manifest that it began with, None for a new run; `done` the keys it has."""

    folder: str
    manifest: Mapping[str, Any]
    stored: Mapping[str, Any] | None = None
    done: frozenset[Key] = frozenset()

    def open(self, secrets: tuple[str, ...]) -> Journal:
        """The journal, locked. Raises UsageError where another process has it, or where it is another run."""
        if self.stored is None:
            return create(self.folder, self.manifest, FIELDS, secrets)
        now = self.manifest
        return resume(self.folder, lambda stored: frozen.differences(stored, now), FIELDS, secrets, is_missing)


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


def is_missing(record: Mapping[str, Any]) -> bool:
    """Whether a result is missing data, which a run that is resumed asks for again."""
    return record.get("status") not in ANSWERED


def find_place(
    reports: str,
    manifest: Mapping[str, Any],
    time: datetime,
    named: str = "",
    anew: bool = False,
    secrets: tuple[str, ...] = (),
) -> Place:
    """The folder of the run that is `named`, else of the latest unfinished run like this one, else a new one.

    Runs are alike by what they ask, not by when. Raises UsageError where the one that is named is another.
    """
    safe: dict[str, Any] = json.loads(redacted(to_json(manifest), secrets))
    if named:
        folder = find_run(named, reports)
        stored = read_manifest(folder)
        if found := frozen.differences(stored, safe):
            raise UsageError(f"{folder} cannot be resumed, since it is not the same run: {'; '.join(found)}")
        return Place(folder, safe, stored, _done(folder))
    mark = frozen.identity(safe)
    for folder, stored in () if anew else _alike(reports, mark):
        done = _done(folder)
        if not (done.issuperset(_keys(stored)) and _is_reported(folder)):
            return Place(folder, safe, stored, done)
    name = _new_name(reports, f"{time:%Y%m%dT%H%M%SZ}", mark[:8])
    fresh = {**safe, "run_id": name, "created": f"{time:%Y-%m-%dT%H:%M:%SZ}"}
    return Place(os.path.join(runs_folder(reports), name), fresh)


def _new_name(reports: str, time: str, mark: str) -> str:
    """A name that no run has; of one second, the later one sorts behind the earlier.

    A folder without a manifest is one whose process was killed before the run began.
    """
    names = (f"{time}{more}-{mark}" for more in ("", *(f".{number}" for number in range(2, 1000))))
    return next(name for name in names if not os.path.exists(os.path.join(runs_folder(reports), name, MANIFEST)))


def _alike(reports: str, mark: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The runs of this identity, the latest first; what is damaged is passed over."""
    for name in run_ids(reports):
        folder = os.path.join(runs_folder(reports), name)
        if not name.endswith(f"-{mark[:8]}"):
            continue
        try:
            stored = read_manifest(folder)
            if frozen.identity(stored) == mark:
                yield folder, stored
        except (SkillHealthError, AttributeError, TypeError):
            continue


def _done(folder: str) -> frozenset[Key]:
    past = read_past(folder, FIELDS)
    return frozenset(key for key, record in past.results.items() if not is_missing(record))


def _keys(manifest: Mapping[str, Any]) -> Iterator[Key]:
    for prompt in manifest["prompts"]:
        for model in manifest["models"]:
            for replication in range(model["replications"]):
                yield prompt["prompt_id"], model["spec"], replication
