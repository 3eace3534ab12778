"""How descriptions say when to use a skill, and when not to. Wide on purpose: a miss is a false alarm."""

from __future__ import annotations

import re

from skill_health.core.patterns import lazy

# 2026-11, from 13,551 public descriptions and the skills of Anthropic, OpenAI and Microsoft.
_CLAUSE = lazy(
    r"\bwhen(?:ever)?\b|\bwherever\b|\btrigger|\bactivat|\binvo(?:ke|ca)|\bonce\b|\bprior to\b|\bif\b"
    r"|\bbefore\b|\bafter\b"
    r"|\buse (?:this|it|for|to|in|on|as|during|while|at|by|only|proactively|after|before|immediately|cases?)\b"
    r"|\b(?:used|useful|ideal|intended|designed|suited|suitable|meant|made|built|best|great|perfect|helpful|needed"
    r"|required) (?:for|to|in|with|by|as|on)\b"
    r"|\bhelps?\b|\bfor (?:tasks?|requests?|questions?|work|users?|anyone|people|teams?|projects?)\b"
    r"|\b(?:apply|applies|load|loads|run|call|consult|reach|relevant|appropriate|works?|working|assists?)"
    r" (?:for|to|this|it|in|with|on|during|while|as)\b"
    # The same in other languages of the Latin script.
    r"|\bcuando\b|\bquando\b|\blorsqu|\bquand\b|\bwenn\b|\bfalls\b|\bwanneer\b|\bgdy\b|\bkiedy\b|\bnär\b|\bkun\b|\bkhi\b"
    r"|\bketika\b|\bsaat\b",
    re.IGNORECASE,
)
_BOUNDARY = lazy(
    r"\bnot (?:for|to be used|intended|when)\b|\b(?:do not|don't|never) (?:use|trigger|activate|invoke|apply)\b"
    r"|\b(?:instead|unless|except|rather than|out of scope)\b",
    re.IGNORECASE,
)


def has_trigger(description: str) -> bool:
    """Whether a description says when to use the skill; True as well where its script is not Latin (not judged)."""
    if _CLAUSE.search(description):
        return True
    if description.isascii():
        return False
    letters = sum(char.isalpha() for char in description)
    return sum(char.isalpha() and char > "\u024f" for char in description) * 5 > letters


def has_boundary(description: str) -> bool:
    """Whether a description says when not to use the skill ("not for ...", "use X instead")."""
    return _BOUNDARY.search(description) is not None
