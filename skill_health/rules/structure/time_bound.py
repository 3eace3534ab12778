"""A sentence is true only for a while.

## What
Prose that ties an instruction to a moment: "as of March 2025", "at the time of writing", "before August 2025", "until
July 2026", "currently in beta", "currently not supported", "coming soon", "not yet available", "recently renamed",
"the latest version is 4.2". Other uses of "currently" and "recently" ("the currently selected file", "what do you
currently use?") are left alone, and so are code and quotations of a user's question.

## Why
Nobody rereads a skill when the moment has passed, and an agent cannot tell that it has.

## Bad
```markdown
Before August 2025, use the v1 endpoint; after that, v2. Batch mode is currently in beta.
```

## Good
```markdown
Use the v2 endpoint. Batch mode needs the `--beta` flag; `tool --help` says whether it still does.

### Old patterns
The v1 endpoint answered the same requests until it was removed.
```

## Fix
Say what is true now and how to check it; move what no longer is to a section of old patterns.

## Source
SHOULD · Claude documentation, "Skill authoring best practices", section "Avoid time-sensitive information",
platform.claude.com (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "ST012"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True
_HINTS = (
    "as of ", "As of ", "time of ", "urrently ", "oming soon", "ot yet ", "ecently ", "ewly ", "atest ", " 201", " 202",
)  # fmt: skip
_AROUND = 25
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = rf"(?:{_MONTH} (?:\d{{1,2}},? )?20[12]\d|\d{{1,2}} {_MONTH} 20[12]\d)\b"
_DATE = rf"(?:{_DAY}|(?:early |late |mid-?|q[1-4] |the end of )?20[12]\d\b)"
_PHRASE = lazy(
    rf"\bas of (?:this writing|writing|now|today|{_DATE})"
    r"|\b(?:at|as of) (?:the |this )?time of (?:this )?writing\b"
    rf"|\b(?:before|after|until) {_DAY}"
    r"|\bcurrently (?:still )?(?:in )?\W{0,3}(?:\w{1,12} )?(?:beta|preview|alpha|experimental)\b"
    r"|\bcurrently (?:not (?:supported|available|implemented|possible)|unsupported|unavailable)\b"
    r"|\bcoming soon\b|\bnot yet (?:available|supported|released|implemented)\b"
    r"|\b(?:recently|newly) (?:added|introduced|released|renamed|deprecated|launched)\b"
    r"|\blatest (?:stable )?(?:version|release)(?: is|:)? \W{0,2}v?\d",
    re.IGNORECASE,
)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each phrase that dates the text, once per paragraph."""
    if not _likely(skill.text):
        return
    for prose in skill.body.prose:
        plain = prose.plain
        match = _PHRASE.search(plain)
        if match is None or "?" in plain[match.end() : match.end() + 80]:
            continue
        line, col = skill.body.position(prose, match.start())
        phrase = " ".join(prose.text[match.start() : match.end()].split())
        yield Hit(
            Span(line, col, line, col + len(phrase)),
            f"'{phrase}' will not stay true",
            "Say what is true now and how to check it; move what no longer is to a section of old patterns.",
        )


def _likely(text: str) -> bool:
    """Whether the phrase may occur: looks only around a few words, one of which every phrase contains."""
    for hint in _HINTS:
        at = text.find(hint)
        while at >= 0:
            if _PHRASE.search(text, max(0, at - _AROUND), at + 3 * _AROUND):
                return True
            at = text.find(hint, at + _AROUND)
    return False
