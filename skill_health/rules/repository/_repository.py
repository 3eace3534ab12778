"""A repository as hosts see it: its plugins and marketplaces, and what each of them brings along.

As Claude Code has it (code.claude.com/docs/en/plugins, hooks, sub-agents and mcp, 2026-11); what is said of Codex and
Gemini CLI is in the rules that judge it. Each file is read once, when a rule looks at it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from skill_health.config.settings import Config
from skill_health.core.json_places import JsonPath
from skill_health.rules.repository._json import JsonFile
from skill_health.skill.model import Document
from skill_health.skill.parse import SkillHead, parse_head

CLAUDE, CODEX = ".claude-plugin/plugin.json", ".codex-plugin/plugin.json"
MARKETPLACE = ".claude-plugin/marketplace.json"
LISTS = ("skills", "commands", "agents", "outputStyles")
"""The keys of a manifest whose values are paths, or lists of them."""
FILES = ("hooks", "mcpServers", "lspServers")
"""The keys whose values are the path of a JSON file, a list of such, or what would stand in it."""


class RepositoryFiles(Protocol):
    """What is asked about files; every answer becomes part of the cache key. Paths are relative to the root."""

    config: Config

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""

    def leads_out(self, path: str) -> bool:
        """Whether a path leads out of the repository."""

    def read(self, path: str) -> str | None:
        """The text of a file; None if it is missing, binary or over 1 MiB."""

    def content(self, path: str) -> bytes | None:
        """The bytes of a file; None if it is missing or over 1 MiB."""

    def is_executable(self, path: str) -> bool:
        """Whether a file may be run by its name."""

    def document(self, path: str) -> Document | None:
        """The parsed Markdown of a file."""


class ListedPlugin(NamedTuple):
    """An entry of a marketplace: `folder` is where its `source` leads in the repository, None where it is elsewhere."""

    market: JsonFile
    at: int
    data: Mapping[str, Any]
    folder: str | None

    @property
    def name(self) -> str:
        """Its name, "" where it has none."""
        return text_of(self.data.get("name"))


class Marketplace(NamedTuple):
    """A `.claude-plugin/marketplace.json`; `folder` is what its sources are relative to."""

    file: JsonFile
    folder: str
    entries: tuple[ListedPlugin, ...]


class PluginRecord(NamedTuple):
    """What describes a plugin: a manifest, or the object in a marketplace that the keys `path` lead to."""

    file: JsonFile
    path: JsonPath
    data: Mapping[str, Any]


class Plugin(NamedTuple):
    """A plugin of the repository: its folder, its manifests, and the entries that list it."""

    folder: str
    manifest: JsonFile | None
    codex: JsonFile | None
    listed: tuple[ListedPlugin, ...]

    @property
    def name(self) -> str:
        """By what it says itself, else by what lists it."""
        named = [text_of(file.data.get("name")) for file in (self.manifest, self.codex) if file]
        return next(filter(None, (*named, *(entry.name for entry in self.listed))), "")

    @property
    def records(self) -> tuple[PluginRecord, ...]:
        """Its manifests, then its entries."""
        files = [PluginRecord(file, (), file.data) for file in (self.manifest, self.codex) if file]
        return (*files, *(PluginRecord(entry.market, ("plugins", entry.at), entry.data) for entry in self.listed))

    def inside(self, path: str) -> str:
        """A path within the plugin as one relative to the root; it begins with `..` where it leaves the repository."""
        return join(self.folder, path)

    def holds(self, path: str) -> bool:
        """Whether a path relative to the root is in the plugin."""
        return not self.folder or path == self.folder or path.startswith(self.folder + "/")


class DeclarationSource(NamedTuple):
    """The object of hooks or MCP servers in a file, and the keys that lead to it; `plugin` is None in a project's."""

    file: JsonFile
    path: JsonPath
    data: Any
    plugin: Plugin | None
    folder: str

    def items(self) -> Iterator[tuple[str, Any]]:
        """What it declares, by the names of events or servers; nothing where it is no object."""
        yield from self.data.items() if isinstance(self.data, dict) else ()


