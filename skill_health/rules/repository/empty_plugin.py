"""A plugin contains nothing that a host loads

## What
A plugin with a manifest that has neither skills nor commands, subagents, hooks, servers or anything else that hosts
load, in its folder or by what its manifest and its entry name.

## Why
Users install it and get nothing. Its folders were moved, renamed or ignored.

## Bad
```text
notes/.claude-plugin/plugin.json and notes/README.md, and nothing else
```

## Good
```text
notes/.claude-plugin/plugin.json and notes/skills/add/SKILL.md
```

## Fix
Add what the plugin is for, or remove it. There is no automatic fix.

## Source
SHOULD · code.claude.com/docs/en/plugins (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._repository import Repository

CODE = "RP035"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


_PARTS = (
    "skills", "commands", "agents", "hooks", ".mcp.json", "mcp.json", ".lsp.json", "output-styles", "SKILL.md", "themes", "monitors",
    "workflows", "bin", "settings.json", "rules", ".app.json", "package.json", "src",
)  # fmt: skip
_KEYS = (
    "skills", "commands", "agents", "hooks", "mcpServers", "lspServers", "outputStyles", "themes", "monitors", "experimental",
    "dependencies", "apps", "rules", "channels",
)  # fmt: skip


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each plugin without a component."""
    for plugin in repository.plugins:
        named = any(record.data.get(key) for record in plugin.records for key in _KEYS)
        if not plugin.manifest or not plugin.manifest.data or named:
            continue
        if not any(repository.context.exists(plugin.inside(part)) for part in _PARTS):
            message = "this plugin has no skills, commands, subagents, hooks or servers"
            yield Hit(plugin.manifest.span(), message, "add what it is for, or remove it", plugin.manifest.path)
