"""The folders of finished and unfinished runs: found by name, and read back as values."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.core.errors import SkillHealthError, UsageError
from skill_health.core.files import read_small
from skill_health.core.strict_json import JsonProblem, parse_object
from skill_health.core.validation import problems
from skill_health.router.journal_read import MANIFEST, RESULTS, read_manifest
from skill_health.router.records import RoutingResult
from skill_health.router.results import read_results
from skill_health.router.scores.facts import RoutingRunFacts, read_facts
from skill_health.router.scores.judge import RunScores, judge
from skill_health.text.near import nearest

ROUTER, CHECK = "router", "check.json"
"""The kind of run that this package makes: the folder of its runs, and the first word of its schemas."""
LAST = "last"


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


def runs_folder(reports: str, kind: str = ROUTER) -> str:
    """Where the runs of a kind lie in a folder of reports."""
    return os.path.join(reports, kind)


def find_run(name: str, reports: str, kind: str = ROUTER) -> str:
    """The folder of a run that is given by its id, its folder or its manifest, or is the "last" one of the reports.

    Raises UsageError with the near ids.
    """
    given = os.path.dirname(name) if os.path.basename(name) == MANIFEST else name
    for folder in (given, os.path.join(runs_folder(reports, kind), name)):
        if name and os.path.isfile(os.path.join(folder, MANIFEST)):
            return folder
    if name == LAST:
        for folder, _ in earlier_runs(reports, kind):
            return folder
    known = list(run_ids(reports, kind))
    near = nearest(name, known)
    hint = f"did you mean {near}?" if near else f"the latest is {known[0]}" if known else "there is none there"
    raise UsageError(f"there is no run {name!r}, neither a folder nor an id in {runs_folder(reports, kind)}: {hint}")


def run_ids(reports: str, kind: str = ROUTER) -> Iterator[str]:
    """The ids of the runs in a folder of reports, in falling order of their names, which begin with their time."""
    try:
        names = sorted(os.listdir(runs_folder(reports, kind)), reverse=True)
    except OSError:
        return
    for name in names:
        if os.path.isfile(os.path.join(runs_folder(reports, kind), name, MANIFEST)):
            yield name


def read_checked_manifest(folder: str, kind: str = ROUTER) -> dict[str, Any]:
    """The manifest of a run of a kind. Raises UsageError where it is none by the published schema."""
    manifest = read_manifest(folder)
    if manifest.get("kind") != kind:
        raise UsageError(f"{folder} is no run of the {kind} benchmark: its manifest says kind {manifest.get('kind')!r}")
    for problem in problems(f"{kind}-manifest", manifest):
        raise UsageError(f"{os.path.join(folder, MANIFEST)} is no manifest of ours: {problem.message}")
    return manifest


def load_run(folder: str) -> RouterRun:
    """A run with its results. Raises UsageError where a file of it is missing or damaged."""
    manifest = read_checked_manifest(folder)
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


def earlier_runs(reports: str, kind: str = ROUTER) -> Iterator[tuple[str, dict[str, Any]]]:
    """The folders and manifests of the runs, the latest first, each read when it is asked for.

    Folders without a sound manifest are passed over: a damaged one must not keep a sweep from its baseline.
    """
    for name in run_ids(reports, kind):
        folder = os.path.join(runs_folder(reports, kind), name)
        try:
            yield folder, read_checked_manifest(folder, kind)
        except SkillHealthError:
            continue
