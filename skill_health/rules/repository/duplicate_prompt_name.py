"""Two commands or subagents of a plugin share a name

## What
Two subagents of one plugin, or of one project, with the same `name`; two slash commands with the same name and folder;
and a command with the name of a skill in the same plugin.

## Why
A name stands for one of them: the host loads one and drops the other, or lists both under one name.

## Bad
```text
agents/reviewer.md and agents/checker.md, both with name: reviewer
```

## Good
```text
agents/reviewer.md with name: reviewer, agents/checker.md with name: checker
```

## Fix
Rename one of them. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/sub-agents (2026-11): names are unique; code.claude.com/docs/en/skills: a skill takes
the place of a command of its name.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Repository, join, text_of
from skill_health.skill.model import Span

CODE = "RP023"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report the second of each name."""
    first: dict[tuple[str, str, str], str] = {}
    skills = {folder.lower() for folder in repository.skills}
    for prompt in repository.prompts:
        field = prompt.head.field("name")
        said = text_of(field.value) if field and prompt.kind == "agents" else ""
        inner = prompt.path[len(prompt.home) :].lstrip("/").removesuffix(".md")
        name = said or inner
        owner = prompt.plugin.folder if prompt.plugin else prompt.home
        other = first.setdefault((prompt.kind, f"{owner}:{bool(prompt.plugin)}", name.lower()), prompt.path)
        what = "subagent" if prompt.kind == "agents" else "command"
        span = field.span if said and field else Span(1, 1)
        if other != prompt.path:
            yield Hit(span, f"the {what} {quote(name)} has the name of {other}", "rename one of them", prompt.path)
        elif (
            prompt.plugin
            and prompt.kind == "commands"
            and join(prompt.plugin.folder, f"skills/{inner}").lower() in skills
        ):
            skill = join(prompt.plugin.folder, f"skills/{inner}")
            message = f"the command {quote(name)} has the name of the skill in {skill}, which takes its place"
            yield Hit(span, message, "rename one of them", prompt.path, severity=Severity.INFO)
