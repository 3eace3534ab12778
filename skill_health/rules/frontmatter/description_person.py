"""The description speaks in the first or second person.

## What
A sentence of the description starts with "I can", "We", "You can use this", "You are", "Let me", "Use me" or the
like. Imperatives ("Use when ...", "You must use this before ..."), "you" inside a sentence, quoted phrases of users and
anything after the word "example" are left alone.

## Why
The description appears in the system prompt beside those of all other skills. There "I" is the model and "you" is
nobody in particular; Anthropic's guide reports that a changing point of view makes skills harder to find.

## Bad
```markdown
---
name: release-notes
description: I can help you write release notes.
---
```

## Good
```markdown
---
name: release-notes
description: Writes release notes from merged pull requests. Use when a version is about to be published.
---
```

## Fix
Say what the skill does in the third person, and when to use it in the imperative.

## Source
SHOULD · Anthropic, "Skill authoring best practices", writing effective descriptions ("always write in third person"),
platform.claude.com (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import quote_value, readable
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

CODE = "FM018"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True
_QUOTED = lazy("\"[^\"]*\"|“[^“”]*”|`[^`]*`|«[^«»]*»|(?<![a-z])'[^']*'(?![a-z])")
# "I" needs a verb after it: it is a preposition in Danish and Swedish and an article in Italian.
_VERBS = (
    r"am|can|will|would|could|have|do|help|assist|provide|create|write|build|make|generate|analy[sz]e|review|check"
    r"|process|convert|turn|find|guide|teach|show|manage|handle|use|run|take|know|specialize|work"
)
_PERSON = lazy(
    rf"(?:^|[.!?]\s)\s*+(I (?:{_VERBS})\b|I['’](?:m|ll|ve|d) [a-z]+|We(?:['’](?:re|ll|ve|d))? [a-z]+"
    r"|You(?:['’](?:re|ll|ve|d))? (?!must\b|should\b|need to\b)[a-z]+|Let me\b|(?:Use|Ask|Call|Invoke|Give|Tell|Try) me\b)"
)
_NOT_SPEAKING = ("and", "or", "want", "need", "ask", "say", "mention")
_EXAMPLES = ("example", "e.g.", "phrase", "says", "prompts such as", "queries such as", "requests such as")


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report the first sentence in the first or second person."""
    field = skill.field("description")
    if field is None or field.tag != "str" or not _PERSON.search(field.value) or readable(skill) is None:
        return
    text = _QUOTED.sub(lambda found: "x" * len(found.group()), field.value)
    found = _PERSON.search(text)
    if found is None or found.group(1).split()[-1] in _NOT_SPEAKING:
        return
    before = text[: found.start(1)].lower()
    if not any(word in before for word in _EXAMPLES):
        message = (
            f"the description speaks in the first or second person: {quote_value(field.value[found.start(1) :], 40)}"
        )
        yield Hit(field.span, message, "Say what the skill does in the third person, and when in the imperative.")
