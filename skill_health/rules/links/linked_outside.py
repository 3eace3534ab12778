"""A bundled file is a link that leads out of the repository.

## What
Symbolic links in the folder of a skill, to files or folders, that lead out of the git repository (out of the root of
the collection where there is no git), whether or not anything is there. Such a link is not followed: what it leads to
is not read, and is in no output. A link to another place in the repository is fine.

## Why
Nobody else has what is outside: in every clone and every installed copy the link leads nowhere, or to another file of
that name, such as somebody's keys.

## Bad
```markdown
skills/release-notes/references/style.md -> /home/ana/notes/style.md
```

## Good
```markdown
skills/release-notes/references/style.md -> ../../../shared/style.md
```

## Fix
Replace the link by the file. Not fixed automatically.

## Source
SHOULD · Agent Skills specification, "Directory structure" (a skill is a folder with all that it needs), agentskills.io
(2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill, Span

CODE = "LI017"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each link of the folder that leads out."""
    for path in skill.outside:
        message = f"{path} is a symbolic link that leads out of the repository; it was not followed"
        yield Hit(Span(1, 1), message, "replace the link by what it leads to, or remove it")
