"""The folders of finished and unfinished runs: found by name, and read back as values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from skill_health.bench.journal import Key, read_lines
from skill_health.bench.run_folder import Kind, Record, load_manifest_record, load_result_records
from skill_health.core.files import MAX_BYTES, read_if_there
from skill_health.documents._record import convert_record, decode_record, record_values
from skill_health.documents.router_check import InstrumentRecord
from skill_health.documents.router_manifest import RouterManifest
from skill_health.documents.router_result import RoutingResult
from skill_health.router.scores.judge import RoutingRunFacts, RunScores, judge, read_facts

ROUTER, CHECK = "router", "check.json"
"""The kind of run that this package makes: the folder of its runs, and the first word of its schemas."""


@dataclass(frozen=True, slots=True)
class RouterRun:
    """A run as its folder holds it. `check` is what the instrument check found, None where it was not made."""

    folder: str
    manifest: RouterManifest
    facts: RoutingRunFacts
    results: tuple[RoutingResult, ...]
    check: InstrumentRecord | None = None

    @property
    def run_id(self) -> str:
        """Its name."""
        return self.manifest.run_id

    @property
    def sheet(self) -> RunScores:
        """Every result beside its label."""
        return judge(self.facts, self.results)

    @property
    def finished(self) -> bool:
        """Whether every planned call has a result."""
        planned = sum(model.replications for model in self.facts.models) * len(self.facts.prompts)
        return len({result.key for result in self.results}) >= planned

    def trusted(self, model: str) -> bool | None:
        """Whether the instrument check passed for a model; None where it was not made, or could not tell."""
        return self.check.trusts(model) if self.check else None


def load_run(folder: str) -> RouterRun:
    """A run with its results. Raises UsageError where a file of it is missing or damaged."""
    manifest = load_manifest(folder)
    results = load_result_records(folder, RoutingResult)
    return RouterRun(folder, manifest, read_facts(manifest), results, read_check(folder))


def load_manifest(folder: str) -> RouterManifest:
    """The manifest of a run. Raises UsageError where it is missing or damaged."""
    return load_manifest_record(folder, ROUTER, RouterManifest)


def read_check(folder: str) -> InstrumentRecord | None:
    """What the instrument check of a run found; None without a sound record. Raises UsageError if unreadable."""
    data = read_if_there(os.path.join(folder, CHECK), MAX_BYTES)
    try:
        return None if data is None else decode_record(data, InstrumentRecord)
    except ValueError:
        return None


FIELDS = ("prompt_id", "model", "replication")


def _covered(manifest: Record) -> Any:
    frozen = convert_record(manifest, RouterManifest)
    prompts = [record_values(replace(prompt, reason="", source="")) for prompt in frozen.prompts]
    return [prompts, [(skill.name, skill.text) for skill in frozen.catalogue]]


def _keys(manifest: Record) -> Iterator[Key]:
    frozen = convert_record(manifest, RouterManifest)
    for prompt in frozen.prompts:
        for model in frozen.models:
            for replication in range(model.replications):
                yield prompt.prompt_id, model.spec, replication


OF_ROUTER = Kind(ROUTER, FIELDS, _keys, _covered, lambda record: read_result(record).scored)


def read_result(record: Any) -> RoutingResult:
    """The result that a JSON object of ours holds. Raises ValueError where it is none."""
    return convert_record(record, RoutingResult)


def read_results(path: str) -> list[RoutingResult]:
    """All results of a file, as `read_lines` reads them."""
    return list(read_lines(path, read_result))
