"""An MCP server cannot be started or reached

## What
Servers in `.mcp.json`, under `mcpServers` of a manifest and in gemini-extension.json: one without `command`, `url` or
`httpUrl`; one with a type that does not exist, or whose type needs what it does not have; `args` that are no list of
texts, `env` and `headers` that are no mappings of texts; a `url` that is none; and a file whose servers are no object.

## Why
The host skips the server: its tools are not there.

## Bad
```json
{ "mcpServers": { "notes": { "args": ["serve"] } } }
```

## Good
```json
{ "mcpServers": { "notes": { "command": "notes", "args": ["serve"] } } }
```

## Fix
Add what is missing. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/mcp (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.core.json_places import JsonPath
from skill_health.core.strict_json import kind_of, quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._forms import SERVER_TYPES
from skill_health.rules.repository._repository import DeclarationSource, Repository, text_of

CODE = "RP025"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


Flaw = tuple[JsonPath, str, str]


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each server that lacks something."""
    for source in repository.servers:
        if source.file.is_read:
            for path, message, help_ in _flaws(source):
                yield Hit(source.file.span(*path), message, help_, source.file.path)


def _flaws(source: DeclarationSource) -> Iterator[Flaw]:
    if not isinstance(source.data, dict):
        if source.path:
            yield (
                source.path,
                f"the MCP servers are {kind_of(source.data)}, not an object of servers",
                "make it an object",
            )
        return
    for name, server in source.data.items():
        path = (*source.path, name)
        if not isinstance(server, dict):
            # Beside servers without a key around them other things may stand.
            if source.path:
                yield path, f"the MCP server {quote(name)} is {kind_of(server)}, not an object", "make it an object"
        elif source.path or "command" in server or "url" in server or "type" in server or "args" in server:
            yield from _server(name, server, path)


def _server(name: str, server: Mapping[str, Any], path: JsonPath) -> Iterator[Flaw]:
    kind, command = server.get("type"), server.get("command")
    url = server.get("url") or server.get("httpUrl") or server.get("serverUrl")
    said = f"the MCP server {quote(name)}"
    if kind is not None and text_of(kind) not in SERVER_TYPES:
        known = ", ".join(sorted(SERVER_TYPES))
        yield (*path, "type"), f"{said} is of the unknown type {quote(kind)}", f"known are {known}"
    elif not command and not url and kind not in ("sdk", "ws-ide", "sse-ide"):
        needed = "url" if kind in SERVER_TYPES - {"stdio"} else "command" if kind else "command` or `url"
        yield path, f"{said} has no `{needed}`", f"add `{needed}`"
    elif kind == "stdio" and not command:
        yield path, f"{said} is of the type stdio and has no `command`", "add `command`"
    elif kind in ("http", "sse", "streamable-http", "ws") and not url:
        yield path, f"{said} is of the type {kind} and has no `url`", "add `url`"
    if command is not None and not isinstance(command, str):
        yield (*path, "command"), f"`command` of {said} is {kind_of(command)}, not text", "write the program alone"
    if (
        isinstance(url, str)
        and "$" not in url
        and "{" not in url
        and not url.startswith(("http://", "https://", "ws://", "wss://"))
    ):
        yield (*path, "url"), f"`url` of {said} is not an address: {quote(url)}", "begin it with https://"
    arguments = server.get("args")
    if arguments is not None and not (isinstance(arguments, list) and all(isinstance(each, str) for each in arguments)):
        yield (*path, "args"), f"`args` of {said} is not a list of texts", "write each argument as a separate text"
    for key in ("env", "headers"):
        values = server.get(key)
        if values is not None and not (
            isinstance(values, dict) and all(isinstance(each, str) for each in values.values())
        ):
            yield (*path, key), f"`{key}` of {said} is not an object of texts", "put each value in quotes"
