"""The record of an instrument check: whether the models of a router run are to be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec.structs import force_setattr

from skill_health.documents._record import Amount, Count, OpenRecord


class InstrumentRecord(OpenRecord, frozen=True, kw_only=True, omit_defaults=False):
    """What check.json of a run holds: the verdicts from before it, those on the finished run, what they come to."""

    planted: tuple[ModelVerdict, ...]
    """From the answers to what was planted, before the run."""
    finished: tuple[ModelVerdict, ...]
    """From the patterns of the finished run."""
    trusted: Mapping[str, bool] = {}
    """Whether each model's figures are to be trusted."""
    version: Literal[1] = 1
    """The version of this form."""

    @property
    def verdicts(self) -> tuple[ModelVerdict, ...]:
        """Those from before the run, then the others."""
        return (*self.planted, *self.finished)

    def trusts(self, model: str) -> bool | None:
        """What the check says of a model: passed, failed, or nothing."""
        own = [each for each in self.verdicts if each.model == model]
        if any(each.failed for each in own):
            return False
        return True if any(each.trusted for each in own) else None


class ModelVerdict(OpenRecord, frozen=True, omit_defaults=False):
    """What a check found of one model."""

    model: str
    """The name as the user gave it."""
    asked: Count
    """How many calls were planned."""
    answered: Count
    """How many came back with an answer, well or badly formed."""
    tested: bool
    """False where too few did to say anything."""
    findings: tuple[InstrumentFinding, ...] = ()
    """What was found."""
    untested: tuple[str, ...] = ()
    """What could not be looked for, and why."""
    cost_usd: Amount | None = None
    """What the check itself cost; null where that is not known."""
    failed: bool = False
    """Whether something speaks against the model; it follows from the findings."""
    trusted: bool = False
    """Whether there were answers, and nothing speaks against the model; it follows from the others."""

    def __post_init__(self) -> None:
        failed = any(finding.level == "fail" for finding in self.findings)
        force_setattr(self, "failed", failed)
        force_setattr(self, "trusted", self.tested and not failed)


class InstrumentFinding(OpenRecord, frozen=True, omit_defaults=False):
    """What speaks against trusting a model, or is worth knowing about it."""

    key: str
    """A stable word."""
    text: str
    """One sentence in plain words, safe to print."""
    hits: Count
    """How many calls showed it."""
    n: Count
    """Of how many."""
    level: Literal["fail", "note"] = "fail"
    """fail: it speaks against the model."""
