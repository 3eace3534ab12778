"""The folders of runs: found by name, and read back as values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.bench import run_folder
from skill_health.bench.journal import RESULTS
from skill_health.effectiveness.records import TrialResult
from skill_health.effectiveness.results import read_results

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


def load_run(folder: str) -> EffectRun:
    """A run with its results, as many as there are. Raises UsageError where a file of it is missing or damaged."""
    manifest = run_folder.read_checked_manifest(folder, KIND)
    path = os.path.join(folder, RESULTS)
    return EffectRun(folder, manifest, tuple(read_results(path)) if os.path.exists(path) else ())
