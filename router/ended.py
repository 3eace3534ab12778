"""How a run ended, for whoever tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended. `left` keys have no result, for the `reason` that is given; `capped` where a larger cap helps.

    `untrusted` are the models whose figures are not to be trusted. `missing` results are missing data. There is no
    report of a run that was interrupted, nor of one without any result.
    """

    folder: str
    left: int
    reason: str = ""
    capped: bool = False
    report: Mapping[str, Any] | None = None
    written: tuple[str, ...] = ()
    untrusted: tuple[str, ...] = ()
    missing: int = 0
