"""Verdicts of judges against those of people: how often they are right, and whether length or place decides that."""

from __future__ import annotations

import csv
import io
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast, get_args

from skill_health.core.errors import UsageError
from skill_health.core.files import read_whole, write_text
from skill_health.core.strict_json import quote, read_lines
from skill_health.documents._record import encode_record
from skill_health.documents.judge_calibration import CriterionCalibration, JudgeCalibration, VerdictCalibration
from skill_health.documents.judge_manifest import FrozenEvidence
from skill_health.documents.judge_result import JudgeVerdict
from skill_health.effectiveness.judge.scores.agreement import share_of, to_figure
from skill_health.effectiveness.judge.scores.report import CALIBRATION, Judging, panel_of
from skill_health.effectiveness.judge.scores.votes import VoteSheet, settle
from skill_health.stats.agreement import cohen_kappa
from skill_health.stats.estimates import Estimate
from skill_health.stats.intervals import clustered_mean
from skill_health.stats.position import clustered_slope

_FIELDS = ("trial", "criterion", "verdict")
_VERDICTS: tuple[str, ...] = get_args(JudgeVerdict)
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """What somebody says of a criterion of a trial; `trial` is the name of its folder, `place` where it was written."""

    trial: str
    criterion: str
    verdict: JudgeVerdict
    place: str