class MarkdownPrompt(NamedTuple):
    """A slash command or a subagent: a Markdown file with frontmatter. `home` is the folder that names are from."""

    kind: str
    home: str
    plugin: Plugin | None
    head: SkillHead

    @property
    def path(self) -> str:
        """The file, relative to the root."""
        return self.head.path

    @property
    def stem(self) -> str:
        """The name of the file without its ending."""
        return posixpath.basename(self.path).removesuffix(".md")


class Repository:
    """The files around the skills (`files`), the folders of the skills, and what is asked about them.

    `earlier` is the same in the state that a change is compared with, and `changed` the paths that differ since; both
    are only known to the gate.
    """

    def __init__(
        self,
        files: tuple[str, ...],
        skills: tuple[str, ...],
        context: RepositoryFiles,
        earlier: Repository | None = None,
        changed: tuple[str, ...] = (),
    ) -> None:
        self.files, self.skills, self.context = files, skills, context
        self.earlier, self.changed = earlier, changed
        self._read: dict[str, JsonFile | None] = {}

    def json(self, path: str) -> JsonFile | None:
        """A JSON file; None where there is none that can be read."""
        if path not in self._read:
            text = self.context.read(path)
            self._read[path] = None if text is None else JsonFile(path, text)
        return self._read[path]

    def named(self, *names: str) -> list[str]:
        """The files whose paths are one of these, or end in one of these below a folder."""
        return [path for path in self.files if path in names or path.endswith(tuple("/" + name for name in names))]

    @cached_property
    def marketplaces(self) -> tuple[Marketplace, ...]:
        """All marketplaces, by their paths."""
        return tuple(self._marketplace(file) for path in self.named(MARKETPLACE) if (file := self.json(path)))

    def _marketplace(self, file: JsonFile) -> Marketplace:
        folder = above(file.path, 2)
        entries = file.data.get("plugins")
        found = [
            ListedPlugin(file, at, entry, source_folder(folder, file.data, entry))
            for at, entry in enumerate(entries if isinstance(entries, list) else ())
            if isinstance(entry, dict)
        ]
        return Marketplace(file, folder, tuple(found))

    @cached_property
    def plugins(self) -> tuple[Plugin, ...]:
        """All plugins in the repository, by their folders: those with a manifest, and those that are listed."""
        listed: dict[str, list[ListedPlugin]] = {}
        for market in self.marketplaces:
            for entry in market.entries:
                if entry.folder is not None and self.context.exists(entry.folder or "."):
                    listed.setdefault(entry.folder, []).append(entry)
        folders = {above(path, 2) for path in self.named(CLAUDE, CODEX)}
        known = set(self.files)
        plugins = []
        for folder in sorted({*folders, *listed}):
            claude, codex = (self._manifest(folder, name, known) for name in (CLAUDE, CODEX))
            plugins.append(Plugin(folder, claude, codex, tuple(listed.get(folder, ()))))
        return tuple(plugins)

    def _manifest(self, folder: str, name: str, known: set[str]) -> JsonFile | None:
        path = join(folder, name)
        return self.json(path) if path in known else None

    @cached_property
    def manifests(self) -> tuple[JsonFile, ...]:
        """Every JSON file that a host reads, those that manifests name among them."""
        names = (CLAUDE, CODEX, MARKETPLACE, ".mcp.json", "gemini-extension.json", ".claude/settings.json")
        found = {path: file for path in self.named(*names) if (file := self.json(path))}
        found.update({source.file.path: source.file for source in self.hooks})
        found.update({source.file.path: source.file for source in self.servers})
        return tuple(found[path] for path in sorted(found))

    @cached_property
    def hooks(self) -> tuple[DeclarationSource, ...]:
        """Everything that declares hooks."""
        found = list(self._declared("hooks", "hooks/hooks.json"))
        for path in self.named(".claude/settings.json"):
            file = self.json(path)
            if file and "hooks" in file.data:
                found.append(DeclarationSource(file, ("hooks",), file.data["hooks"], None, above(path, 2)))
        return tuple(found)

    @cached_property
    def servers(self) -> tuple[DeclarationSource, ...]:
        """Everything that declares MCP servers."""
        found = list(self._declared("mcpServers", ".mcp.json"))
        known = {source.file.path for source in found}
        for path in self.named(".mcp.json", "gemini-extension.json"):
            file = self.json(path) if path not in known else None
            if file and "mcpServers" in file.data:
                found.append(DeclarationSource(file, ("mcpServers",), file.data["mcpServers"], None, above(path, 1)))
        return tuple(found)

    def _declared(self, key: str, usual: str) -> Iterator[DeclarationSource]:
        """What plugins declare under a key: in the usual file, in files that they name, or where the key stands."""
        seen = set()
        for plugin in self.plugins:
            paths = [plugin.inside(usual)]
            for record in plugin.records:
                for at, value in items_of(record.data.get(key)):
                    if isinstance(value, str):
                        paths.append(plugin.inside(value))
                    elif isinstance(value, dict):
                        inner = value.get(key)
                        more = (key,) if isinstance(inner, dict) else ()
                        place = (*record.path, key, *at, *more)
                        yield DeclarationSource(record.file, place, inner if more else value, plugin, plugin.folder)
            for path in paths:
                file = self.json(path) if path.endswith(".json") and path not in seen else None
                seen.add(path)
                if file is not None:
                    lead = (key,) if key in file.data else ()
                    data = file.data.get(key) if lead or key == "hooks" else file.data
                    yield DeclarationSource(file, lead, data, plugin, plugin.folder)

    @cached_property
    def prompts(self) -> tuple[MarkdownPrompt, ...]:
        """The commands and subagents that Claude Code loads, of plugins and of the project."""
        homes: dict[str, tuple[str, Plugin | None]] = {}
        projects = {
            f"/{path}".partition("/.claude/")[0].lstrip("/") for path in self.files if "/.claude/" in f"/{path}"
        }
        for kind in ("commands", "agents"):
            homes.update({join(folder, f".claude/{kind}"): (kind, None) for folder in projects})
        for plugin in self.plugins:
            if not plugin.manifest and not plugin.listed:
                continue
            for kind in ("commands", "agents"):
                records = [plugin.manifest.data if plugin.manifest else {}, *(entry.data for entry in plugin.listed)]
                own = [record.get(kind) for record in records]
                if not any(own):
                    homes[plugin.inside(kind)] = (kind, plugin)
                for value in own:
                    for _, path in items_of(value):
                        if isinstance(path, str):
                            homes[plugin.inside(path)] = (kind, plugin)
        found = {}
        for path in self.files:
            if not path.endswith(".md"):
                continue
            place = path
            while place and place not in homes:
                place = above(place, 1)
            if place in homes and posixpath.basename(path) not in ("README.md", "CLAUDE.md", "AGENTS.md"):
                kind, of = homes[place]
                found[path] = (kind, place if place != path else above(path, 1), of)
        return tuple(
            MarkdownPrompt(kind, home, of, parse_head((self.context.content(path) or b""), path))
            for path, (kind, home, of) in found.items()
        )  # fmt: skip


