"""Where the trials of a run are kept."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress

from skill_health.bench.manifest import digest
from skill_health.effectiveness.records import Key
from skill_health.effectiveness.runs import TRIALS

_LONGEST = 40
_STRANGE = re.compile(r"[^A-Za-z0-9._-]+")


def folder_of(key: Key) -> str:
    """The folder of a trial, relative to the run's: readable, and no other key has it."""
    *names, replication = key
    return f"{TRIALS}/{'--'.join(_plain(str(name)) for name in names)}--r{replication}--{digest(list(key))[:8]}"


def _plain(text: str) -> str:
    return _STRANGE.sub("-", text).strip("-.")[:_LONGEST]


def make_way(place: str, last: int = 0) -> None:
    """Let nothing stand where a trial shall be kept: what the attempt `last` left is kept beside it.

    With 0 it is what a killed process had no time to write down as an attempt, and it is removed.
    """
    if last:
        shutil.rmtree(aside := f"{place}--attempt-{last}", ignore_errors=True)
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
