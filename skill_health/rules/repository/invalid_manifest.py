"""A manifest is no JSON object

## What
Files in JSON that hosts read: plugin.json, marketplace.json, hooks, MCP servers, `.claude/settings.json` and
gemini-extension.json, and files that these name. Reported are a text that is not JSON (a trailing comma, a comment, a
missing bracket), one that is no object, and a key that stands twice in one object, of which hosts use the last.

## Why
A host that cannot parse a manifest loads nothing of the plugin, or of the whole marketplace. Of a key that stands
twice the first value is lost in silence.

## Bad
```json
{ "name": "notes", "version": "1.0.0", }
```

## Good
```json
{ "name": "notes", "version": "1.0.0" }
```

## Fix
Correct the text at the place that is named. There is no automatic fix.

## Source
MUST · RFC 8259, and code.claude.com/docs/en/plugins, "Marketplace reference" and "Manifest reference" (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Repository

CODE = "RP001"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each file that is not JSON, and each key that stands twice."""
    for file in repository.manifests:
        if file.problem is None:
            continue
        if file.data and file.places.again:
            for key, at in file.places.again:
                message = f"the key {quote(key)} stands twice in one object; hosts use the last"
                yield Hit(file.at(at), message, "keep one of the two", file.path)
        else:
            yield Hit(file.at(file.problem.offset), file.problem.message, file.problem.help, file.path)
