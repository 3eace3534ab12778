"""What a form of export is given and gives back, and JSON that any reader takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from skill_health.core.strict_json import escape_surrogates
from skill_health.effectiveness.run.runs import EffectRun
from skill_health.trials.reading import KeptTrial
from skill_health.trials.results import Trial
from skill_health.trials.steps import as_text

_DEEPEST = 24


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file to write: its name below the folder, its bytes, and how many trials are in it."""

    name: str
    data: bytes = field(repr=False)
    trials: int = 1


@dataclass(frozen=True, slots=True)
class ExportGap:
    """What of a trial is not exported, and why."""

    trial: str
    why: str


Read = Callable[[Trial], KeptTrial]
"""Reads what was kept of a trial; one at a time, as each may be large."""


class ExportFormat(Protocol):
    """A module of this package."""

    TITLE: str

    def export(self, run: EffectRun, trials: Sequence[Trial], read: Read) -> Iterator[ExportedFile | ExportGap]:
        """What to write, and what is left out."""


def plain_json(value: Any, depth: int = 0) -> Any:
    """A stranger's JSON value with nothing in it that a strict reader refuses.

    Halves of surrogate pairs become escapes; numbers that are none, and what is nested too deep, become text.
    """
    if isinstance(value, str):
        return escape_surrogates(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and abs(value) >= 1 << 63:
        return str(value)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth >= _DEEPEST:
        return escape_surrogates(as_text(value))
    if isinstance(value, Mapping):
        return {escape_surrogates(str(key)): plain_json(each, depth + 1) for key, each in value.items()}
    return [plain_json(each, depth + 1) for each in value]
