"""Commands of hooks and MCP servers: which files of a plugin or project they run, and how."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from skill_health.core.json_places import JsonPath
from skill_health.rules.repository._repository import DeclarationSource, Plugin, Repository, join
from skill_health.skill.model import Span
from skill_health.text.patterns import lazy

_ROOT = lazy(
    r"\$(?:\{(?P<braced>CLAUDE_PLUGIN_ROOT|CLAUDE_PROJECT_DIR|PLUGIN_ROOT|extensionPath)(?::-[^}]{0,80})?\}|(?P<plain>CLAUDE_PLUGIN_ROOT|CLAUDE_PROJECT_DIR))"
    r"(?P<quote>[\"']?)(?P<path>(?:[/\\]|\$\{/\})[^\s\"';|&)<>,`]*)"
)
_LOOSE = lazy(r"(?<![\w./$}~-])\.{1,2}/[\w.-][\w./-]*\.(?:sh|py|js|mjs|cjs|ts|rb|pl|bash)(?![\w./-])")
_BUILT = frozenset("node_modules .venv venv dist build out target bin/debug __pycache__".split())
_SCRIPTS = (".sh", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".bash", ".ps1")
_PERHAPS = lazy(r"(?i)\b(?:if|when|where)\s+(?:it\s+|one\s+)?(?:is\s+)?(?:present|exists?|available|there)\b")
_UNCLEAR = lazy(r"[$*?{}\[\]<%]")


class ScriptMention(NamedTuple):
    """A file that a command names: `place` is relative to the root, `text` as it is written.

    It is `direct` where the command begins with it; `loose` is one that is relative to wherever the host was started.
    """

    place: str
    text: str
    direct: bool
    loose: bool = False


class DeclaredCommand(NamedTuple):
    """A command in a file (`where`), and the folder that its variables mean. `find_span` says where it stands."""

    where: str
    find_span: Callable[[], Span]
    text: str
    plugin: Plugin | None
    folder: str
    in_prose: bool = False

    def mentions(self) -> Iterator[ScriptMention]:
        """The files that it names by a variable or by a relative path; none that it leaves open."""
        text = self.text[:4096]
        start = len(text) - len(text.lstrip("\"' "))
        for match in _ROOT.finditer(text):
            rest = match["path"].replace("${/}", "/").replace("\\", "/").strip("/")
            project = "CLAUDE_PROJECT_DIR" in (match["braced"], match["plain"])
            if not rest or _UNCLEAR.search(rest) or (project and self.plugin) or self._tests(text, match.start()):
                continue
            # A text may speak of any file; a script is there to be run.
            if not self.in_prose or rest.endswith(_SCRIPTS):
                written = match[0].replace(match["quote"], "") if match["quote"] else match[0]
                yield ScriptMention(join(self.folder, rest), written, match.start() == start)
        for match in () if self.in_prose else _LOOSE.finditer(text):
            yield ScriptMention(join(self.folder, match[0]), match[0], match.start() == start, loose=True)

    @staticmethod
    def _tests(text: str, at: int) -> bool:
        """Whether a command asks whether the file is there before it runs it."""
        before = text[max(0, at - 8) : at]
        tested = any(sign in before for sign in ("[ -", "[[ -", "test -", "-f ", "-x ", "-e "))
        return tested or "|| true" in text[at:] or _PERHAPS.search(text) is not None


def is_made_later(place: str) -> bool:
    """Whether a path is that of something which is built or installed, and so in no repository."""
    return not _BUILT.isdisjoint(place.split("/"))


def hook_commands(repository: Repository) -> Iterator[DeclaredCommand]:
    """The commands of all hooks."""
    for source in repository.hooks:
        for event, groups in source.items():
            for at, group in enumerate(groups if isinstance(groups, list) else ()):
                hooks = group.get("hooks") if isinstance(group, dict) else None
                for n, hook in enumerate(hooks if isinstance(hooks, list) else ()):
                    if isinstance(hook, dict) and isinstance(hook.get("command"), str):
                        yield _declared(source, (event, at, "hooks", n), hook)


def server_commands(repository: Repository) -> Iterator[DeclaredCommand]:
    """The commands of all MCP servers, each with its arguments."""
    for source in repository.servers:
        for name, server in source.items():
            # A folder of its own is often that of the user's project.
            if isinstance(server, dict) and isinstance(server.get("command"), str) and not server.get("cwd"):
                yield _declared(source, (name,), server)


def prompt_commands(repository: Repository) -> Iterator[DeclaredCommand]:
    """The lines of slash commands and subagents of plugins that name something in their plugin."""
    for prompt in repository.prompts:
        if prompt.plugin and "CLAUDE_PLUGIN_ROOT" in prompt.head.text:
            for n, line in enumerate(prompt.head.lines, 1):
                if "CLAUDE_PLUGIN_ROOT" in line:
                    yield DeclaredCommand(
                        prompt.path, partial(Span, n, 1), line, prompt.plugin, prompt.plugin.folder, True
                    )


def _declared(source: DeclarationSource, path: JsonPath, declared: Mapping[str, Any]) -> DeclaredCommand:
    arguments = declared.get("args")
    words = [each for each in arguments if isinstance(each, str)] if isinstance(arguments, list) else []
    find_span = partial(source.file.span, *source.path, *path, "command")
    text = " ".join([declared["command"], *words])
    return DeclaredCommand(source.file.path, find_span, text, source.plugin, source.folder)


def shebang(data: bytes | None) -> str:
    """The interpreter that the first line of a script names, or ""."""
    if not data or not data.startswith(b"#!"):
        return ""
    words = data[2:200].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    return posixpath.basename(words[0]) if words else ""
