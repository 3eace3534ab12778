"""An MCP configuration holds a secret

## What
Values under `env` and `headers` of an MCP server, and its arguments and address, that are the credential itself: what
has the format of a known kind of key, and a long random value under a name such as API_KEY, TOKEN, SECRET or PASSWORD,
or behind `Bearer`. References to variables (`${API_KEY}`), placeholders and local addresses are left alone. The line
is shown in no output.

## Why
Whoever can read the repository has the key, and its history keeps it after it is removed.

## Bad
```json
{ "env": { "API_KEY": "q8Zt..." } }
```

## Good
```json
{ "env": { "API_KEY": "${API_KEY}" } }
```

## Fix
Revoke the key, and refer to a variable instead. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/mcp (2026-11): expand environment variables for keys; OWASP Top 10 2021, A07.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.core.json_places import JsonPath
from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Repository, items_of
from skill_health.skill.model import Span
from skill_health.text.patterns import lazy
from skill_health.text.secrets import find_secrets

CODE = "RP026"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
REDACT = True


_NAMED = lazy(
    r"(?i)(?:api|access|auth|secret|private)[_-]?key|token|secret|passw(?:or)?d|credential|authorization|bearer|pat\b"
)
_OPEN = lazy(
    r"(?i)\$|%\w+%|\{\{|<|>|your|example|xxx|placeholder|changeme|change[_-]me|replace|insert|dummy|\btest|sample|todo|\.\.\.|\*\*|env:|"
    r"localhost|127\.0\.0\.1|^(?:true|false|none|null|\d+)$|[\\/]\w+[\\/]|optional"
)
_RANDOM = lazy(r"(?:Bearer |Basic |token )?(?=[^ ]*[0-9])(?=[^ ]*[A-Za-z])[A-Za-z0-9_.=+/-]{16,}")
_MOST = 4096


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each value that is a secret, and known formats of keys anywhere in a manifest, command or subagent."""
    known = set()
    for hit in _in_servers(repository):
        known.add((hit.path, hit.span.line))
        yield hit
    for file in repository.manifests:
        for found in find_secrets(file.text):
            if (file.path, (span := file.at(found.start)).line) not in known:
                yield Hit(span, f"this file contains a {found.kind}", _HELP, file.path)
    for prompt in repository.prompts:
        for found in find_secrets(prompt.head.text):
            before = prompt.head.text[: found.start]
            span = Span(before.count("\n") + 1, found.start - before.rfind("\n"))
            yield Hit(span, f"this file contains a {found.kind}", _HELP, prompt.path)


_HELP = "revoke it, and refer to a variable: ${NAME}"


def _in_servers(repository: Repository) -> Iterator[Hit]:
    for source in repository.servers:
        for name, server in source.items():
            if not isinstance(server, dict):
                continue
            for path, key, value in _values(server):
                kind = _secret(key, value[:_MOST])
                if kind:
                    span = source.file.span(*source.path, name, *path)
                    message = f"{kind} is in the configuration of the MCP server {quote(name)}"
                    yield Hit(span, message, _HELP, source.file.path)


def _values(server: Mapping[str, Any]) -> Iterator[tuple[JsonPath, str, str]]:
    for part in ("env", "headers"):
        values = server.get(part)
        for key, value in values.items() if isinstance(values, dict) else ():
            if isinstance(value, str):
                yield (part, key), key, value
    for key in ("url", "args"):
        for at, value in items_of(server.get(key)):
            if isinstance(value, str):
                yield (key, *at), "", value


def _secret(key: str, value: str) -> str:
    """What kind of secret a value is, "" for none."""
    found = next(iter(find_secrets(value)), None)
    if found:
        return f"a {found.kind}"
    if key and _NAMED.search(key) and not _OPEN.search(value) and _RANDOM.fullmatch(value.strip()):
        return f"the value of {key}"
    return ""
