"""The trials of a run, as results.jsonl tells them, and the failing one that is worth a look."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from skill_health.documents.effect_result import TrialResult
from skill_health.page.data.loading import read_record
from skill_health.page.skill.kept_files import FileLink, ReportFolders, Way, is_plain_name

RESULTS = "results.jsonl"
FAILED = ("fail", "timeout", "refusal")
"""The outcomes of a trial that was scored and did not pass; the others are missing data and show nothing."""
_ARMS = ("target", "target_plus_one", "target_plus_unrelated", "full")
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


@dataclass(frozen=True, slots=True)
class TrialLinks:
    """The links to the files of a trial."""

    trial: Trial
    links: tuple[FileLink, ...]


Trials = Mapping[tuple[str, str], tuple[Trial, ...]]
"""The trials of a run by model and task."""


def read_trials(shelf: ReportFolders, run: str) -> Trials:
    """The trials of a run. Lines that are damaged are left out; never raises for what the file holds.

    The origin of a figure is `results/RUN#`: the lines of results.jsonl as a list, damaged ones counted as null.
    """
    found = shelf.read(("effectiveness", run, RESULTS), _MOST_BYTES) if is_plain_name(run) else None
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
        trials[line.model, line.task_id].append(Trial(line, f"results/{run}#/{at}", _way(line.folder, run)))
    return {key: tuple(sorted(each, key=order)) for key, each in trials.items()}


def worst(trials: Iterable[Trial]) -> Trial | None:
    """The failing trial to look at: of the arms with the skill where one failed, the first task and replication."""
    return min((each for each in trials if each.failed), key=order, default=None)


def kept(shelf: ReportFolders, trial: Trial) -> TrialLinks:
    """The links to what is kept of a trial; none where nothing is, or where it is not what it seems."""
    links = (shelf.link(trial.way + way, text) for text, way in _KEPT) if trial.way else ()
    return TrialLinks(trial, tuple(link for link in links if link))


def of_tasks(trials: Trials, model: str, tasks: Collection[str]) -> list[Trial]:
    """The trials of a model on these tasks."""
    return [each for task in sorted(tasks) for each in trials.get((model, task), ())]


def order(trial: Trial) -> tuple[Any, ...]:
    """What is looked at first: the arms with the skill, then by task and replication."""
    # A hint or a delivery behind the arm's name is the same skills, told otherwise.
    line = trial.line
    arm = line.arm.partition("+hint")[0].partition("@")[0]
    rank = _ARMS.index(arm) if arm in _ARMS else len(_ARMS)
    return (rank, line.task_id, line.replication, line.arm, trial.origin)


def _way(folder: str, run: str) -> Way:
    """The way to a trial's folder: below the run's, whatever the line says."""
    if len(folder) > 4096:
        return ()
    names = tuple(folder.split("/"))
    return ("effectiveness", run, *names) if len(names) <= _MOST_FOLDERS and all(map(is_plain_name, names)) else ()
