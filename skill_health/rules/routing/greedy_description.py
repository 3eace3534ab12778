"""The description claims every request

## What
Reports descriptions that claim whatever the user asks: "use for any task", "helps with anything", "in every
conversation", "general-purpose assistant". A claim that is narrowed at once ("any request involving GStreamer", "all
tasks that touch the schema") is left alone.

## Why
Such a skill is loaded for requests that belong to its siblings, and costs its tokens every time. If it is broad on
purpose, it belongs in the host's standing instructions.

## Bad
```markdown
description: Helps with anything. Use for any task.
```

## Good
```markdown
description: Splits a large change into reviewable commits. Use when a diff is too large to review.
```

## Fix
Name the objects and situations that the skill is for. There is no automatic fix.

## Source
opinion · none of 529 public skills of four publishers claims every request (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

CODE = "RT006"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

# The claim must end there: what follows would narrow it.
_END = r"(?=\s*(?:[.,;:!)\]]|$|[-–—]{1,2}\s|and\b|or\b|regardless\b|no matter\b))"
_ALL = (
    r"(?:any|every|all)(?: and (?:all|every|any))?(?: (?:kinds?|types?|sorts?) of)?(?: of)?(?: the)?"
    r"(?: (?:user|user's|users'|incoming|new|possible|single|other))? "
    r"(?:requests?|tasks?|questions?|prompts?|messages?|conversations?|quer(?:y|ies)|problems?|turns?|responses?|interactions?"
    rf"|inputs?){_END}"
)
_GREEDY = lazy(
    r"\b(?:(?:use[ds]?|invoked?|triggers?|triggered|activated?|activates|load(?:ed|s)?|runs?|appl(?:y|ies)|useful|suitable|needed)"
    r"(?: this| the| it)?(?: skill)?(?: proactively| always| automatically)?"
    rf" (?:for|on|in|with|during|before|after|when starting|when answering|at the start of) {_ALL}"
    rf"|(?:handles?|answers?|solves?|helps?(?: you| users?| the user)? with|assists?(?: you| users?| the user)? with) {_ALL}"
    r"|(?:helps?(?: you| users?| the user)? (?:with|do)|handles?) (?:just about |almost |literally )?"
    rf"(?:anything|everything|whatever){_END}"
    rf"|(?:use|used|useful|good) (?:this skill |it )?(?:for|with) (?:just about |almost |literally )?(?:anything|everything|whatever){_END}"
    r"|(?:general|all)[- ]purpose (?:assistant|helper|agent|skill)\b"
    r"|(?:no matter|regardless of) what (?:the user|users?|you) (?:asks?|wants?|needs?|says?)\b)",
    re.IGNORECASE,
)
_WORDS = ("any", "every", "all ", "all-", "whatever", "what the user", "what you", "purpose")
_DENIED = lazy(r"\b(?:not|never|don't|isn't|no)\b[^.;]*$", re.IGNORECASE)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report the first greedy claim."""
    field = skill.field("description")
    if field is None:
        return
    description = " ".join(skill.description.split())
    if not any(word in description.lower() for word in _WORDS):
        return
    for match in _GREEDY.finditer(description):
        if not _DENIED.search(description[max(0, match.start() - 60) : match.start()]):
            message = f"the description claims every request: {match.group()!r}"
            yield Hit(field.span, message, "Name the objects and the situations that the skill is for.")
            return
