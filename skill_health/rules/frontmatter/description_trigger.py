"""The description does not say when to use the skill.

## What
The description contains nothing like "use when", "whenever", "if the user", "before", "for tasks that", "useful for",
"helps" or "triggers". Left alone: skills that only a user calls (`disable-model-invocation: true`), slash commands (a
`command` key, a description that begins with a command or says "slash command", a title such as `# /ship:run`), skills
with a `when_to_use` field, descriptions not in Latin script, and whatever `description-artefact` or
`description-repeats-name` reports.

## Why
The description answers one question for the host: load this skill for this request or not? A list of abilities leaves
the answer to chance. About a third of public skills have no such clause; many of them work, so this is information.

## Bad
```markdown
---
name: release-notes
description: Release notes from merged pull requests, grouped by kind, with thanks.
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
Add a sentence "Use when ..." with the words that users say, early in the description.

## Source
SHOULD · Agent Skills specification, "description field" ("what the skill does and when to use it"), agentskills.io
(2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._leftovers import is_leftover
from skill_health.rules.frontmatter._names import repeats
from skill_health.rules.frontmatter._shared import readable
from skill_health.skill.measure import has_trigger
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

CODE = "FM019"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True
# A clause that says when not to use the skill.
_NEGATED = lazy(
    r"(?:\b(?:do not|don['\u2019]t|never) (?:use|trigger|activate|invoke|apply|load|run)\b"
    r"|\bnot (?:(?:intended|meant|suited|suitable|made) )?(?:for|to be used|when)\b)[^.!?;\n]{0,400}",
    re.IGNORECASE,
)
# The name of a command, not a path: /ship, /ship:run.
_COMMAND = lazy(r"`?/[a-z][\w-]{0,40}(?::[\w-]{1,40})?(?=[\s`]|$)", re.IGNORECASE)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report a description without a trigger clause."""
    field = skill.field("description")
    if field is None or field.tag != "str" or not field.value.strip() or has_trigger(_NEGATED.sub("", field.value)):
        return
    manual = skill.field("disable-model-invocation")
    if skill.field("when_to_use") or (manual and manual.value is True) or readable(skill) is None:
        return
    if not (repeats(field.value, skill.name) or is_leftover(field.value) or _is_command(skill, field.value)):
        yield Hit(field.span, "the description does not say when to use the skill", 'Add a sentence "Use when ...".')


def _is_command(skill: Skill, description: str) -> bool:
    """Whether the skill declares itself a slash command, which a user calls by name."""
    if skill.field("command") or "slash command" in description.lower() or _COMMAND.match(description.lstrip()):
        return True
    title = skill.body.headings[0].title if skill.body.headings else ""
    return _COMMAND.match(title) is not None
