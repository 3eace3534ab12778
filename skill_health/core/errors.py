"""The exception tree and its exit codes.

SkillHealthError            never raised directly
    UsageError      2       the user's mistake: a bad option, a bad configuration, a missing file
    AbortedError    3       the run could not continue
    GateError       1       a gate failed before the work that it guards began
Any other exception that escapes is our bug, and exits with 3 too. An interrupt exits with 130.
"""

from __future__ import annotations

CLEAN, FINDINGS, USAGE, ABORTED, INTERRUPTED = 0, 1, 2, 3, 130


class SkillHealthError(Exception):
    """A failure with a one-line message: what is wrong, where, and what to do."""

    exit_code = ABORTED


class UsageError(SkillHealthError):
    """The user's mistake."""

    exit_code = USAGE


class AbortedError(SkillHealthError):
    """A run that could not continue."""

    exit_code = ABORTED


class GateError(SkillHealthError):
    """A gate that failed before the work that it guards began."""

    exit_code = FINDINGS
