"""The frontmatter of a slash command cannot be read

## What
Markdown files in the folder `commands` of a plugin and in `.claude/commands`: frontmatter that is not valid YAML or
never closed, a key that stands twice (a warning), a `description` or `argument-hint` that is a mapping or a list of
several things (a warning), and an empty file. A command without frontmatter is a valid one; a missing description is
left alone.

## Why
The host loads the command without its description, its tools and its model, or not at all.

## Bad
```markdown
---
description: "Adds a note
allowed-tools: Read
---
Add $ARGUMENTS.
```

## Good
```markdown
---
description: Adds a note
allowed-tools: Read
---
Add $ARGUMENTS.
```

## Fix
Correct the frontmatter. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/slash-commands (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import kind_of
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Repository
from skill_health.skill.model import Span

CODE = "RP021"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


_MUST = ("unclosed-frontmatter", "not-a-mapping", "yaml-error", "tab-indent", "empty-file")
_TEXTS = ("description", "argument-hint", "model")


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report what is wrong in the head of each command."""
    for prompt in repository.prompts:
        if prompt.kind != "commands":
            continue
        for defect in prompt.head.defects:
            if defect.kind in _MUST:
                yield Hit(defect.span, defect.message, defect.help, prompt.path)
            elif defect.kind in ("colon-trap", "duplicate-key"):
                yield Hit(defect.span, defect.message, defect.help, prompt.path, severity=Severity.WARNING)
        if prompt.head.frontmatter and not prompt.head.has_text:
            message = "the command has no text"
            yield Hit(Span(1, 1), message, "write what is to be done", prompt.path, severity=Severity.WARNING)
        for key in _TEXTS:
            field = prompt.head.field(key)
            # Brackets around a hint make it a list for YAML, which hosts take as it is written.
            if field and (isinstance(field.value, dict) or (key != "argument-hint" and isinstance(field.value, list))):
                message = f"`{key}` of the command is {kind_of(field.value)}, not text"
                yield Hit(field.span, message, "put it in quotes", prompt.path, severity=Severity.WARNING)
