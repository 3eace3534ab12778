"""A plugin has changed and its version has not

## What
Reported by `lint --new-since REVISION` alone: a plugin whose manifest gives a `version` that is the same in both
states, while files of the plugin differ. Its README, change log, licence and tests do not count, nor do other plugins
within its folder. A plugin without a version gets updates with every commit and is left alone, and so is one that is
new.

## Why
Hosts compare versions: users that have the plugin get no update. In the hook, before a commit is made, it is too early
to say.

## Bad
```json
{ "name": "notes", "version": "1.2.0" }          (as before, and skills/add/SKILL.md has changed)
```

## Good
```json
{ "name": "notes", "version": "1.2.1" }
```

## Fix
Raise the version, or leave it out of the manifest. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/plugins (2026-11): users get an update when the version changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Plugin, Repository, text_of
from skill_health.text.patterns import lazy

CODE = "RP033"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


_LEFT = lazy(
    r"(?:\A|/)(?:README|CHANGELOG|LICEN[CS]E|CONTRIBUTING|\.gitignore)[^/]*\Z|(?:\A|/)(?:tests?|evals?|__tests__|fixtures|\.github)/",
    re.I,
)


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each plugin whose content has changed under the same version."""
    if repository.earlier is None:
        return
    before = {plugin.folder: plugin for plugin in repository.earlier.plugins}
    inner = [plugin.folder for plugin in repository.plugins]
    for plugin in repository.plugins:
        old = before.get(plugin.folder)
        for file, then in (
            (plugin.manifest, old.manifest if old else None),
            (plugin.codex, old.codex if old else None),
        ):
            version = text_of(file.data.get("version")) if file else ""
            if not file or not then or not version or then.data.get("version") != version:
                continue
            changed = [path for path in repository.changed if _counts(path, plugin, inner)]
            if changed:
                more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
                message = f"{changed[0]}{more} changed, and the version is still {quote(version)}"
                yield Hit(file.span("version"), message, "raise it: users get no update otherwise", file.path)


def _counts(path: str, plugin: Plugin, folders: list[str]) -> bool:
    if not plugin.holds(path) or _LEFT.search(path[len(plugin.folder) :]):
        return False
    if not plugin.folder:
        # A repository that is a plugin has other things too.
        parts = path.split("/")
        if len(parts) == 1 or parts[0] not in _PARTS:
            return False
    return not any(
        other != plugin.folder and len(other) > len(plugin.folder) and path.startswith(other + "/") for other in folders
    )


_PARTS = frozenset(
    "skills commands agents hooks scripts bin servers output-styles .claude-plugin .codex-plugin".split()
)
