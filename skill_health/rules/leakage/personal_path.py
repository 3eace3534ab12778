"""A path names somebody's home folder

## What
Reports paths into a named person's home folder (`/Users/amiller/...`, `/home/bobby/...`, `C:\\Users\\cwong\\...`) in
SKILL.md and in the text files beside it. Left alone: `~` and `$HOME`, placeholders (`/home/user`, `/Users/you`,
`/home/<name>`, `/home/$USER`), the names of examples (alice, bob, john.doe), accounts of images and services
(`/home/runner`, `/home/ubuntu`, `/home/node` ...), and addresses such as `/users/42` or `https://host/home/news`.
Where the line or the one before calls it an example or a mistake, and in data files and test data, it is information.

## Why
The path exists on one machine. An agent that follows it fails or invents a replacement, and the path tells every reader
who wrote the skill.

## Bad
```markdown
Read `/Users/amiller/work/acme/schema.sql` first.
```

## Good
```markdown
Read `references/schema.sql` first.
```

## Fix
Bundle the file and name it relative to the skill, or write `~` or a placeholder. There is no automatic fix.

## Source
SHOULD · Agent Skills specification, "file references: use relative paths from the skill root", agentskills.io
(2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.leakage._bundled import all_texts, is_data, is_sample, span_of
from skill_health.skill.model import Skill
from skill_health.text.personal import find_home_folders

CODE = "LE002"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

_HELP = "Bundle the file and name it relative to the skill, or write ~ or a placeholder such as <name>."


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report the first mention of each home folder in each file, with the number of mentions."""
    for path, text in all_texts(skill, context):
        found: dict[str, list[tuple[int, int]]] = {}
        for match in find_home_folders(text):
            found.setdefault(match.group(), []).append(match.span())
        for folder, spans in sorted(found.items(), key=lambda item: item[1][0]):
            times = f", {len(spans)} times in this file" if len(spans) > 1 else ""
            sample = is_data(path) or all(is_sample(text, start, path) for start, _ in spans)
            message = f"path into somebody's home folder, {folder!r}{times}"
            yield Hit(span_of(text, *spans[0]), message, _HELP, path, severity=Severity.INFO if sample else None)
