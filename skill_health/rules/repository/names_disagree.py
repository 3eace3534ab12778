"""A marketplace and a plugin disagree on its name

## What
The name of an entry of a marketplace against `name` in the manifest of the plugin that its `source` leads to, and the
names in `.claude-plugin/plugin.json` and `.codex-plugin/plugin.json` of one plugin. A plugin that is listed more than
once may have other names than its own.

## Why
Users install it under one name and find its skills and commands under another.

## Bad
```json
{ "name": "note-taking", "source": "./notes" }        (notes/.claude-plugin/plugin.json says "notes")
```

## Good
```json
{ "name": "notes", "source": "./notes" }
```

## Fix
Use one name. There is no automatic fix.

## Source
SHOULD · code.claude.com/docs/en/plugins, "Marketplace reference" and "Manifest reference" (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Repository, text_of

CODE = "RP006"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report the entry, or the second manifest."""
    for plugin in repository.plugins:
        own = text_of(plugin.manifest.data.get("name")) if plugin.manifest else ""
        if plugin.manifest and plugin.codex and own:
            other = text_of(plugin.codex.data.get("name"))
            if other and other != own:
                message = f"this plugin is {quote(other)} here and {quote(own)} in {plugin.manifest.path}"
                yield Hit(plugin.codex.span("name"), message, "use the same name", plugin.codex.path)
        for market in {entry.market.path: entry.market for entry in plugin.listed}.values():
            entries = [entry for entry in plugin.listed if entry.market is market and entry.name]
            if (
                plugin.manifest
                and own
                and entries
                and all(entry.name != own for entry in entries)
                and len(entries) == 1
            ):
                message = (
                    f"the entry is called {quote(entries[0].name)}, the plugin {quote(own)} ({plugin.manifest.path})"
                )
                yield Hit(market.span("plugins", entries[0].at, "name"), message, "use the same name", market.path)
