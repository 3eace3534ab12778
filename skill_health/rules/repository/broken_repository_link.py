"""An instruction file or command links to what is not there

## What
Relative Markdown links that lead to nothing in the repository: in AGENTS.md, CLAUDE.md and GEMINI.md outside of
skills, in the README.md of the repository and of its plugins, in slash commands and in subagents. Links of skills are
judged by the family `links`. Left alone are links that leave the repository, placeholders, addresses, what is built
later, and rows of lists of skills, which RP030 judges.

## Why
The reader, or the agent, is sent to a file that was moved or removed.

## Bad
```markdown
See [the rules](docs/ruels.md).
```

## Good
```markdown
See [the rules](docs/rules.md).
```

## Fix
Correct the link, or remove it. There is no automatic fix.

## Source
SHOULD · CommonMark 0.31.2, links; the practice of public collections (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from skill_health.core.boundary import upward
from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._commands import is_made_later
from skill_health.rules.repository._fold import fold
from skill_health.rules.repository._repository import Repository, above, join
from skill_health.skill.model import Span
from skill_health.text.patterns import lazy

CODE = "RP038"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


_LINK = lazy(r"\]\(<?(?P<target>[^)\s>#?]+)")
_UNCLEAR = lazy(
    r"[{}$<>*|`]|\.\.\.|^(?:[a-z][\w+.-]*:|/|#|mailto|url\b|link\b|path[/_-]|path$)|^[A-Z_]+$|\byour\b", re.I
)


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each link that leads nowhere."""
    yield from fold(_lost_links(repository))


def _lost_links(repository: Repository) -> Iterator[Hit]:
    skills = set(repository.skills)
    plugins = {"", *(plugin.folder for plugin in repository.plugins)}
    instructions = repository.named("AGENTS.md", "CLAUDE.md", "GEMINI.md")
    paths = [path for path in instructions if skills.isdisjoint(upward(above(path, 1)))]
    paths += [path for path in repository.named("README.md") if above(path, 1) in plugins - skills]
    for path in dict.fromkeys((*paths, *(prompt.path for prompt in repository.prompts))):
        text = repository.context.read(path)
        if text is None or "](" not in text:
            continue
        lost = {match["target"] for match in _LINK.finditer(text) if _is_lost(match["target"], path, repository)}
        # Most files have none, and need not be parsed.
        document = repository.context.document(path) if lost else None
        seen = set()
        for link in document.links if document else ():
            target = link.target.split("#", 1)[0].split("?", 1)[0]
            if target in lost and target not in seen and not _is_of_list(link.target):
                seen.add(target)
                message = f"this links to {quote(target)}, which is not there"
                yield Hit(
                    Span(link.line, link.col, link.line, link.end_col), message, "correct the link, or remove it", path
                )


def _is_lost(target: str, path: str, repository: Repository) -> bool:
    if _UNCLEAR.search(target) or is_made_later(target) or not ("/" in target or "." in target):
        return False
    place = join(above(path, 1), unquote(target))
    if place.startswith("..") or repository.context.leads_out(place):
        return False
    return not repository.context.exists(place or ".")


def _is_of_list(target: str) -> bool:
    return "/skills/" in f"/{target}"
