"""A marketplace lists two plugins of one name

## What
Two entries of one marketplace with the same name, in whatever case, and two plugins of one name in different folders
that the same marketplace lists.

## Why
A name stands for one plugin: of two entries the host takes one, or refuses the marketplace.

## Bad
```json
[{ "name": "notes", "source": "./notes" }, { "name": "notes", "source": "./notes-2" }]
```

## Good
```json
[{ "name": "notes", "source": "./notes" }, { "name": "notes-2", "source": "./notes-2" }]
```

## Fix
Rename one, or remove it. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/plugins, "Marketplace reference" and "Manifest reference" (2026-11): names are unique
within a marketplace.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import ListedPlugin, Plugin, Repository, text_of

CODE = "RP008"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report the second entry of each name, and the second plugin."""
    for market in repository.marketplaces:
        first: dict[str, ListedPlugin] = {}
        for entry in market.entries:
            known = first.setdefault(entry.name.lower(), entry)
            if entry.name and known is not entry:
                line = market.file.span("plugins", known.at, "name").line
                span = market.file.span("plugins", entry.at, "name")
                yield Hit(
                    span,
                    f"the name {quote(entry.name)} is that of the entry on line {line}",
                    "rename one",
                    market.file.path,
                )
        own: dict[str, Plugin] = {}
        for plugin in repository.plugins:
            name = text_of(plugin.manifest.data.get("name")) if plugin.manifest else ""
            if not plugin.manifest or not name or not any(entry.market is market.file for entry in plugin.listed):
                continue
            same = own.setdefault(name, plugin)
            if same is not plugin and same.manifest:
                message = f"the plugin is called {quote(name)}, as is that in {same.folder or 'the root'}"
                yield Hit(plugin.manifest.span("name"), message, "rename one", plugin.manifest.path)
