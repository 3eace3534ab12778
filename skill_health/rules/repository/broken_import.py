"""An instruction file imports a file that is not there

## What
Imports `@path` in CLAUDE.md, AGENTS.md and GEMINI.md outside of skills, relative to the file: with an ending such as
`.md`, or a path that begins with `./` or `../`, outside code and quotes, and at the beginning of a line, of a list
item or after a blank. A path in the user's home folder, and one that leaves the repository, are left alone, and so are
mentions of people and packages.

## Why
The host leaves the import out, and the instructions are missing.

## Bad
```markdown
@docs/styel.md
```

## Good
```markdown
@docs/style.md
```

## Fix
Correct the path, or remove the import. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/memory (imports); Gemini CLI, memory import processor (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Repository, above, join
from skill_health.skill.model import Span
from skill_health.text.patterns import lazy

CODE = "RP027"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


_IMPORT = lazy(
    r"(?<![\w`@/.(\[\"'])@(?P<path>[\w.][\w./-]*\.(?:md|mdx|txt|json|ya?ml|toml|mdc)|\.{1,2}/[\w./-]+)(?![\w/@-])"
)


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each import that leads nowhere."""
    for path in repository.named("CLAUDE.md", "AGENTS.md", "GEMINI.md"):
        text = repository.context.read(path)
        if text is None or "@" not in text:
            continue
        document = repository.context.document(path)
        for prose in document.prose if document else ():
            for match in _IMPORT.finditer(prose.plain):
                named = match["path"].rstrip(".")
                place = join(above(path, 1), named)
                if place.startswith("..") or repository.context.exists(place) or repository.context.leads_out(place):
                    continue
                line, col = document.position(prose, match.start()) if document else (1, 1)
                message = f"{quote('@' + named)} is imported, but not there"
                yield Hit(Span(line, col, line, col + len(named) + 1), message, "correct the path", path)
