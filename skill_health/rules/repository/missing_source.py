"""A marketplace lists a plugin that is not there

## What
The `source` of an entry that is a path, where nothing is at that path, where it leads out of the marketplace, where it
is absolute, or where it does not begin with `./` (without a `pluginRoot`). So is a folder without a manifest, and
without anything else that makes a plugin.

## Why
The plugin is offered and cannot be installed. Folders are renamed and removed, and the list is not.

## Bad
```json
{ "name": "notes", "source": "./plugins/note" }       (the folder is plugins/notes)
```

## Good
```json
{ "name": "notes", "source": "./plugins/notes" }
```

## Fix
Correct the path, or remove the entry. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/plugins, "Marketplace reference" and "Manifest reference" (2026-11): paths are relative
to the root of the marketplace, begin with `./` and have no `..`.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._fold import fold
from skill_health.rules.repository._repository import CLAUDE, ListedPlugin, Marketplace, Repository, join

CODE = "RP005"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


_PARTS = (
    "skills", "commands", "agents", "hooks/hooks.json", ".mcp.json", ".lsp.json", "output-styles", "SKILL.md", "themes", "monitors",
    "workflows", "bin", "plugin.json", ".codex-plugin/plugin.json", "settings.json",
)  # fmt: skip
_KEYS = ("skills", "commands", "agents", "hooks", "mcpServers", "lspServers", "outputStyles")


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each source that leads to no plugin."""
    yield from fold(_problems(repository))


def _problems(repository: Repository) -> Iterator[Hit]:
    for market in repository.marketplaces:
        about = market.file.data.get("metadata")
        base = about.get("pluginRoot") if isinstance(about, dict) else None
        if isinstance(base, str) and not repository.context.exists(join(market.folder, base) or "."):
            message = f"`pluginRoot` names {quote(base)}, which is not there"
            yield Hit(market.file.span("metadata", "pluginRoot"), message, "correct the path", market.file.path)
        for entry in market.entries:
            if entry.folder is not None and (problem := _problem(repository, market, entry)):
                said, help_ = problem
                span = market.file.span("plugins", entry.at, "source")
                name = f"the source of {quote(entry.name)}" if entry.name else "the source of an entry"
                yield Hit(span, f"{name}, {quote(entry.data['source'])}, {said}", help_, market.file.path)


def _problem(repository: Repository, market: Marketplace, entry: ListedPlugin) -> tuple[str, str] | None:
    source, folder, files = str(entry.data["source"]), entry.folder or "", repository.context
    if source.startswith(("/", "~")) or source[1:3] == ":\\":
        return "is an absolute path", "write a path relative to the marketplace, beginning with ./"
    within = not market.folder or folder == market.folder or folder.startswith(market.folder + "/")
    if not within or folder.startswith("..") or files.leads_out(folder or "."):
        return "leads out of the marketplace", "name a folder within it"
    if not files.exists(folder or "."):
        return "is not there", "correct the path, or remove the entry"
    if not source.startswith("./") and source != "." and not _is_moved(market, source):
        return "does not begin with ./", f"write ./{source}"
    if folder and not _is_plugin(repository, entry, folder) and not _is_module(repository, folder):
        return "holds no plugin", f"add {CLAUDE} there, or remove the entry"
    return None


def _is_module(repository: Repository, folder: str) -> bool:
    """Whether a folder is that of a submodule, which is empty where it was not checked out."""
    lines = (repository.context.read(".gitmodules") or "").split("\n")
    return any(line.strip().removeprefix("path").strip(" =") == folder for line in lines)


def _is_moved(market: Marketplace, source: str) -> bool:
    about = market.file.data.get("metadata")
    return isinstance(about, dict) and isinstance(about.get("pluginRoot"), str) and not source.startswith("/")


def _is_plugin(repository: Repository, entry: ListedPlugin, folder: str) -> bool:
    if any(entry.data.get(key) for key in _KEYS):
        return True
    return any(repository.context.exists(f"{folder}/{part}") for part in (CLAUDE, *_PARTS))
