"""The folders of activation runs: found by name, and read back as values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from skill_health.bench.manifest import digest
from skill_health.bench.run_folder import load_manifest_record, load_result_records
from skill_health.documents._record import convert_record
from skill_health.documents.activation_manifest import ActivationManifest
from skill_health.documents.activation_result import LoadKey, LoadResult

STREAMS = "streams"
_LONGEST = 40
_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class ActivationRun:
    """A run as its folder holds it."""

    folder: str
    manifest: ActivationManifest
    results: tuple[LoadResult, ...]

    @property
    def run_id(self) -> str:
        """Its name."""
        return self.manifest.run_id


def load_activation_run(folder: str) -> ActivationRun:
    """A run with its results, as many as there are. Raises UsageError where a file of it is missing or damaged."""
    manifest = load_manifest_record(folder, "activation", ActivationManifest)
    return ActivationRun(folder, manifest, load_result_records(folder, LoadResult))


def read_load_result(values: Any) -> LoadResult:
    """The result that a line holds. Raises ValueError where it is none."""
    return convert_record(values, LoadResult)


def stream_of(key: LoadKey) -> str:
    """The file of what an agent printed, relative to the run's folder: readable, and no other key has it."""
    names = "--".join(_STRANGE.sub("-", str(part)).strip("-.")[:_LONGEST] for part in key)
    return f"{STREAMS}/{names}--{digest(list(key))[:8]}.txt"
