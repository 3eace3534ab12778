"""The description says too late when to use the skill

## What
Reports a description with a sentence on when to use the skill ("Use when ...", "Trigger on ...", "Use this skill for
...") that begins after `limits.trigger_within` characters (350), and nothing of the kind before it. A sentence on when
not to use the skill does not count, nor do words within a sentence. A description that never says it is reported by
another rule.

## Why
Hosts may cut the descriptions of a long listing from the end: one was seen to cut all of them at 350 characters. The
clause that decides is the first to go.

## Bad
```markdown
description: (400 characters on everything that the skill knows). Use when a release is cut.
```

## Good
```markdown
description: Cuts releases from a changelog. Use when a release is cut. (everything else after that)
```

## Fix
Move the trigger clause to the second sentence. There is no automatic fix.

## Source
SHOULD · Claude Code documentation, "Skill descriptions are cut short", and the listing budgets of Codex and Copilot
CLI; read 2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

CODE = "RT005"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True

# Anything that may say when to use the skill, in the first characters.
_EARLY = lazy(
    r"\bwhen(?:ever)?\b|\btrigger(?:s|ed)?\b|\bif (?:the user|you|asked)\b|\bideal for\b|\bapplies to\b"
    r"|\b(?:use|used|invoke|invoked|activate|activates|run|load|apply|best)(?: (?:this|it|the))?(?: skill)?"
    r" (?:when|whenever|for|if|to|before|after|during|while|on|as|in|with|at|proactively|any time|anytime)\b",
    re.IGNORECASE,
)
# A sentence that can say nothing else.
_CLAUSE = lazy(
    r"(?:^|[.!?:;)]\s|\s[-\u2013\u2014]\s)[\"'(*_]{0,3}((?:Use|Invoke|Activate|Load|Apply|Run)(?: (?:this|it))?(?: skill)?"
    r"(?: (?:proactively|automatically|only|also))? (?:when|whenever|if|for|to|before|after|during|while|on)\b"
    r"|Triggers? (?:when|whenever|if|for|on)\b|When(?:ever)? (?:the |a )?users?\b|Whenever\b)",
    re.IGNORECASE,
)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a trigger clause that begins too late."""
    limit = context.config.limits.trigger_within
    description = " ".join(skill.description.split())
    if len(description) <= limit:
        return
    match = _CLAUSE.search(description)
    field = skill.field("description")
    if match is None or match.start(1) < limit or field is None or _EARLY.search(description, 0, limit):
        return
    clause = description[match.start(1) :]
    words = clause if len(clause) <= 40 else clause[:40].rsplit(" ", 1)[0]
    message = f"the description says when to use the skill only after {match.start(1)} characters: {words!r}"
    yield Hit(field.span, message, f"Move it forward, into the first {limit} characters; hosts may cut the rest.")
