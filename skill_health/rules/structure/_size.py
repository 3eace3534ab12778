"""When a SKILL.md is too long: shared by the rules on lines and on tokens, so that only one of them reports it."""

from __future__ import annotations

from skill_health.skill.measure import estimate_tokens
from skill_health.skill.model import Skill

# Up to this factor over a limit a file is merely long; nobody has shown that 520 lines do harm where 500 do none, and
# publishers leave skills of 600 lines or 6,000 tokens as they are.
MARGIN = 1.5


def far_too_long(skill: Skill, limit: int) -> bool:
    """Whether the file exceeds the line limit by more than the margin."""
    return len(skill.lines) > limit * MARGIN


def tokens_beyond(skill: Skill, limit: int) -> int:
    """The estimated tokens of the body if they exceed the limit, else 0."""
    most = len(skill.text) * (0.6 if skill.text.isascii() else 1)
    if most <= limit:
        return 0
    tokens = estimate_tokens("\n".join(skill.lines[skill.body.first_line - 1 :]))
    return tokens if tokens > limit else 0
