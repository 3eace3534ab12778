"""The name of a plugin or marketplace is not in kebab-case

## What
`name` of plugin.json and marketplace.json, and of each entry of a marketplace that is a path: lowercase letters and
digits, with single hyphens between them. A name with spaces or slashes is an error, as hosts refuse it.

## Why
The name becomes the prefix of every command and skill of the plugin, and users type it. Claude Code refuses names with
spaces; other forms are refused by its marketplace sync.

## Bad
```json
{ "name": "My Notes" }
```

## Good
```json
{ "name": "my-notes" }
```

## Fix
Rename the plugin in its manifest and in every marketplace that lists it. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/plugins, "Marketplace reference" and "Manifest reference" (2026-11): unique identifier
in kebab-case, no spaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skill_health.core.json_places import JsonPath
from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._fold import fold
from skill_health.rules.repository._forms import KEBAB
from skill_health.rules.repository._json import JsonFile
from skill_health.rules.repository._repository import CLAUDE, CODEX, Repository, text_of
from skill_health.text.patterns import lazy

_RESERVED = frozenset(
    "claude-code-marketplace claude-code-plugins claude-plugins-official anthropic-marketplace anthropic-plugins agent-skills "
    "life-sciences knowledge-work-plugins".split()
)
_SIGNS = lazy(r"[^a-z0-9]+")

CODE = "RP003"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each name once, where the plugin itself gives it, else where it is listed."""
    yield from fold(_misnamed_anywhere(repository))


def _misnamed_anywhere(repository: Repository) -> Iterator[Hit]:
    own = {plugin.name for plugin in repository.plugins if plugin.manifest or plugin.codex}
    for path in repository.named(CLAUDE, CODEX):
        if file := repository.json(path):
            yield from _misnamed(file, file.data.get("name"), ("name",), "plugin")
    for market in repository.marketplaces:
        yield from _misnamed(market.file, market.file.data.get("name"), ("name",), "marketplace")
        if (
            text_of(market.file.data.get("name")) in _RESERVED
            and "anthropic" not in str(market.file.data.get("owner")).lower()
        ):
            message = f"the name {quote(market.file.data['name'])} is reserved for marketplaces of Anthropic; Claude Code refuses it"
            yield Hit(market.file.span("name"), message, "choose another", market.file.path, severity=Severity.ERROR)
        for entry in market.entries:
            if entry.folder is not None and entry.name not in own:
                yield from _misnamed(market.file, entry.name, ("plugins", entry.at, "name"), "plugin")


def _misnamed(file: JsonFile, name: Any, path: JsonPath, what: str) -> Iterator[Hit]:
    if not isinstance(name, str) or not name or KEBAB.fullmatch(name):
        return
    refused = any(sign.isspace() or sign in "/\\" for sign in name)
    better = "-".join(filter(None, (part.strip("-") for part in _SIGNS.split(name.lower()))))
    yield Hit(
        file.span(*path),
        f"the {what} is called {quote(name)}, which is not kebab-case" + ("; hosts refuse it" if refused else ""),
        f"call it {better}" if better else "use lowercase letters, digits and hyphens",
        file.path,
        severity=Severity.ERROR if refused else None,
    )
