"""The folders of finished and unfinished runs: found by name, and read back as values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.bench.journal import RESULTS, Key, read_lines
from skill_health.bench.run_folder import Kind, Record, read_checked_manifest
from skill_health.core.files import read_small
from skill_health.core.strict_json import JsonProblem, parse_object
from skill_health.router.records import ANSWERED, RoutingResult, from_line
from skill_health.router.scores.judge import RoutingRunFacts, RunScores, judge, read_facts

ROUTER, CHECK = "router", "check.json"
"""The kind of run that this package makes: the folder of its runs, and the first word of its schemas."""


@dataclass(frozen=True, slots=True)
class RouterRun:
    """A run as its folder holds it. `check` is what the instrument check found, None where it was not made."""

    folder: str
    manifest: Mapping[str, Any]
    facts: RoutingRunFacts
    results: tuple[RoutingResult, ...]
    check: Mapping[str, Any] | None = None

    @property
    def run_id(self) -> str:
        """Its name."""
        return str(self.manifest["run_id"])

    @property
    def sheet(self) -> RunScores:
        """Every result beside its label."""
        return judge(self.facts, self.results)

    def trusted(self, model: str) -> bool | None:
        """Whether the instrument check passed for a model; None where it was not made, or could not tell."""
        return trusted(self.check, model)


def load_run(folder: str) -> RouterRun:
    """A run with its results. Raises UsageError where a file of it is missing or damaged."""
    manifest = read_checked_manifest(folder, ROUTER)
    path = os.path.join(folder, RESULTS)
    results = tuple(read_results(path)) if os.path.exists(path) else ()
    return RouterRun(folder, manifest, read_facts(manifest), results, read_check(folder))


def read_check(folder: str) -> Mapping[str, Any] | None:
    """What the instrument check of a run found; None where there is no sound record of it."""
    data = read_small(os.path.join(folder, CHECK))
    try:
        record = None if data is None else parse_object(data.decode("utf-8"))
    except (UnicodeDecodeError, JsonProblem):
        return None
    parts = [(record or {}).get(part) for part in ("planted", "finished")]
    sound = all(isinstance(part, list) and all(isinstance(each, dict) for each in part) for part in parts)
    return record if sound else None


def trusted(check: Mapping[str, Any] | None, model: str) -> bool | None:
    """What an instrument check says of a model: passed, failed, or nothing."""
    verdicts = [each for part in ("planted", "finished") for each in (check or {}).get(part, ())]
    own = [each for each in verdicts if each.get("model") == model]
    if any(each.get("failed") for each in own):
        return False
    return True if any(each.get("trusted") for each in own) else None


FIELDS = ("prompt_id", "model", "replication")


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


def _covered(manifest: Record) -> Any:
    prompts = [{**prompt, "reason": "", "source": ""} for prompt in manifest["prompts"]]
    return [prompts, [(skill["name"], skill["text"]) for skill in manifest["catalogue"]]]


def _keys(manifest: Record) -> Iterator[Key]:
    for prompt in manifest["prompts"]:
        for model in manifest["models"]:
            for replication in range(model["replications"]):
                yield prompt["prompt_id"], model["spec"], replication


OF_ROUTER = Kind(ROUTER, FIELDS, _keys, _covered, is_missing)


def read_results(path: str) -> list[RoutingResult]:
    """All results of a file, as `read_lines` reads them."""
    return list(read_lines(path, from_line))
