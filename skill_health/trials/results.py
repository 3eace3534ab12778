"""The trials of a run, as results.jsonl tells them, each with a name for it and the files that were kept."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.documents._foreign import read_record
from skill_health.documents.effect_result import TrialResult
from skill_health.trials.kept_files import FileLink, ReportFolders, Way, is_plain_name

RUNS, RESULTS = "effectiveness", "results.jsonl"
"""The folder of the runs below that of the reports, and the file of a run that holds a line for each trial."""
FAILED = ("fail", "timeout", "refusal")
"""The outcomes of a trial that was scored and did not pass; the others are missing data and show nothing."""
CONTROL, TARGET = "control", "target"
_ARMS = (TARGET, "target_plus_one", "target_plus_unrelated", "full")
_KEPT = (
    ("trajectory", ("trajectory.json",)), ("diff", ("diff.patch",)), ("verifier", ("verifier", "stdout")),
    ("verdict", ("verdict.json",)), ("final message", ("final.txt",)),
)  # fmt: skip
_MOST_BYTES = 64 << 20
_MOST_LINE = 1 << 20
_MOST_LINES = 200_000
_MOST_FOLDERS = 6


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial: the line that says what was run and how it ended, its origin, and the way to its folder, () for none."""

    line: TrialResult
    origin: str
    way: Way

    @property
    def failed(self) -> bool:
        """Whether it was scored and did not pass."""
        return self.line.outcome in FAILED

    @property
    def name(self) -> str:
        """What commands and addresses call it: no other trial of its run has it, and it needs no quotes."""
        return trial_name(self.line)


def trial_name(line: TrialResult) -> str:
    """The name of a trial, by task, model, arm and replication: these may hold anything."""
    key = "\0".join(map(str, line.key)).encode("utf-8", "surrogatepass")
    return f"trial-{hashlib.blake2b(key, digest_size=8).hexdigest()}"


@dataclass(frozen=True, slots=True)
class TrialLinks:
    """The links to the files of a trial."""

    trial: Trial
    links: tuple[FileLink, ...]


Trials = Mapping[tuple[str, str], tuple[Trial, ...]]
"""The trials of a run by model and task."""


def read_trials(shelf: ReportFolders, run: str, runs: str = RUNS) -> Trials:
    """The trials of a run in the folder `runs`. Lines that are damaged are left out; never raises for what it holds.

    The origin of a figure is `results/RUN#`: the lines of results.jsonl as a list, damaged ones counted as null.
    """
    found = shelf.read((runs, run, RESULTS), _MOST_BYTES) if is_plain_name(run) else None
    if not found or found[1] > _MOST_BYTES:
        return {}
    trials: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    lines = (raw for raw in found[0].split(b"\n", _MOST_LINES)[:_MOST_LINES] if raw.strip())
    for at, raw in enumerate(lines):
        if len(raw) > _MOST_LINE:
            continue
        try:
            line = read_record(raw, TrialResult)
        except ValueError:
            continue
        trials[line.model, line.task_id].append(Trial(line, f"results/{run}#/{at}", way_to(line.folder, run, runs)))
    return {key: tuple(sorted(each, key=order)) for key, each in trials.items()}


def shelf_of(folder: str) -> tuple[ReportFolders, str, str]:
    """Where the folder of a run stands: what it is read from, the name of the folder around it, and its own."""
    above, name = os.path.split(os.path.realpath(folder))
    reports, runs = os.path.split(above)
    return ReportFolders(reports, ""), runs, name


def worst(trials: Iterable[Trial]) -> Trial | None:
    """The failing trial to look at: of the arms with the skill where one failed, the first task and replication."""
    return min((each for each in trials if each.failed), key=order, default=None)


def partner(trial: Trial, beside: Iterable[Trial]) -> Trial | None:
    """The trial to set beside this one, of those of its model and task: the control's, or the target's of a control.

    It is of the same replication where there is one, else the first. None where that arm has none.
    """
    wanted = TARGET if trial.line.arm == CONTROL else CONTROL
    there = [each for each in beside if each.line.arm == wanted and each.line.key != trial.line.key]
    return min(there, key=lambda each: (each.line.replication != trial.line.replication, order(each)), default=None)


def kept(shelf: ReportFolders, trial: Trial) -> TrialLinks:
    """The links to what is kept of a trial; none where nothing is, or where it is not what it seems."""
    links = (shelf.link(trial.way + way, text) for text, way in _KEPT) if trial.way else ()
    return TrialLinks(trial, tuple(link for link in links if link))


def of_tasks(trials: Trials, model: str, tasks: Collection[str]) -> list[Trial]:
    """The trials of a model on these tasks."""
    return [each for task in sorted(tasks) for each in trials.get((model, task), ())]


def same_task(trials: Trials, trial: Trial) -> tuple[Trial, ...]:
    """All trials of its task by its model, itself included."""
    return trials[trial.line.model, trial.line.task_id]


def order(trial: Trial) -> tuple[Any, ...]:
    """What is looked at first: the arms with the skill, then by task and replication."""
    # A hint or a delivery behind the arm's name is the same skills, told otherwise.
    line = trial.line
    arm = line.arm.partition("+hint")[0].partition("@")[0]
    rank = _ARMS.index(arm) if arm in _ARMS else len(_ARMS)
    return (rank, line.task_id, line.replication, line.arm, trial.origin)


def way_to(folder: str, run: str, runs: str = RUNS) -> Way:
    """The way to a trial's folder: below the run's, whatever the line says."""
    if len(folder) > 4096:
        return ()
    names = tuple(folder.split("/"))
    return (runs, run, *names) if len(names) <= _MOST_FOLDERS and all(map(is_plain_name, names)) else ()
