"""Which plugin a skill belongs to: hosts list it as `plugin:skill`, so that skills of two plugins may share a name.

As Claude Code has it (code.claude.com/docs/en/plugins-reference, 2026-11), a plugin's skills are those below its folder
`skills`, those below the folders that its manifest names, and a SKILL.md in the plugin's own folder where there is
neither. Its name is that of the manifest, else that of the marketplace's entry. Codex qualifies names in the same way.
"""

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from skill_health.core.boundary import Boundary

MANIFESTS = (".claude-plugin/plugin.json", ".codex-plugin/plugin.json")
MARKETPLACE = ".claude-plugin/marketplace.json"
FILES = ("plugin.json", "marketplace.json")
_LONGEST = 200


class _Plugin(NamedTuple):
    """A plugin's name, the folders that its skills lie below, and the one folder that is a skill itself, or ""."""

    name: str
    below: tuple[str, ...]
    alone: str = ""

    def holds(self, folder: str) -> bool:
        return folder == self.alone or any(folder == own or folder.startswith(own + os.sep) for own in self.below)


class Plugins:
    """The plugins of a collection, read when they are asked for, up to the top of the git repository."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._boundary = Boundary(root)
        self._known: dict[str, tuple[_Plugin, ...]] = {}

    def plugin_of(self, folder: str) -> str:
        """The name of the plugin that the skill in this folder (relative to the root) belongs to; "" for none."""
        place = os.path.normpath(os.path.join(self._root, folder))
        above = place
        while True:
            if above not in self._known:
                self._known[above] = tuple(_plugins_at(above, self._boundary))
            found = next((plugin.name for plugin in self._known[above] if plugin.holds(place)), "")
            if found or above == self._boundary.top or above == os.path.dirname(above):
                return found
            above = os.path.dirname(above)

    def qualify(self, folder: str, name: str) -> str:
        """The name by which hosts list the skill in this folder."""
        plugin = self.plugin_of(folder)
        return f"{plugin}:{name}" if plugin else name


def without_plugin(label: str) -> str:
    """The plain name in a label, which may be written as `plugin:skill`."""
    return label.rpartition(":")[2]


def _plugins_at(folder: str, boundary: Boundary) -> Iterator[_Plugin]:
    """What the manifest in a folder declares, and after it the entries of a marketplace there."""
    for manifest in MANIFESTS:
        own = _read(os.path.join(folder, manifest), boundary)
        if name := _name(own):
            listed = _listed(folder, own)
            yield _plugin(name, folder, [*listed, os.path.join(folder, "skills")] if listed else [])
            break
    market = _read(os.path.join(folder, MARKETPLACE), boundary)
    entries = market.get("plugins")
    for entry in entries if isinstance(entries, list) else ():
        name = _name(entry)
        place = _source(folder, market, entry) if name else None
        if place:
            yield _plugin(name, place, _listed(place, entry))


def _plugin(name: str, folder: str, below: list[str]) -> _Plugin:
    usual = os.path.join(folder, "skills")
    if below or os.path.isdir(usual):
        return _Plugin(name, tuple(below) or (usual,))
    return _Plugin(name, (), folder)


def _name(record: Any) -> str:
    name = record.get("name") if isinstance(record, dict) else None
    name = " ".join(name.split()) if isinstance(name, str) else ""
    return name if len(name) <= _LONGEST else ""


def _source(folder: str, market: dict[str, Any], entry: dict[str, Any]) -> str | None:
    """The folder that an entry's `source` leads to; None for one that is fetched from elsewhere."""
    source, about = entry.get("source"), market.get("metadata")
    if not isinstance(source, str):
        return None
    base = about.get("pluginRoot") if isinstance(about, dict) else None
    moved = _inside(folder, os.path.join(base, source)) if isinstance(base, str) else None
    return moved if moved and os.path.isdir(moved) else _inside(folder, source)


def _listed(folder: str, record: dict[str, Any]) -> list[str]:
    """The folders of skills that a record names."""
    given = record.get("skills")
    paths = given if isinstance(given, list) else [given]
    found = [_inside(folder, path) for path in paths if isinstance(path, str)]
    return [path for path in found if path]


def _inside(folder: str, path: str) -> str | None:
    """A path within a folder; None for one that leads out of it."""
    place = os.path.normpath(os.path.join(folder, path.lstrip("/")))
    return place if place == folder or place.startswith(folder.rstrip(os.sep) + os.sep) else None


def _read(path: str, boundary: Boundary) -> dict[str, Any]:
    """The object in a JSON file; an empty one where there is none in the repository."""
    raw = boundary.read_small(path)
    if raw is None:
        return {}
    import json

    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
