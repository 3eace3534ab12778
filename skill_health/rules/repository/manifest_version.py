"""A version is not a semantic one

## What
`version` of plugin.json, of an entry of a marketplace and of gemini-extension.json that is not MAJOR.MINOR.PATCH, with
a pre-release or build part where wanted.

## Why
Hosts compare versions to decide whether there is an update. What they cannot order is a different text or nothing to
them, and users stay at what they have.

## Bad
```json
{ "name": "notes", "version": "v1.2" }
```

## Good
```json
{ "name": "notes", "version": "1.2.0" }
```

## Fix
Write three numbers. There is no automatic fix.

## Source
SHOULD · code.claude.com/docs/en/plugins, "Marketplace reference" and "Manifest reference" (2026-11); semver.org 2.0.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skill_health.core.json_places import JsonPath
from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._forms import SEMVER
from skill_health.rules.repository._json import JsonFile
from skill_health.rules.repository._repository import CLAUDE, CODEX, Repository

CODE = "RP004"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each version that is not semantic."""
    for path in repository.named(CLAUDE, CODEX, "gemini-extension.json"):
        if file := repository.json(path):
            yield from _unordered(file, file.data.get("version"), ("version",))
    for market in repository.marketplaces:
        for entry in market.entries:
            if entry.folder is not None:
                yield from _unordered(market.file, entry.data.get("version"), ("plugins", entry.at, "version"))


def _unordered(file: JsonFile, version: Any, path: JsonPath) -> Iterator[Hit]:
    if isinstance(version, str) and version and not SEMVER.fullmatch(version):
        message = f"the version {quote(version)} is not MAJOR.MINOR.PATCH"
        yield Hit(file.span(*path), message, "write three numbers, such as 1.2.0", file.path)
