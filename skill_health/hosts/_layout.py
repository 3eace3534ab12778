"""What in the root of a collection may tell which hosts its skills are for. Every run looks: it must cost nothing."""

from __future__ import annotations

import os

from skill_health.core.files import is_there, read_small

_INNER = ("skills", "skill", "plugin.json", "marketplace.json")
_MANIFESTS = ("plugin.json", "extension.json", ".clawhubignore")
_PLUGIN, _SCHEMA = "plugin.json", b"agent-plugins.org/schemas/"


def read_layout(root: str) -> tuple[str, ...]:
    """What in the root of a collection may tell its hosts, sorted: their folders of skills and their manifests."""
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return ()
    found = [name for name in names if name.endswith(_MANIFESTS) and not (name == _PLUGIN and not _is_portable(root))]
    for name in names:
        if name[0] == "." and name != ".git":
            found += [f"{name}/{inner}" for inner in _INNER if is_there(os.path.join(root, name, inner), links=False)]
    return tuple(sorted(found))


def _is_portable(root: str) -> bool:
    """Whether plugin.json says that it is that of an Agent Plugin."""
    return _SCHEMA in (read_small(os.path.join(root, _PLUGIN)) or b"")
