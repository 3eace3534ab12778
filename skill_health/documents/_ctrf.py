"""CTRF, the common report of test runners, as far as it is read: how many tests ended in which way."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from skill_health.documents._record import OpenRecord

TestCount = Annotated[int, Meta(ge=0, le=2**31)]


class CtrfSummary(OpenRecord, frozen=True, kw_only=True):
    """How many tests ended in which way. Skipped ones, and failures that were expected, are no verdict."""

    passed: TestCount
    failed: TestCount
    pending: TestCount = 0
    other: TestCount = 0
    skipped: TestCount = 0

    @property
    def counted(self) -> int:
        """The tests with a verdict, of which those that passed are a share."""
        return self.passed + self.failed + self.pending + self.other


class CtrfResults(OpenRecord, frozen=True, kw_only=True):
    """The part of a report that counts."""

    summary: CtrfSummary
