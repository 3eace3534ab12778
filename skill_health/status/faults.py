"""Why a document of a run is not to be had."""

from __future__ import annotations

from enum import StrEnum


class DocumentFault(StrEnum):
    """What is wrong with it, as the predicate of a sentence. Only damage makes what it said unknown."""

    ABSENT = "is not there"
    ABSENT_OR_LARGE = "is not there, or too large"
    DAMAGED = "is damaged or of another version"
    OTHER_RUN = "is that of another run"
