"""The matcher of a hook is no valid pattern

## What
`matcher` of a group of hooks that is not a regular expression: an unmatched bracket or parenthesis, or a
repetition of nothing, such as `*Edit`. `*` alone and "" match everything. A matcher of tools that names one in another
case, such as `bash`, is a warning.

## Why
The hook matches nothing, or everything.

## Bad
```json
{ "matcher": "Edit|Write(", "hooks": [ ... ] }
```

## Good
```json
{ "matcher": "Edit|Write", "hooks": [ ... ] }
```

## Fix
Correct the pattern. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/hooks (2026-11): the matcher is a regular expression, case-sensitive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.core.json_places import JsonPath
from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._forms import TOOLS
from skill_health.rules.repository._repository import DeclarationSource, Repository

CODE = "RP014"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


_TOOL_EVENTS = frozenset("PreToolUse PostToolUse PostToolUseFailure PermissionRequest PermissionDenied".split())
_LONGEST = 1000


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each pattern that is none, and names of tools in the wrong case."""
    for source in repository.hooks:
        for event, groups in source.items():
            for at, group in enumerate(groups if isinstance(groups, list) else ()):
                matcher = group.get("matcher") if isinstance(group, dict) else None
                if isinstance(matcher, str) and matcher not in ("", "*") and len(matcher) <= _LONGEST:
                    yield from _flaws(source, (*source.path, event, at, "matcher"), matcher, event)


def _flaws(source: DeclarationSource, path: JsonPath, matcher: str, event: str) -> Iterator[Hit]:
    span, place = source.file.span(*path), source.file.path
    try:
        # Named groups are written in another way there.
        re.compile(matcher.replace("(?<", "(?P<") if "(?<" in matcher and "(?<=" not in matcher else matcher)
    except re.error as error:
        message = f"the matcher {quote(matcher)} is not a regular expression: {error.msg}"
        yield Hit(span, message, "correct the pattern", place)
        return
    except (RecursionError, OverflowError):
        return
    lower = {tool.lower(): tool for tool in TOOLS}
    for word in map(str.strip, matcher.split("|") if event in _TOOL_EVENTS else ()):
        meant = lower.get(word.lower(), word)
        if word != meant:
            message = f"the matcher names {quote(word)}; the tool is called {meant}"
            yield Hit(span, message, f"write {meant}", place, severity=Severity.WARNING)
