"""Paths -> what was published: trials by condition, and claims, with one line for each thing that is left out."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from importlib import import_module
from itertools import pairwise
from typing import Any, cast

from skill_health.core.errors import UsageError
from skill_health.core.files import is_there, read_whole
from skill_health.core.plugins import plugin_names
from skill_health.core.strict_json import JsonProblem, parse_value, read_lines
from skill_health.effectiveness import published as package
from skill_health.effectiveness.published._api import (
    MOST_IN_CELL,
    PublishedClaim,
    PublishedTrial,
    ResultFile,
    ResultFormat,
    Side,
)
from skill_health.text.numbers import count

MOST_BYTES = 256 << 20
MOST_FILES = 100_000
MOST_TRIALS = 1_000_000
JSON, LINES, ARCHIVE = ".json", ".jsonl", ".eval"
_SKIPPED = frozenset(("node_modules", "__pycache__"))
_JOINTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z0-9]+")
_SKILLS = ("skill", "skills")


@dataclass(frozen=True, slots=True)
class SidedTrial:
    """A trial with the side of the comparison that it is on."""

    side: Side
    trial: PublishedTrial


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was read: its name, its format's, and how many trials and claims it gave."""

    shown: str
    title: str
    trials: int
    claims: int


@dataclass(slots=True)
class PublishedGroup:
    """All that was published in one format, in the order of the files."""

    title: str
    trials: list[SidedTrial] = field(default_factory=list)
    claims: list[PublishedClaim] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PublishedResults:
    """What was read, by format, and one line for each thing that is left out. `passed_over` counts other JSON."""

    groups: tuple[PublishedGroup, ...]
    files: tuple[ReadFile, ...]
    problems: tuple[str, ...]
    passed_over: int


@dataclass(frozen=True, slots=True)
class Conditions:
    """The names of conditions that a user gives, beside those that are known; compared without case."""

    control: tuple[str, ...] = ()
    target: tuple[str, ...] = ()

    def side_of(self, labels: Sequence[str]) -> Side | None:
        """The side that the first telling label names; None where none does. What the user says goes first."""
        said: dict[str, Side] = dict.fromkeys(map(str.casefold, self.target), "target")
        said |= dict.fromkeys(map(str.casefold, self.control), "control")
        given = next((said[label.casefold()] for label in labels if label.casefold() in said), None)
        return given or next((side for label in labels if (side := named_side(label))), None)


def named_side(label: str) -> Side | None:
    """The side that a name of a condition stands for, such as "No Skills", "with_skill" or "baseline"."""
    words = [word.casefold() for word in _JOINTS.split(label) if word]
    pairs = set(pairwise(words))
    if {"noskill", "noskills", "baseline", "control"} & {*words} or any(
        (no, skill) in pairs for no in ("no", "without") for skill in _SKILLS
    ):
        return "control"
    if any((old, skill) in pairs for old in ("old", "previous") for skill in _SKILLS):
        return None
    named = (
        "skills" in words or ("with", "skill") in pairs or words in (["skill"], ["skilled"], ["target"], ["treatment"])
    )
    return "target" if named else None


@cache
def result_formats() -> tuple[ResultFormat, ...]:
    """Every format, found by walking the package."""
    names = plugin_names(package.__path__)
    return tuple(cast(ResultFormat, import_module(f"{package.__name__}.{name}")) for name in names)


def load_published(paths: Sequence[str], conditions: Conditions = Conditions()) -> PublishedResults:
    """The results in files, or at and below folders; links below a folder are not followed.

    The same bytes and the same trial count once. A file that was named must be one of results; below a folder others
    are passed over.

    Raises UsageError where a path cannot be read or is no result, and where there is no result at all.
    """
    reading = _Reading(conditions)
    for place, (shown, named) in sorted(_places(paths).items(), key=lambda item: (item[1][0], item[0])):
        reading.add(place, shown, named)
    found = reading.results()
    if not found.groups:
        titles = ", ".join(form.TITLE for form in result_formats())
        why = f" ({found.problems[0]})" if found.problems else ""
        raise UsageError(f"no results in {', '.join(paths)}{why}; what can be read: {titles}")
    return found


def _places(paths: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """The files that paths name, each once: how messages name it, and whether the user named the file itself."""
    found: dict[str, tuple[str, bool]] = {}
    for path in paths:
        if not is_there(path):
            raise UsageError(f"no such file or folder of results: {path}")
        if os.path.isdir(path):
            for place, shown in _walk(path):
                found.setdefault(os.path.realpath(place), (shown, False))
        else:
            found[os.path.realpath(path)] = (_above(path), True)
    return found


def _above(path: str) -> str:
    """A file that was named, with the two folders above it: those further up say nothing of its condition."""
    return "/".join(os.path.abspath(path).replace(os.sep, "/").split("/")[-3:]).lstrip("/")


def _walk(start: str) -> Iterator[tuple[str, str]]:
    """The files below a folder that may be results, with their names from that folder on."""
    top, number = os.path.abspath(start), 0
    for place, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in _SKIPPED)
        for name in sorted(names):
            full = os.path.join(place, name)
            if name.endswith((JSON, LINES, ARCHIVE)) and not os.path.islink(full):
                number += 1
                if number > MOST_FILES:
                    raise UsageError(f"more than {MOST_FILES:,} files below {start}: name the folder of the results")
                yield full, f"{os.path.basename(top)}/{os.path.relpath(full, top)}".replace(os.sep, "/")


