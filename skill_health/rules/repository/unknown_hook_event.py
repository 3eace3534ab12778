"""A hook waits for an event that no host has

## What
Names of events in `hooks/hooks.json`, in a manifest and in `.claude/settings.json` that neither Claude Code nor
another host with files of this name has. A misspelled one, also in another case, is an error.

## Why
The hook never runs, and nothing says so.

## Bad
```json
{ "hooks": { "PreToolCall": [ ... ] } }
```

## Good
```json
{ "hooks": { "PreToolUse": [ ... ] } }
```

## Fix
Use the name of an event. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/hooks (2026-11); names are case-sensitive.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._forms import CLAUDE_EVENTS, OTHER_EVENTS, near
from skill_health.rules.repository._repository import Repository

CODE = "RP013"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each unknown event."""
    for source in repository.hooks:
        for event, _ in source.items():
            if event in CLAUDE_EVENTS or event in OTHER_EVENTS:
                continue
            meant = near(event, CLAUDE_EVENTS)
            yield Hit(
                source.file.key_span(*source.path, event),
                f"no host has an event {quote(event)}",
                f"write {meant}" if meant else "use the name of an event, such as PreToolUse",
                source.file.path,
                severity=Severity.ERROR if meant else None,
            )
