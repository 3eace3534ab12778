"""CTRF, the common report of test runners: one file is what the tests of one trial said."""

from __future__ import annotations

import os
from collections.abc import Iterator

from skill_health.core.files import may_be_file
from skill_health.documents._ctrf import CtrfResults
from skill_health.documents._record import convert_record
from skill_health.effectiveness.published._api import PublishedItem, PublishedTrial, ResultFile, outcome_of

TITLE = "CTRF report"


def fits(file: ResultFile) -> bool:
    """A report; one of a Harbor trial is a part of that trial."""
    results = file.data.get("results") if isinstance(file.data, dict) else None
    if not isinstance(results, dict) or not {"tool", "summary"} <= results.keys():
        return False
    return not may_be_file(os.path.join(os.path.dirname(os.path.dirname(file.path)), "result.json"))


def read(file: ResultFile) -> Iterator[PublishedItem]:
    """A trial that passes if each test with a verdict passed. Its task is the folder `TASK__NAME` that it lies in."""
    found = convert_record(file.data["results"], CtrfResults).summary
    trial = next((each for each in file.folders if "__" in each), "")
    if not trial:
        raise ValueError("no folder TASK__NAME above it says which task it is of")
    counted = found.counted
    above = file.folders[file.folders.index(trial) + 1 :]
    yield PublishedTrial(
        task=trial.rpartition("__")[0],
        model=next((each for each in above if "+" in each), "not known"),
        labels=above,
        identity=trial,
        outcome=outcome_of(found.passed == counted) if counted else "infrastructure",
        reward=found.passed / counted if counted else None,
    )
