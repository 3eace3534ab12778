"""The results of the plan's published runner: a folder of small JSON files, one for each call, and a summary.

`results/<UTC date>-<seed>/<prompt>-<model>-<replication>.json`. Prompts and models may hold hyphens, so that only what
stands inside a file counts, never its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from skill_health.core.errors import UsageError
from skill_health.router.plan_record import LONGEST_NAME, MOST_REPLICATIONS, CallRecord, read_object, to_record
from skill_health.text.patterns import lazy

SUMMARY = "summary.json"
MOST_FILES = 200_000
_FOLDER = lazy(r"(\d{4}-\d\d-\d\d)-(\d{1,10})")
_TIME = lazy(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?Z")
_COMMIT = lazy(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class RunDescription:
    """What is known of the run as a whole; None where it is not. `created` is UTC to the second."""

    seed: int | None = None
    created: str | None = None
    commit: str | None = None
    fixture: str | None = None
    replications: int | None = None
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanRun:
    """A folder of results: its records by key, in the order of their keys, and one line for each file that is none."""

    about: RunDescription
    records: Mapping[tuple[str, str, int], CallRecord]
    problems: tuple[str, ...]


def read_folder(folder: str) -> PlanRun:
    """Read a folder of results. Raises UsageError where it cannot be read or holds nothing of the kind."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror}") from error
    if len(names) > MOST_FILES:
        raise UsageError(f"{folder} holds {len(names)} files: more than {MOST_FILES} are not read")
    found: dict[tuple[str, str, int], CallRecord] = {}
    problems = []
    for name in names:
        if name == SUMMARY:
            continue
        try:
            record = to_record(name, read_object(os.path.join(folder, name)))
        except ValueError as error:
            problems.append(f"{name}: {error}; it is left out")
            continue
        first = found.setdefault(record.key, record)
        if first is not record:
            problems.append(f"{name}: the same call as {first.path}; it is left out")
    if not found:
        why = f" ({problems[0]})" if problems else ""
        raise UsageError(f"{folder} holds no results of the plan's runner: no <prompt>-<model>-<replication>.json{why}")
    about, note = _about(folder)
    return PlanRun(about, {key: found[key] for key in sorted(found)}, (*note, *problems))


def _about(folder: str) -> tuple[RunDescription, tuple[str, ...]]:
    """What the summary says, and what the folder's name says where the summary does not."""
    data: Mapping[str, Any] = {}
    note: tuple[str, ...] = ()
    if os.path.exists(path := os.path.join(folder, SUMMARY)):
        try:
            data = read_object(path)
        except ValueError as error:
            note = (f"{SUMMARY}: {error}; it is left out",)
    named = _FOLDER.fullmatch(os.path.basename(os.path.abspath(folder)))
    day, seed = (named[1], int(named[2])) if named else (None, None)
    time = _TIME.fullmatch(str(data.get("timestamp")))
    begun = _real(f"{time[1]}Z" if time else f"{day}T00:00:00Z" if day else "")
    models = data.get("models")
    return RunDescription(
        seed=_known(data.get("seed"), 2**32 - 1, seed),
        created=begun,
        commit=found if _COMMIT.fullmatch(found := str(data.get("repo_sha"))) else None,
        fixture=str(data["fixture_sha"]) if isinstance(data.get("fixture_sha"), str) else None,
        replications=_known(data.get("reps"), MOST_REPLICATIONS, None) or None,
        models=tuple(_names(models)),
    ), note


def _real(time: str) -> str | None:
    """The time, where the calendar has it."""
    try:
        datetime.fromisoformat(time)
    except ValueError:
        return None
    return time


def _known(value: Any, most: int, default: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else default


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, str) and each.strip() and len(each) <= LONGEST_NAME)
