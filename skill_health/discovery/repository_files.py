"""The files around skills that the walk keeps: manifests, hooks, commands, subagents, catalogues and scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_NAMES = frozenset(
    ".mcp.json AGENTS.md CLAUDE.md GEMINI.md README.md gemini-extension.json marketplace.json plugin.json hooks.json "
    "settings.json SHA256SUMS SHA256SUMS.txt sha256sums.txt checksums.txt checksums.sha256".split()
)
_ENDINGS = (".py", ".sh", ".sha256")
_MANIFEST_FOLDERS = (".claude-plugin", ".codex-plugin")
_PROMPTS = frozenset(("agents", "commands"))
# What belongs to the folder of a plugin, and to no skill in it.
_OF_PLUGINS = frozenset((".mcp.json", "gemini-extension.json", "marketplace.json", "plugin.json", "hooks.json"))


def is_repository_file(path: str, owned: bool = False) -> bool:
    """Whether a file can matter to a rule about repositories, by its path; `owned` is one in the folder of a skill."""
    folder, _, name = path.rpartition("/")
    return bool(repository_files(folder, (name,), owned))


def repository_files(folder: str, names: Iterable[str], owned: bool = False) -> Sequence[str]:
    """Those of the names in a folder that can matter to a rule about repositories."""
    parts = folder.split("/")
    prompts = not _PROMPTS.isdisjoint(parts)
    found = []
    for name in names:
        if owned and not prompts and name not in _OF_PLUGINS:
            continue
        wanted = name in _NAMES or name.endswith(_ENDINGS) or (prompts and name.endswith(".md"))
        if wanted and _is_placed(name, parts[-1]):
            found.append(name)
    if not found and not owned and "skills" in parts[:-1]:
        # One name is enough to know that a folder among skills holds files.
        found.extend(sorted(names)[:1])
    return found


def _is_placed(name: str, folder: str) -> bool:
    """Whether a file of this name is what it is called, by the folder that it stands in."""
    match name:
        case "plugin.json":
            return folder in _MANIFEST_FOLDERS
        case "marketplace.json":
            return folder == ".claude-plugin"
        case "hooks.json":
            return folder == "hooks"
        case "settings.json":
            return folder == ".claude"
    return True
