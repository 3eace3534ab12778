"""A subagent cannot be loaded

## What
Markdown files in the folder `agents` of a plugin and in `.claude/agents`: no frontmatter, frontmatter that is not
valid YAML, no `name` or no `description`, and a name that is not in lowercase letters, digits and hyphens (a warning).
In a plugin a missing name is information, as the name of the file then counts. Files in deeper folders and reference
texts without any frontmatter beside subagents are left alone.

## Why
The host skips the file: nobody can delegate to the subagent.

## Bad
```markdown
---
name: reviewer
---
You review code.
```

## Good
```markdown
---
name: reviewer
description: Reviews code. Use after each change.
---
You review code.
```

## Fix
Add what is missing. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/sub-agents (2026-11): `name` and `description` are required.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._forms import KEBAB
from skill_health.rules.repository._repository import MarkdownPrompt, Repository, above
from skill_health.skill.model import Span

CODE = "RP020"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


_MUST = (
    "no-frontmatter",
    "unclosed-frontmatter",
    "empty-frontmatter",
    "not-a-mapping",
    "yaml-error",
    "tab-indent",
    "colon-trap",
)


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report what keeps each subagent from being loaded."""
    prompts = [prompt for prompt in repository.prompts if prompt.kind == "agents"]
    headed = {prompt.home for prompt in prompts if prompt.head.frontmatter}
    for prompt in prompts:
        head = prompt.head
        defect = next((each for each in head.defects if each.kind in _MUST), None)
        if head.frontmatter is None:
            # A folder without any frontmatter holds texts of another kind.
            if prompt.home in headed and above(prompt.path, 1) == prompt.home and defect:
                yield Hit(defect.span, f"the subagent has no frontmatter: {defect.message}", _HELP, prompt.path)
            continue
        if defect:
            severity = Severity.WARNING if defect.kind == "colon-trap" else None
            yield Hit(defect.span, defect.message, defect.help, prompt.path, severity=severity)
            if defect.kind != "colon-trap":
                continue
        yield from _fields(prompt)
        if not head.has_text:
            message = "the subagent has no instructions"
            yield Hit(Span(1, 1), message, "write them below the frontmatter", prompt.path, severity=Severity.WARNING)


_HELP = "add `name` and `description` between two lines of ---"


def _fields(prompt: MarkdownPrompt) -> Iterator[Hit]:
    head = prompt.head
    name, description = head.field("name"), head.field("description")
    first = Span(1, 1)
    if name is None or name.value in ("", None):
        severity = Severity.INFO if prompt.plugin else None
        yield Hit(name.span if name else first, "the subagent has no `name`", _HELP, prompt.path, severity=severity)
    elif not isinstance(name.value, str):
        yield Hit(name.span, "the `name` of the subagent is not text", "put it in quotes", prompt.path)
    elif not KEBAB.fullmatch(name.value):
        message = f"the subagent is called {quote(name.value)}, not in lowercase letters, digits and hyphens"
        yield Hit(name.span, message, "rename it", prompt.path, severity=Severity.WARNING)
    if description is None or description.value in ("", None):
        yield Hit(description.span if description else first, "the subagent has no `description`", _HELP, prompt.path)
    elif not isinstance(description.value, str):
        yield Hit(description.span, "the `description` of the subagent is not text", "put it in quotes", prompt.path)
