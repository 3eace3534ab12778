"""A trial as it was kept, read back from its folder: figures, steps, what it changed, and what its verifier says.

Everything there is a stranger's: no link is followed, nothing is read beyond a limit, and nothing raises.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from skill_health.documents._record import OpenRecord, RecordType, decode_record
from skill_health.trials.kept_files import ReportFolders, Way
from skill_health.trials.results import Trial
from skill_health.trials.steps import SkillOpenings, ToldStep, list_of, raw_steps, told_step, value_of

_MB = 1 << 20
_MOST_RECORD = 1 << 18
_MOST_CHECKS = 2_000
_OUTPUTS: tuple[tuple[str, Way], ...] = (
    ("What the verifier says", ("verifier", "stdout")), ("Errors of the verifier", ("verifier", "stderr")),
    ("Remarks on the verification", ("verifier", "notes.txt")), ("What the agent says at the end", ("final.txt",)),
)  # fmt: skip
ANSWER = _OUTPUTS[-1][0]
"""The title of the final message."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The most bytes that are read: of a trajectory, and of any other file."""

    trajectory: int = 8 * _MB
    file: int = _MB >> 2


SHORT, WHOLE = ReadLimits(), ReadLimits(64 * _MB, 4 * _MB)
"""For trials of which an excerpt is shown, and for one that somebody looks at."""


@dataclass(frozen=True, slots=True)
class KeptOutput:
    """A text file that was kept: its title, the way to it, its beginning, and how many bytes it has."""

    title: str
    way: Way
    data: bytes
    size: int

    @property
    def text(self) -> str:
        """What was read of it; bytes that are no UTF-8 are halves of surrogate pairs."""
        return self.data.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class TrialCheck:
    """What was decided of one thing: a test of the verifier, a criterion of the task, or a reward that it wrote.

    `trace` is where a test failed, as its runner printed it; "" for nothing.
    """

    kind: str
    name: str
    said: str
    why: str = ""
    trace: str = ""


class TrialAgent(OpenRecord, frozen=True, kw_only=True):
    """The agent of a trial, as trial.json names it."""

    name: str = ""
    version: str | None = None
    model: str = ""


class TrialDescription(OpenRecord, frozen=True, kw_only=True):
    """What is read of a trial.json."""

    agent: TrialAgent | None = None
    prompt: str = ""
    skills_folder: str = ""


class TrialVerdict(OpenRecord, frozen=True, kw_only=True):
    """What is read of a verdict.json: what was wrong with the verification, "" for nothing."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class KeptTrial:
    """A trial with what was kept of it. `problems` say what could not be read, `notes` what went wrong in it."""

    trial: Trial
    about: TrialDescription
    trajectory: Any
    outputs: tuple[KeptOutput, ...]
    patch: KeptOutput | None
    checks: tuple[TrialCheck, ...]
    notes: tuple[str, ...]
    problems: tuple[str, ...]

    @property
    def raw_steps(self) -> list[Any]:
        """The steps as the trajectory has them."""
        return raw_steps(self.trajectory)

    def steps(self, most: int | None = None) -> Iterator[ToldStep]:
        """The first `most` steps as text, all of them by default, with the openings of skills marked."""
        openings = SkillOpenings.of(self.trial.line)
        for number, each in enumerate(self.raw_steps[:most], 1):
            yield told_step(number, each, openings)

    @property
    def answer(self) -> KeptOutput | None:
        """What the agent said at the end, None where that was not kept."""
        return next((each for each in self.outputs if each.title == ANSWER), None)

    @property
    def agent(self) -> str:
        """The agent with its version, as far as it is known."""
        told = value_of(self.trajectory, "agent")
        own = self.about.agent or TrialAgent()
        names = (own.name or value_of(told, "name"), own.version or value_of(told, "version"))
        return " ".join(each for each in names if isinstance(each, str) and each and each != "unknown")


def read_trial(shelf: ReportFolders, trial: Trial, limits: ReadLimits = SHORT) -> KeptTrial:
    """What was kept of a trial; never raises for what its files hold."""
    problems: list[str] = []
    outputs = (_output(shelf, trial.way, title, way, limits.file) for title, way in _OUTPUTS)
    patch = _output(shelf, trial.way, "What it changed", ("diff.patch",), limits.file, blank=True)
    told = _trajectory(shelf, trial.way, limits.trajectory, problems)
    if patch is None:
        problems.append("no diff was kept")
    verdict = _record(shelf, trial.way, "verdict.json", TrialVerdict())
    said = (trial.line.error, verdict.problem, *trial.line.notes)
    return KeptTrial(
        trial, _record(shelf, trial.way, "trial.json", TrialDescription()), told,
        tuple(each for each in outputs if each), patch, tuple(_checks(shelf, trial)),
        tuple(each for each in said if each), tuple(problems),
    )  # fmt: skip


def _output(
    shelf: ReportFolders, folder: Way, title: str, way: Way, most: int, blank: bool = False
) -> KeptOutput | None:
    found = shelf.read((*folder, *way), most) if folder else None
    if not found or (not blank and not found[0].strip()):
        return None
    return KeptOutput(title, (*folder, *way), *found)


def _trajectory(shelf: ReportFolders, folder: Way, most: int, problems: list[str]) -> Any:
    """The trajectory as a JSON value, None where it cannot be had; `problems` then says why."""
    found = shelf.read((*folder, "trajectory.json"), most) if folder else None
    if not found:
        problems.append("no trajectory was kept")
        return None
    data, size = found
    if size > most:
        problems.append(f"the trajectory has {size / 1e6:,.0f} MB and is not shown here")
        return None
    try:
        told = json.loads(data.decode("utf-8", "surrogateescape"))
    except RecursionError:
        problems.append("the trajectory is nested too deep to be shown")
        return None
    except ValueError:
        problems.append("the trajectory is not JSON")
        return None
    if not isinstance(value_of(told, "steps"), list):
        problems.append("the trajectory has no list of steps")
    return told


def _record(shelf: ReportFolders, folder: Way, name: str, empty: RecordType) -> RecordType:
    found = shelf.read((*folder, name), _MOST_RECORD) if folder else None
    try:
        return decode_record(found[0], type(empty)) if found else empty
    except ValueError:
        return empty


def _checks(shelf: ReportFolders, trial: Trial) -> Iterator[TrialCheck]:
    """What was decided, each by its name once: tests, criteria and rewards."""
    line = trial.line
    found = shelf.read((*trial.way, "verifier", "ctrf.json"), WHOLE.file) if trial.way else None
    try:
        report = json.loads(found[0].decode("utf-8", "surrogateescape")) if found else None
    except (ValueError, RecursionError):
        report = None
    for test in list_of(value_of(value_of(report, "results"), "tests"))[:_MOST_CHECKS]:
        name, status = value_of(test, "name"), value_of(test, "status")
        if isinstance(name, str) and isinstance(status, str):
            told = (value_of(test, key) for key in ("message", "trace"))
            yield TrialCheck("test", name, status, *(text if isinstance(text, str) else "" for text in told))
    for each in line.criteria[:_MOST_CHECKS] if isinstance(line.criteria, tuple) else ():
        yield TrialCheck("criterion", each.id, each.answer.replace("_", " "), each.why)
    yield from (TrialCheck("reward", name, f"{value:g}") for name, value in sorted(line.rewards.items()))
