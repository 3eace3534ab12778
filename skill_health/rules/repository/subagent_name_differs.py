"""A subagent has another name than its file

## What
`name` in the frontmatter of a subagent against the name of its file, where at least three in four subagents of the
repository are called as their files are.

## Why
Claude Code goes by `name`. Anyone who looks for the file, or renames one of the two, misses the other.

## Bad
```text
agents/code-reviewer.md: name: reviewer
```

## Good
```text
agents/reviewer.md: name: reviewer
```

## Fix
Rename one of the two. There is no automatic fix.

## Source
SHOULD · code.claude.com/docs/en/sub-agents (2026-11): the name identifies the subagent, the file name does not have to
match.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Repository

CODE = "RP022"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each name that differs."""
    named = [
        (prompt, field, field.value == prompt.stem)
        for prompt in repository.prompts
        if prompt.kind == "agents"
        and (field := prompt.head.field("name"))
        and isinstance(field.value, str)
        and field.value
    ]
    same = sum(agree for _, _, agree in named)
    for prompt, field, agree in named:
        if not agree and same >= 0.75 * len(named):
            message = f"the subagent is called {quote(field.value)}, its file {prompt.stem}.md"
            yield Hit(field.span, message, "rename one of them", prompt.path)
