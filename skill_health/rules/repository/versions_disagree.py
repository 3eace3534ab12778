"""Two manifests disagree on the version of a plugin

## What
`version` of an entry of a marketplace against that in the manifest of the plugin that it lists, and of the manifests
for several hosts in one folder (`.claude-plugin`, `.codex-plugin`, gemini-extension.json) against each other.

## Why
Claude Code takes the version of the manifest, and the list shows another: users are told of an update that they have,
or never get one that they were told of.

## Bad
```json
{ "name": "notes", "source": "./notes", "version": "1.1.0" }     (notes/.claude-plugin/plugin.json says 1.2.0)
```

## Good
```json
{ "name": "notes", "source": "./notes" }
```

## Fix
Leave the version out of the marketplace, or change both together. There is no automatic fix.

## Source
SHOULD · code.claude.com/docs/en/plugins, "Marketplace reference" and "Manifest reference" (2026-11): the manifest wins
over the entry.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.json_places import JsonPath
from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._json import JsonFile
from skill_health.rules.repository._repository import Repository, text_of

CODE = "RP007"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each place that disagrees with the plugin's own manifest."""
    for plugin in repository.plugins:
        gemini = plugin.inside("gemini-extension.json")
        others = [plugin.codex, repository.json(gemini) if gemini in repository.files else None]
        files = [file for file in (plugin.manifest, *others) if file and text_of(file.data.get("version"))]
        if not files:
            continue
        own = files[0]
        version = own.data["version"]
        for file in files[1:]:
            if file.data["version"] != version and not _is_gap(version):
                yield _hit(file, ("version",), file.data["version"], version, own)
        for entry in plugin.listed:
            other = text_of(entry.data.get("version"))
            if other and other != version and own is plugin.manifest and not _is_gap(version):
                yield _hit(entry.market, ("plugins", entry.at, "version"), other, version, own)


def _is_gap(version: str) -> bool:
    """Whether a release fills it in."""
    return version.startswith("0.0.0") or not version[:1].isdigit()


def _hit(file: JsonFile, path: JsonPath, here: str, there: str, own: JsonFile) -> Hit:
    message = f"the version is {quote(here)} here and {quote(there)} in {own.path}"
    return Hit(file.span(*path), message, "change both together", file.path)
