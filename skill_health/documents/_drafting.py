"""What is wrong with a drafted task or a proposal of one."""

from __future__ import annotations

from typing import Literal, get_args

from skill_health.documents._record import Record

FlawKind = Literal[
    "no-answer",
    "wrong-form",
    "too-large",
    "path",
    "control-characters",
    "points",
    "check",
    "no-check",
    "names-skill",
    "steps-leak",
    "rubric-leak",
    "leak",
    "duplicate",
    "needs",
    "visible",
    "oracle-error",
    "oracle-fails",
    "nothing-passes",
    "bought",
    "unstable",
    "not-runnable",
    "ambiguous",
]
FLAW_KINDS: tuple[str, ...] = get_args(FlawKind)
"""Every kind of flaw, in the order in which they are looked for: a draft is counted under its first."""


class DraftFlaw(Record, frozen=True, kw_only=True):
    """One reason why a draft is rejected by a program."""

    kind: FlawKind
    """What is wrong, as a word that stays the same."""
    message: str
    """The same as a sentence."""