def above(path: str, levels: int) -> str:
    """The folder so many levels above a path; "" for the root."""
    for _ in range(levels):
        path = path.rpartition("/")[0]
    return path


def join(folder: str, path: str) -> str:
    """A path within a folder as one relative to the root, which is ""."""
    found = posixpath.normpath(posixpath.join(folder, path.replace("\\", "/").lstrip("/")))
    return "" if found == "." else found


def text_of(value: Any) -> str:
    """A value that is text, else ""."""
    return value if isinstance(value, str) else ""


def items_of(value: Any) -> Iterator[tuple[JsonPath, Any]]:
    """A value, or each of a list of values, with the position of each."""
    if isinstance(value, list):
        yield from (((at,), each) for at, each in enumerate(value))
    elif value is not None:
        yield (), value


def source_folder(folder: str, market: Mapping[str, Any], entry: Mapping[str, Any]) -> str | None:
    """The folder that an entry's `source` leads to; None for one that is fetched from elsewhere."""
    source, about = entry.get("source"), market.get("metadata")
    if not isinstance(source, str) or "://" in source or source.startswith("git@"):
        return None
    base = about.get("pluginRoot") if isinstance(about, dict) else None
    if isinstance(base, str) and not source.startswith(("./", "/")):
        return join(folder, posixpath.join(base.lstrip("/"), source))
    return join(folder, source)