def _values(path: str, raw: bytes) -> Any:
    """The JSON of a file, by which its format is known: of a file of lines the first. Raises as `parse_value` does."""
    if path.endswith(LINES):
        first = next(read_lines(raw), None)
        if first is None or first.problem:
            raise (first and first.problem) or JsonProblem("no line of it is JSON")
        return [first.data]
    return None if path.endswith(ARCHIVE) else parse_value(raw.decode("utf-8-sig"))


class _Reading:
    """Files one after the other, and what was noticed on the way."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._groups: dict[str, PublishedGroup] = {}
        self._files: list[ReadFile] = []
        self._problems: list[str] = []
        self._bytes: dict[bytes, str] = {}
        self._known: set[tuple[str, Side, str]] = set()
        self._cells: Counter[tuple[str, Side, str | None, str, str]] = Counter()
        self._passed_over = self._total = 0

    def add(self, path: str, shown: str, named: bool) -> None:
        """Read one file. Raises UsageError where it was named and is no result."""
        try:
            raw = read_whole(path, MOST_BYTES)
            data = _values(path, raw)
        except (OSError, UnicodeDecodeError, JsonProblem) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else str(why)
            if named:
                raise UsageError(f"cannot read {path}: {why}") from None
            if path.endswith(LINES):
                # Logs and much else are files of lines, or are called so.
                self._passed_over += 1
                return
            self._problems.append(f"{shown}: {why}; it is left out")
            return
        file = ResultFile(path, shown, data)
        fitting = next((each for each in result_formats() if each.fits(file)), None)
        if fitting is None:
            if named:
                titles = ", ".join(form.TITLE for form in result_formats())
                raise UsageError(f"{path} is no result that can be read; what can be: {titles}")
            self._passed_over += 1
        elif first := self._bytes.get(mark := sha256(raw).digest()):
            self._problems.append(f"{shown}: the same bytes as {first}; it is left out")
        else:
            self._bytes[mark] = shown
            self._read(replace(file, data=self._lines(raw, shown)) if path.endswith(LINES) else file, fitting)

    def _lines(self, raw: bytes, shown: str) -> list[Any]:
        """The objects of a file of lines; one that is none, such as the torn last one, is left out."""
        lines = [*read_lines(raw)]
        bad = [each for each in lines if each.data is None]
        if bad:
            first = f"line {bad[0].number}: {bad[0].problem}"
            more = f", and {count(len(bad) - 1, 'other line')}" if len(bad) > 1 else ""
            self._problems.append(f"{shown}: {first}{more}; left out")
        return [each.data for each in lines if each.data is not None]

    def results(self) -> PublishedResults:
        """What was read so far."""
        groups = tuple(group for _, group in sorted(self._groups.items()) if group.trials or group.claims)
        return PublishedResults(groups, tuple(self._files), tuple(self._problems), self._passed_over)

    def _read(self, file: ResultFile, form: ResultFormat) -> None:
        group = self._groups.setdefault(form.TITLE, PublishedGroup(form.TITLE))
        before, unsided = (len(group.trials), len(group.claims)), Counter[str]()
        try:
            for item in form.read(file):
                if isinstance(item, str):
                    self._problems.append(f"{file.shown}: {item}")
                elif isinstance(item, PublishedClaim):
                    group.claims.append(item)
                elif side := self._conditions.side_of(item.labels):
                    self._keep(group, SidedTrial(side, item), file)
                else:
                    unsided[item.labels[0] if item.labels else ""] += 1
        except ValueError as error:
            self._problems.append(f"{file.shown}: {error}; the rest of it is left out")
        for label, number in unsided.items():
            self._problems.append(
                f"{file.shown}: {count(number, 'trial')} of {label[:80]!r} left out, since nothing says whether the skill was "
                "there; say so with --control or --target"
            )
        self._files.append(
            ReadFile(file.shown, form.TITLE, len(group.trials) - before[0], len(group.claims) - before[1])
        )

    def _keep(self, group: PublishedGroup, sided: SidedTrial, file: ResultFile) -> None:
        trial = sided.trial
        if trial.identity:
            if (key := (group.title, sided.side, trial.identity)) in self._known:
                self._problems.append(f"{file.shown}: the trial {trial.identity} a second time; it is left out")
                return
            self._known.add(key)
        cell = (group.title, sided.side, trial.skill, trial.task, trial.model)
        self._cells[cell] += 1
        self._total += 1
        if self._total > MOST_TRIALS:
            raise UsageError(f"more than {MOST_TRIALS:,} trials: audit fewer files at a time")
        if self._cells[cell] <= MOST_IN_CELL:
            group.trials.append(sided)
        elif self._cells[cell] == MOST_IN_CELL + 1:
            self._problems.append(
                f"{file.shown}: more than {MOST_IN_CELL:,} trials of {trial.task} by {trial.model}; the others are left out"
            )