def read_labels(path: str) -> tuple[HumanLabel, ...]:
    """Labels from a file of JSON lines or CSV with the columns trial, criterion and verdict; others are passed over.

    Raises UsageError, with the line, for a record that is none, and for two labels of one criterion of a trial.
    """
    try:
        raw = read_whole(path, _MOST_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    rows = _from_csv(path, raw) if path.lower().endswith(".csv") else _from_lines(path, raw)
    found: dict[tuple[str, str], HumanLabel] = {}
    for place, row in rows:
        label = _label(row, place)
        key = (label.trial, label.criterion)
        if key in found:
            raise UsageError(
                f"{place}: a second label of {quote(label.criterion)} in {quote(label.trial)}; "
                f"the first is at {found[key].place}"
            )
        found[key] = label
    if not found:
        raise UsageError(f"{path} holds no label")
    return tuple(found.values())


def _from_lines(path: str, raw: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for line in read_lines(raw):
        if line.data is None:
            why = line.problem.message if line.problem else "not a JSON object"
            raise UsageError(f"{path}:{line.number}: {why}")
        yield f"{path}:{line.number}", line.data


def _from_csv(path: str, raw: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        reader = csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline=""), strict=True)
        names = reader.fieldnames or []
        if missing := [name for name in _FIELDS if name not in names]:
            raise UsageError(f"{path}: there is no column {' or '.join(missing)}; a label has {', '.join(_FIELDS)}")
        for row in reader:
            yield f"{path}:{reader.line_num}", row
    except (csv.Error, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no CSV file in UTF-8: {error}") from None


def _label(row: Mapping[str, Any], place: str) -> HumanLabel:
    texts = [row.get(name) for name in _FIELDS]
    if not all(isinstance(each, str) and each.strip() for each in texts):
        raise UsageError(f"{place}: a label has {', '.join(_FIELDS)}, each a text")
    trial, criterion, verdict = (str(each).strip() for each in texts)
    if verdict not in _VERDICTS:
        raise UsageError(f"{place}: the verdict is {quote(verdict)}; write {', '.join(_VERDICTS)}")
    return HumanLabel(os.path.basename(trial.rstrip("/")), criterion, cast(JudgeVerdict, verdict), place)


@dataclass(frozen=True, slots=True)
class _Case:
    """A label on a trial of the judging; `position` is the place of its criterion among the judged ones, from 1."""

    trial: FrozenEvidence
    criterion: str
    position: int
    human: JudgeVerdict


@dataclass(frozen=True, slots=True)
class _Pair:
    """A case with the verdict that is held against it."""

    case: _Case
    verdict: JudgeVerdict

    @property
    def right(self) -> bool:
        """Whether both say the same."""
        return self.verdict == self.case.human

    @property
    def leaning(self) -> int:
        """1 for met where people say not met, -1 for the reverse, else 0."""
        return {("met", "not_met"): 1, ("not_met", "met"): -1}.get((self.verdict, self.case.human), 0)


def calibrate(judging: Judging, labels: Iterable[HumanLabel]) -> JudgeCalibration:
    """The calibration of a judging by labels. Raises UsageError for a label of what this judging does not hold."""
    sheet = judging.sheet()
    cases = list(_cases(judging, sheet, labels))
    judges = []
    for judge in sheet.judges:
        found = ((case, sheet.verdict(case.trial.key, judge, 0, case.criterion)) for case in cases)
        judges.append(
            _figures(judge, [_Pair(case, each.verdict) for case, each in found if each], judging.manifest.seed)
        )
    counted = []
    for case in cases:
        verdict = settle(sheet, case.trial.key, case.criterion).verdict
        if verdict is not None:
            counted.append(_Pair(case, verdict))
    return JudgeCalibration(
        version=1,
        kind="judging-calibration",
        run_id=judging.manifest.run_id,
        labels=len(counted),
        unjudged=len(cases) - len(counted),
        counted=_figures("", counted, judging.manifest.seed),
        judges=tuple(judges),
        criteria=tuple(_criteria(counted)),
        panel=panel_of(judging),
    )


def _cases(judging: Judging, sheet: VoteSheet, labels: Iterable[HumanLabel]) -> Iterator[_Case]:
    """The labels in the order of trials and criteria, whatever the order of their file."""
    trials = {os.path.basename(trial.folder): (at, trial) for at, trial in enumerate(judging.manifest.trials)}
    found = []
    for label in labels:
        if label.trial not in trials:
            raise UsageError(
                f"{label.place}: {quote(label.trial)} is no folder of a trial that was judged in {judging.manifest.run_id}"
            )
        at, trial = trials[label.trial]
        names = [each.id for each in sheet.rubrics[trial.task_id].judged]
        if label.criterion not in names:
            raise UsageError(
                f"{label.place}: {quote(label.criterion)} is no judged criterion of {trial.task_id}; "
                f"it has {', '.join(names)}"
            )
        place = names.index(label.criterion)
        found.append((at, place, _Case(trial, label.criterion, place + 1, label.verdict)))
    yield from (case for _, _, case in sorted(found, key=lambda each: each[:2]))


def _figures(judge: str, pairs: Sequence[_Pair], seed: int) -> VerdictCalibration:
    tasks = [pair.case.trial.task_id for pair in pairs]
    right = [pair.right for pair in pairs]
    lengths = [math.log2(1 + pair.case.trial.length) for pair in pairs]
    return VerdictCalibration(
        judge=judge,
        accuracy=to_figure(share_of(zip(tasks, right, strict=True))),
        kappa=to_figure(cohen_kappa([(pair.verdict, pair.case.human) for pair in pairs], tasks, seed=seed)),
        leniency=to_figure(_leniency(pairs)),
        by_length=to_figure(clustered_slope(lengths, right, tasks)),
        by_position=to_figure(clustered_slope([pair.case.position for pair in pairs], right, tasks)),
    )


def _leniency(pairs: Sequence[_Pair]) -> Estimate:
    """The mean leaning, between -1 and 1, with an interval over tasks."""
    if not pairs:
        return Estimate(None, note="not testable: no verdict that counts")
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for pair in pairs:
        sums[pair.case.trial.task_id][0] += pair.leaning + 1
        sums[pair.case.trial.task_id][1] += 2
    found = clustered_mean([one for one, _ in sums.values()], [n for _, n in sums.values()])
    low, value, high = (
        None if each is None else round(2 * each - 1, 9) for each in (found.low, found.value, found.high)
    )
    return replace(found, low=low, value=value, high=high, n=len(pairs))


def _criteria(pairs: Iterable[_Pair]) -> Iterator[CriterionCalibration]:
    found: dict[tuple[str, str], list[_Pair]] = defaultdict(list)
    for pair in pairs:
        found[pair.case.trial.task_id, pair.case.criterion].append(pair)
    for (task, criterion), own in sorted(found.items()):
        # Of one task there are no clusters but trials.
        hits = [(f"{pair.case.trial.key}", pair.right) for pair in own]
        yield CriterionCalibration(
            task=task,
            criterion=criterion,
            accuracy=to_figure(share_of(hits)),
            lenient=sum(pair.leaning > 0 for pair in own),
            strict=sum(pair.leaning < 0 for pair in own),
        )


def write_calibration(folder: str, found: JudgeCalibration) -> str:
    """Write calibration.json into the folder of a judging; its path. Raises UsageError if that fails."""
    path = os.path.join(folder, CALIBRATION)
    write_text(path, encode_record(found))
    return path
