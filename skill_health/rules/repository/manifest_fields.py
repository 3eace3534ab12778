"""A manifest lacks a field, or has one of the wrong type

## What
The fields that hosts require, and the types of those that they check: `name` of a plugin; `name`, `owner` and
`plugins` of a marketplace; `name` and `source` of each of its entries, with what each kind of source requires; `name`
and `version` of a Gemini extension. Empty values count as missing. A key that is nearly a known one is a warning,
others are left alone.

## Why
Hosts validate a manifest before they use it: one wrong field of one entry makes Claude Code refuse the whole
marketplace.

## Bad
```json
{ "name": "tools", "plugins": [{ "name": "notes" }] }
```

## Good
```json
{ "name": "tools", "owner": { "name": "Ann" }, "plugins": [{ "name": "notes", "source": "./notes" }] }
```

## Fix
Add the field, or correct its value. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/plugins, "Marketplace reference" and "Manifest reference" (2026-11); Gemini CLI,
"Extension reference" (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from skill_health.core.json_places import JsonPath
from skill_health.core.strict_json import kind_of, quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._json import JsonFile
from skill_health.rules.repository._repository import CLAUDE, CODEX, Marketplace, Repository

CODE = "RP002"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


_TEXT, _LIST, _OBJECT, _FLAG = (str,), (list,), (dict,), (bool,)
_PATHS = (str, list)
_TYPES: dict[str, tuple[type, ...]] = {
    "name": _TEXT, "version": _TEXT, "description": _TEXT, "author": (dict, str), "homepage": _TEXT, "repository": (str, dict),
    "license": (str, dict), "keywords": _LIST, "tags": _LIST, "category": _TEXT, "strict": _FLAG, "skills": _PATHS,
    "commands": (str, list, dict), "agents": _PATHS, "hooks": (str, list, dict), "mcpServers": (str, list, dict),
    "lspServers": (str, list, dict), "outputStyles": _PATHS, "metadata": _OBJECT,
}  # fmt: skip
_KNOWN = (
    *_TYPES,
    "source",
    "interface",
    "dependencies",
    "$schema",
    "displayName",
    "userConfig",
    "channels",
    "settings",
    "apps",
    "icon",
)
_WORDS: dict[type, str] = {str: "text", list: "a list", dict: "an object", bool: "true or false"}
_SOURCES = {
    "github": ("repo",), "url": ("url",), "git": ("url",), "git-subdir": ("url", "path"), "npm": ("package",), "pip": ("package",),
    "archive": ("url",), "command": ("command",),
}  # fmt: skip


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report missing and mistyped fields."""
    for path in repository.named(CLAUDE, CODEX):
        if (file := repository.json(path)) and file.is_read:
            yield from _lacking(file, file.data, (), ("name",), "the manifest")
            yield from _mistyped(file, file.data, ())
            yield from _misspelled(file, file.data, ())
    for market in repository.marketplaces:
        if market.file.is_read:
            yield from _marketplace(market)
    for path in repository.named("gemini-extension.json"):
        if (file := repository.json(path)) and file.is_read:
            yield from _lacking(file, file.data, (), ("name", "version"), "the manifest")


def _lacking(
    file: JsonFile, data: Mapping[str, Any], lead: JsonPath, keys: tuple[str, ...], what: str
) -> Iterator[Hit]:
    for key in keys:
        if key not in data or data[key] in ("", None):
            word = "lacks" if key not in data else "has an empty"
            yield Hit(file.span(*lead, key), f"{what} {word} `{key}`", f"add `{key}`", file.path)


def _mistyped(file: JsonFile, data: Mapping[str, Any], lead: JsonPath) -> Iterator[Hit]:
    for key, value in data.items():
        kinds = _TYPES.get(key)
        if kinds and value is not None and not isinstance(value, kinds):
            expected = " or ".join(_WORDS[kind] for kind in kinds)
            yield Hit(
                file.span(*lead, key), f"`{key}` is {kind_of(value)}, not {expected}", "correct the value", file.path
            )
        elif key in ("keywords", "tags", "skills", "agents") and isinstance(value, list):
            at = next((at for at, each in enumerate(value) if not isinstance(each, str)), None)
            if at is not None:
                message = f"`{key}` holds {kind_of(value[at])}, not only texts"
                yield Hit(file.span(*lead, key, at), message, "correct the value", file.path)


def _misspelled(file: JsonFile, data: Mapping[str, Any], lead: JsonPath) -> Iterator[Hit]:
    for key in data:
        meant = "" if key in _KNOWN else next(iter(get_close_matches(key.lower(), _KNOWN, 1, 0.85)), "")
        if meant and meant not in data and key not in ("tag", "keyword"):
            message = f"hosts do not read `{key}`, but `{meant}`"
            yield Hit(file.key_span(*lead, key), message, f"write {meant}", file.path, severity=Severity.WARNING)


def _marketplace(market: Marketplace) -> Iterator[Hit]:
    file, data = market.file, market.file.data
    yield from _lacking(file, data, (), ("name", "owner", "plugins"), "the marketplace")
    owner, plugins = data.get("owner"), data.get("plugins")
    if isinstance(owner, dict):
        yield from _lacking(file, owner, ("owner",), ("name",), "the owner")
    elif owner:
        message = f"`owner` is {kind_of(owner)}, not an object with a name"
        yield Hit(file.span("owner"), message, 'write { "name": ... }', file.path)
    if plugins is not None and not isinstance(plugins, list):
        yield Hit(file.span("plugins"), f"`plugins` is {kind_of(plugins)}, not a list", "make it a list", file.path)
    for at, entry in enumerate(plugins if isinstance(plugins, list) else ()):
        if isinstance(entry, dict):
            yield from _entry(file, entry, at)
        else:
            yield Hit(file.span("plugins", at), f"an entry is {kind_of(entry)}, not an object", "correct it", file.path)


def _entry(file: JsonFile, entry: Mapping[str, Any], at: int) -> Iterator[Hit]:
    lead = ("plugins", at)
    what = f"the entry {quote(entry['name'])}" if entry.get("name") else "an entry"
    yield from _lacking(file, entry, lead, ("name", "source"), what)
    yield from _mistyped(file, entry, lead)
    yield from _misspelled(file, entry, lead)
    source = entry.get("source")
    if isinstance(source, dict):
        kind = source.get("source")
        if not isinstance(kind, str) or not kind:
            yield from _lacking(file, source, (*lead, "source"), ("source",), f"the source of {what}")
        elif kind in _SOURCES:
            yield from _lacking(file, source, (*lead, "source"), _SOURCES[kind], f"the {kind} source of {what}")
        else:
            known = ", ".join(sorted(_SOURCES))
            message = f"the source of {what} is of the unknown kind {quote(kind)}"
            yield Hit(
                file.span(*lead, "source", "source"),
                message,
                f"known are {known}",
                file.path,
                severity=Severity.WARNING,
            )
    elif source and not isinstance(source, str):
        yield Hit(file.span(*lead, "source"), f"`source` is {kind_of(source)}", "write a path or an object", file.path)
