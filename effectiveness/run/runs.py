"""The folders of runs: found by name, and read back as values."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from skill_health.bench.manifest import digest
from skill_health.bench.run_folder import load_manifest_record, load_result_records
from skill_health.documents._record import convert_record
from skill_health.documents.effect_manifest import EffectManifest
from skill_health.documents.effect_result import Key, TrialResult

KIND = "effectiveness"
"""The kind of these runs in their manifests, and the folder below the reports where they lie."""
TRIALS = "trials"
PROBES = "probe.json"


@dataclass(frozen=True, slots=True)
class EffectRun:
    """A run as its folder holds it."""

    folder: str
    manifest: EffectManifest
    results: tuple[TrialResult, ...]

    @property
    def run_id(self) -> str:
        """Its name."""
        return self.manifest.run_id


def load_manifest(folder: str) -> EffectManifest:
    """The frozen manifest of a run. Raises UsageError where there is none, or where it is damaged."""
    return load_manifest_record(folder, KIND, EffectManifest)


def load_run(folder: str) -> EffectRun:
    """A run with its results, as many as there are. Raises UsageError where a file of it is missing or damaged."""
    return EffectRun(folder, load_manifest(folder), load_result_records(folder, TrialResult))


_LONGEST = 40
_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")


def folder_of(key: Key) -> str:
    """The folder of a trial, relative to the run's: readable, and no other key has it."""
    *names, replication = key
    return f"{TRIALS}/{'--'.join(_plain(str(name)) for name in names)}--r{replication}--{digest(list(key))[:8]}"


def _plain(text: str) -> str:
    return _STRANGE.sub("-", text).strip("-.")[:_LONGEST]


def folder_of_attempt(place: str, number: int) -> str:
    """Where the attempt of a number at a trial is kept that was not the last, beside the place of that."""
    return f"{place}--attempt-{number}"


def make_way(place: str, last: int = 0) -> None:
    """Let nothing stand where a trial shall be kept: what the attempt `last` left is kept beside it.

    With 0 it is what a killed process had no time to write down as an attempt, and it is removed.
    """
    if last:
        shutil.rmtree(aside := folder_of_attempt(place, last), ignore_errors=True)
        with suppress(FileNotFoundError):
            os.rename(place, aside)
    shutil.rmtree(place, ignore_errors=True)


def drop_halves(folder: str) -> None:
    """Remove what killed processes left of trials under way; their names begin with a dot."""
    trials = os.path.join(folder, TRIALS)
    with suppress(FileNotFoundError):
        for name in os.listdir(trials):
            if name.startswith("."):
                shutil.rmtree(os.path.join(trials, name), ignore_errors=True)


def read_result(values: Any) -> TrialResult:
    """The result that a line holds. Raises ValueError where it is none."""
    return convert_record(values, TrialResult)
