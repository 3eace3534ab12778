"""A marketplace describes a plugin in other words than the plugin

## What
`description` of an entry of a marketplace that differs from that in the manifest of the plugin, by more than spaces
and a full stop. Opt-in: many write a short and a long one on purpose.

## Why
Users read one before they install the plugin and the other after it; who corrects one forgets the other.

## Bad
```json
{ "name": "notes", "source": "./notes", "description": "Takes notes" }          (notes says "Finds notes")
```

## Good
```json
{ "name": "notes", "source": "./notes", "description": "Finds notes" }
```

## Fix
Use one text. There is no automatic fix.

## Source
opinion · code.claude.com/docs/en/plugins, Marketplace reference (2026-11): the entry may leave it out.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._fold import fold
from skill_health.rules.repository._repository import ListedPlugin, Repository, text_of

CODE = "RP034"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True

_FEWEST = 2
_HELP = "use the same text"


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each entry that differs."""
    yield from fold(_differing(repository))


def _differing(repository: Repository) -> Iterator[Hit]:
    pairs: dict[str, list[tuple[ListedPlugin, bool]]] = {}
    for plugin in repository.plugins:
        own = _plain(plugin.manifest.data.get("description")) if plugin.manifest else ""
        for entry in plugin.listed:
            other = _plain(entry.data.get("description"))
            if own and other:
                pairs.setdefault(entry.market.path, []).append((entry, own == other))
    for listed in pairs.values():
        same = sum(agree for _, agree in listed)
        for entry, agree in listed:
            if not agree and same >= max(_FEWEST, 0.75 * len(listed)):
                span = entry.market.span("plugins", entry.at, "description")
                message = f"the entry {quote(entry.name)} is described differently in the manifest of the plugin"
                yield Hit(span, message, _HELP, entry.market.path)


def _plain(value: object) -> str:
    return " ".join(text_of(value).split()).rstrip(".").casefold()
