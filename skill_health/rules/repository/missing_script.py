"""A hook or MCP server runs a file that is not there

## What
Files that the commands of hooks and MCP servers, and the texts of slash commands and subagents, name by
`${CLAUDE_PLUGIN_ROOT}` (a plugin's) or `${CLAUDE_PROJECT_DIR}` (a project's): what is not there, and what leaves the
plugin by `..`. In a plugin a path that begins with `./` is looked for in the user's project; it is reported where
the plugin has that file, and where nothing has it. What is built or installed later (`dist`, `node_modules`), paths
with further variables, and what a command first tests for, are left alone.

## Why
The hook fails at every event, which users see as an error of their own; a server does not start.

## Bad
```json
{ "type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/hooks/check.sh" }       (the file is scripts/check.sh)
```

## Good
```json
{ "type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/scripts/check.sh" }
```

## Fix
Correct the path, or add the script. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/hooks (2026-11); code.claude.com/docs/en/plugins, "Manifest reference" (2026-11): files
outside of the plugin are not copied.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._commands import (
    DeclaredCommand,
    ScriptMention,
    hook_commands,
    is_made_later,
    prompt_commands,
    server_commands,
)
from skill_health.rules.repository._repository import Repository

CODE = "RP015"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each file once per command."""
    for command in (*hook_commands(repository), *server_commands(repository), *prompt_commands(repository)):
        for mention in {each.place: each for each in command.mentions()}.values():
            problem = _problem(repository, command, mention)
            if problem:
                said, help_ = problem
                message = f"the command runs {quote(mention.text)}, {said}"
                yield Hit(command.find_span(), message, help_, command.where)


def _problem(repository: Repository, command: DeclaredCommand, mention: ScriptMention) -> tuple[str, str] | None:
    place, plugin = mention.place, command.plugin
    if is_made_later(place):
        return None
    if plugin and not plugin.holds(place):
        return "which is outside the plugin", "only the folder of the plugin is installed: move the file there"
    if place.startswith(".."):
        return None
    if not repository.context.exists(place):
        return "which is not there", "correct the path, or add the file"
    if plugin and mention.loose:
        inner = place[len(plugin.folder) :].lstrip("/")
        return "which is looked for in the user's project", f"write ${{CLAUDE_PLUGIN_ROOT}}/{inner}"
    return None
