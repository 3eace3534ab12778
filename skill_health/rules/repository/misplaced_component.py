"""A component of a plugin stands where no host looks

## What
`commands`, `agents`, `skills` and `hooks` within the folder `.claude-plugin`, where only manifests belong, and a
`hooks.json` in the root of a plugin that nothing names.

## Why
The plugin loads without them, and nothing says so.

## Bad
```text
notes/.claude-plugin/commands/add.md
```

## Good
```text
notes/commands/add.md
```

## Fix
Move the folder to the root of the plugin. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/plugins, "Marketplace reference" and "Manifest reference" (2026-11): components are at
the root of the plugin, not inside `.claude-plugin/`.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Plugin, Repository, items_of
from skill_health.skill.model import Span

CODE = "RP011"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


_FOLDERS = ("commands", "agents", "skills", "hooks")


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each folder once."""
    for plugin in repository.plugins:
        place = plugin.inside(".claude-plugin")
        named = set(_named(plugin))
        for name in _FOLDERS:
            if (
                plugin.manifest
                and f".claude-plugin/{name}" not in named
                and repository.context.exists(f"{place}/{name}")
            ):
                message = f"the folder {name} is in .claude-plugin, where no host looks for it"
                yield Hit(Span(1, 1), message, f"move it to {plugin.inside(name)}", plugin.manifest.path)
        is_there = plugin.folder and repository.context.exists(plugin.inside("hooks.json"))
        if plugin.manifest and is_there and not any("hooks.json" in each.file.text for each in plugin.records):
            message = "hooks.json is in the root of the plugin, where no host looks for it"
            yield Hit(Span(1, 1), message, f"move it to {plugin.inside('hooks/hooks.json')}", plugin.manifest.path)


def _named(plugin: Plugin) -> Iterator[str]:
    for data in (plugin.manifest.data if plugin.manifest else {}, *(entry.data for entry in plugin.listed)):
        for name in _FOLDERS:
            for _, path in items_of(data.get(name)):
                if isinstance(path, str):
                    yield path.removeprefix("./").rstrip("/")
