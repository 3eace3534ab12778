"""A manifest names a file or folder that is not there

## What
The paths under `skills`, `commands`, `agents`, `outputStyles`, `hooks`, `mcpServers` and `lspServers` in a plugin's
manifest or in its entry of a marketplace, icons and logos under `interface` in a Codex manifest, and `contextFileName`
of a Gemini extension: what is not there, what leaves the plugin (`..`), what is absolute, and what does not begin with
`./`. A `hooks/hooks.json` that is named though it is loaded anyway is left alone.

## Why
The host skips the component, or refuses the plugin; with `..` it works in the repository and breaks once installed, as
only the folder of the plugin is copied.

## Bad
```json
{ "name": "notes", "skills": "./skill/" }             (the folder is skills)
```

## Good
```json
{ "name": "notes", "skills": "./skills/" }
```

## Fix
Correct the path, or remove it. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/plugins, "Marketplace reference" and "Manifest reference" (2026-11): paths are relative
to the plugin's root and begin with `./`; files outside of it are not copied.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.json_places import JsonPath
from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._fold import fold
from skill_health.rules.repository._json import JsonFile
from skill_health.rules.repository._repository import FILES, LISTS, Plugin, Repository, above, items_of, join

CODE = "RP010"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


_PICTURES = ("logo", "logoDark", "composerIcon", "icon", "screenshots")


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each path once per manifest."""
    yield from fold(_problems(repository))


def _problems(repository: Repository) -> Iterator[Hit]:
    for plugin in repository.plugins:
        for file, lead, data in plugin.records:
            for key in (*LISTS, *FILES):
                for at, path in items_of(data.get(key)):
                    if isinstance(path, str) and path:
                        yield from _problem(repository, plugin, file, (*lead, key, *at), path)
        about = plugin.codex.data.get("interface") if plugin.codex else None
        if plugin.codex and isinstance(about, dict):
            for key in _PICTURES:
                for at, path in items_of(about.get(key)):
                    if isinstance(path, str) and "://" not in path and not path.startswith("data:"):
                        yield from _problem(repository, plugin, plugin.codex, ("interface", key, *at), path, loose=True)
    for path in repository.named("gemini-extension.json"):
        gemini = repository.json(path)
        for at, name in items_of(gemini.data.get("contextFileName") if gemini else None):
            if gemini and isinstance(name, str) and not repository.context.exists(join(above(path, 1), name) or "."):
                message = f"`contextFileName` names {quote(name)}, which is not there"
                yield Hit(gemini.span("contextFileName", *at), message, "correct the path", path)


def _problem(
    repository: Repository, plugin: Plugin, file: JsonFile, at: JsonPath, path: str, loose: bool = False
) -> Iterator[Hit]:
    place, key = plugin.inside(path), next(part for part in at[::-1] if isinstance(part, str))
    if "$" in path or "*" in path or (path.endswith((".mcpb", ".dxt")) and "://" in path):
        return
    if path.startswith(("/", "~")) or path[1:3] == ":\\":
        yield Hit(file.span(*at), f"`{key}` has the absolute path {quote(path)}", "begin it with ./", file.path)
    elif not plugin.holds(place) or place.startswith(".."):
        message = f"`{key}` names {quote(path)}, which is outside the plugin"
        yield Hit(file.span(*at), message, "only the folder of the plugin is installed: move it there", file.path)
    elif not repository.context.exists(place or "."):
        # Where everybody looks anyway the key promises nothing.
        severity = Severity.INFO if file is plugin.codex and path.strip("./") == key else None
        message = f"`{key}` names {quote(path)}, which is not there"
        yield Hit(file.span(*at), message, "correct the path", file.path, severity=severity)
    elif key == "skills" and not any(
        skill == place or not place or skill.startswith(place + "/") for skill in repository.skills
    ):
        if not repository.context.exists(join(place, "SKILL.md")):
            message = f"`skills` names {quote(path)}, which holds no skill"
            yield Hit(
                file.span(*at),
                message,
                "add a SKILL.md there, or correct the path",
                file.path,
                severity=Severity.WARNING,
            )
    elif not path.startswith("./") and path != "." and not loose and file is not plugin.codex:
        message = f"`{key}` has the path {quote(path)}, which does not begin with ./"
        yield Hit(file.span(*at), message, f"write ./{path}", file.path)
