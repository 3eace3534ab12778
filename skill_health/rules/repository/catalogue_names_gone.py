"""A list of the skills names one that is gone

## What
Lists and tables in README.md files outside of the skills of which at least three in four rows name a skill: a row
whose link leads nowhere, and a row without a link that names in code or bold what is no skill, plugin, command or
folder of the repository, where all others name skills.

## Why
Readers follow the link, or ask for the skill, and find nothing.

## Bad
```markdown
| [notes](skills/notes) | ... |     (the folder is gone)
```

## Good
```markdown
(no row)
```

## Fix
Remove the row, or correct it. There is no automatic fix.

## Source
opinion · practice of public collections, whose READMEs list their skills (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._catalogue import find_catalogues
from skill_health.rules.repository._repository import Repository, above
from skill_health.skill.model import Span

CODE = "RP030"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each row about a skill that is gone."""
    known = {part for path in (*repository.files, *repository.skills) for part in path.split("/")}
    known |= {plugin.name for plugin in repository.plugins}
    known |= {entry.name for market in repository.marketplaces for entry in market.entries}
    for catalogue in find_catalogues(repository):
        folders = {above(skill, 1) for skill in catalogue.known}
        strangers = [
            row for row in catalogue.rows if not row.target and row.name not in known and f"{row.name}.md" not in known
        ]
        for row in catalogue.rows:
            if row.target:
                place = row.target.removesuffix("/SKILL.md")
                gone = not row.target.startswith("..") and not repository.context.exists(row.target)
                if gone and (above(place, 1) in folders or row.target.endswith("SKILL.md")):
                    message = f"this row leads to {quote(row.target)}, which is not there"
                    yield Hit(Span(row.line, row.col), message, "remove the row, or correct it", catalogue.path)
            elif row in strangers and len(strangers) == 1 and len(catalogue.known) >= len(catalogue.rows) - 1:
                message = f"this row names {quote(row.name)}, and the repository has no such skill"
                yield Hit(Span(row.line, row.col), message, "remove the row, or correct it", catalogue.path)
