"""The folders of runs: found by name, and read back as values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.effectiveness.records import TrialResult
from skill_health.effectiveness.results import read_results
from skill_health.router import runs
from skill_health.router.journal_read import RESULTS

KIND = "effectiveness"
"""The kind of these runs in their manifests, and the folder below the reports where they lie."""
TRIALS = "trials"
PROBES = "probe.json"


@dataclass(frozen=True, slots=True)
class EffectRun:
    """A run as its folder holds it."""

    folder: str
    manifest: Mapping[str, Any]
    results: tuple[TrialResult, ...]

    @property
    def run_id(self) -> str:
        """Its name."""
        return str(self.manifest["run_id"])


def runs_folder(reports: str) -> str:
    """Where the runs lie in a folder of reports."""
    return runs.runs_folder(reports, KIND)


def find_run(name: str, reports: str) -> str:
    """The folder of a run that is given by its id, its folder or its manifest, or is the "last" one of the reports.

    Raises UsageError with the near ids.
    """
    return runs.find_run(name, reports, KIND)


def read_checked_manifest(folder: str) -> dict[str, Any]:
    """The manifest of a run. Raises UsageError where it is none by the published schema."""
    return runs.read_checked_manifest(folder, KIND)


def load_run(folder: str) -> EffectRun:
    """A run with its results, as many as there are. Raises UsageError where a file of it is missing or damaged."""
    manifest = read_checked_manifest(folder)
    path = os.path.join(folder, RESULTS)
    return EffectRun(folder, manifest, tuple(read_results(path)) if os.path.exists(path) else ())


def earlier_runs(reports: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The folders and manifests of the runs, the latest first, as far as they are sound."""
    return runs.earlier_runs(reports, KIND)
