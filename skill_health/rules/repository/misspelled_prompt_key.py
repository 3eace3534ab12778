"""A key of a command or subagent is misspelled, or that of the other

## What
Keys in the frontmatter of slash commands and subagents that are nearly the name of a key that hosts read;
`allowed-tools` in a subagent without `tools`, and `tools` in a command without `allowed-tools`. Unknown keys that
resemble nothing are left alone.

## Why
Hosts pass over keys that they do not know: the tools are not limited, the description is missing.

## Bad
```markdown
---
name: reviewer
descripton: Reviews code.
---
```

## Good
```markdown
---
name: reviewer
description: Reviews code.
---
```

## Fix
Correct the key. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/sub-agents and /slash-commands (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Repository

CODE = "RP037"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


_KEYS = {
    "agents": frozenset(
        "name description tools disallowedTools model permissionMode maxTurns skills mcpServers hooks memory background effort "
        "isolation color initialPrompt".split()
    ),
    "commands": frozenset(
        "name description argument-hint allowed-tools disallowed-tools model effort disable-model-invocation user-invocable "
        "arguments context agent hooks when_to_use paths shell".split()
    ),
}
_OTHER = {"agents": ("allowed-tools", "tools"), "commands": ("tools", "allowed-tools")}
_PLURALS = frozenset(("skill", "tool", "hook", "path", "names", "models", "agents", "colors"))


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each key that means another."""
    for prompt in repository.prompts:
        fields = prompt.head.frontmatter.fields if prompt.head.frontmatter else ()
        keys = {field.key for field in fields}
        known = _KEYS[prompt.kind]
        wrong, right = _OTHER[prompt.kind]
        for field in fields:
            meant = right if field.key == wrong and right not in keys else ""
            if not meant and field.key not in known and field.key not in _PLURALS:
                meant = next(iter(get_close_matches(field.key.lower(), sorted(known), 1, 0.85)), "")
            if meant and meant not in keys and meant != field.key:
                message = f"hosts do not read `{field.key}` here, but `{meant}`"
                yield Hit(field.key_span, message, f"write {meant}", prompt.path)
