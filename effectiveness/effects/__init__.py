"""Paired trials -> effects, intervals, tests and verdicts: pure computation."""
