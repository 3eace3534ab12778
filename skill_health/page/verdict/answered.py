"""What the answers to the four questions share: the words for skills, and the next command of a question."""

from __future__ import annotations

from collections.abc import Mapping

from skill_health.page.model import SkillVerdict, Tone
from skill_health.page.verdict.telling import naming
from skill_health.page.verdict.verdicts import PRELIMINARY, SO_FAR
from skill_health.status.next_steps import NextStep, grouped
from skill_health.status.render import CollectionStatus

_GAPS: Mapping[int, tuple[str, ...]] = {
    1: ("fix first",),
    2: ("not found", "routing not measured", "routing out of date", "no prompts"),
    3: ("harmful", "effect not measured", "effect out of date", "effect not testable", "no tasks"),
}


def skills(n: int) -> str:
    """So many skills, in words."""
    return f"{n} skill{'s' * (n != 1)}"


def answer(
    word: str, tone: Tone, question: int, reason: str, status: CollectionStatus, model: str = ""
) -> SkillVerdict:
    """The answer to a question, with the first step that is due for it; `model` is one that it was asked of before."""
    step = _first(status, question)
    if step is None:
        return SkillVerdict(word, tone, question, reason)
    advice = SO_FAR if step.gap == "harmful" and word.startswith(PRELIMINARY) else step.advice
    return SkillVerdict(word, tone, question, reason, advice, naming(step.command, model))


def _first(status: CollectionStatus, question: int) -> NextStep | None:
    every = [step for step, _ in grouped(status.records, status.place)]
    return next((step for gap in _GAPS[question] for step in every if step.gap == gap), None)
