"""A plugin of the repository is in no marketplace

## What
A folder with a `.claude-plugin/plugin.json` that no entry of the repository's marketplace leads to, where the folder
beside it or most plugins are listed. A plugin within another one, a plugin beside which no other is listed, and a
repository without a marketplace are left alone.

## Why
Nobody can install it from there. It was added, or moved, and the list was forgotten.

## Bad
```json
plugins/notes/.claude-plugin/plugin.json              (marketplace.json lists plugins/mail alone)
```

## Good
```json
{ "name": "notes", "source": "./plugins/notes" }
```

## Fix
Add an entry for it. There is no automatic fix.

## Source
SHOULD · code.claude.com/docs/en/plugins, "Marketplace reference" and "Manifest reference" (2026-11).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Repository, above
from skill_health.skill.model import Span
from skill_health.text.patterns import lazy

CODE = "RP009"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

_SAMPLE = lazy(
    r"(?:\A|[/_-])(?:examples?|samples?|templates?|demo|tests?|wip|drafts?|archived?|deprecated)(?:[/_-]|\Z)", re.I
)


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each plugin that is not listed beside listed ones."""
    listed = {plugin.folder for plugin in repository.plugins if plugin.listed}
    names = {entry.name for market in repository.marketplaces for entry in market.entries}
    homes = Counter(above(folder, 1) for folder in listed if folder)
    for plugin in repository.plugins:
        home = above(plugin.folder, 1)
        if plugin.listed or not plugin.manifest or not plugin.folder or plugin.name in names or not homes[home]:
            continue
        if any(folder and plugin.folder.startswith(folder + "/") for folder in listed):
            continue
        markets = [m for m in repository.marketplaces if not m.folder or plugin.folder.startswith(m.folder + "/")]
        beside = [
            p for p in repository.plugins if p.manifest and p.folder and above(p.folder, 1) == home and not p.listed
        ]
        if markets and len(beside) <= max(1, homes[home] // 4) and not _SAMPLE.search(plugin.folder):
            name = quote(plugin.name or plugin.folder)
            message = f"the plugin {name} is not in {markets[0].file.path}, which lists {homes[home]} beside it"
            yield Hit(Span(1, 1), message, "add an entry for it", plugin.manifest.path)
