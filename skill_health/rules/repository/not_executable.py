"""A script is run by its name and is not executable

## What
Scripts with a `#!` line whose mode says that they cannot be executed, where the command of a hook or MCP server begins
with them, or where a line of a shell block of a SKILL.md does (`./scripts/build.sh`, without `bash` before it); that is
information, as an agent finds another way, and some registries keep no modes at all. A skill that makes the script
executable itself (`chmod`) is left alone, and so is everything on Windows, which has no such modes.

## Why
The shell answers "Permission denied", and the hook or step is lost.

## Bad
```json
{ "type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/hooks/check.sh" }       (check.sh has mode 644)
```

## Good
```json
{ "type": "command", "command": "bash ${CLAUDE_PLUGIN_ROOT}/hooks/check.sh" }
```

## Fix
Make it executable (`git update-index --chmod=+x FILE`), or name the interpreter. There is no automatic fix.

## Source
evidence · POSIX.1-2024, exec: a file without permission to execute it is not run (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.core.strict_json import quote
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.repository._commands import hook_commands, server_commands, shebang
from skill_health.rules.repository._repository import Repository, RepositoryFiles
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "RP016"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


_SHELLS = frozenset("bash sh shell zsh console shell-session".split())
_ENDINGS = (".sh", ".py", ".js", ".mjs", ".rb", ".pl", ".bash")
_PLACES = lazy(r"(?:\./|(?:\$\{?[A-Z_]+\}?|\{\w+\}|<[\w -]+>|~[\w./-]{0,80})/)?(?P<path>[\w.-]+(?:/[\w.-]+)*)")


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report what hooks and servers run so."""
    for command in (*hook_commands(repository), *server_commands(repository)):
        for mention in command.mentions():
            if mention.direct and _cannot_run(mention.place, repository.context):
                message = f"the command runs {quote(mention.text)}, which is not executable"
                yield Hit(command.find_span(), message, _HELP, command.where)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report what the skill tells its reader to run so."""
    scripts = {file for file in skill.files if file.endswith(_ENDINGS)}
    if not scripts:
        return
    seen: set[str] = set()
    for block in skill.body.blocks:
        if block.info.lower() not in _SHELLS:
            continue
        for nth, line in enumerate(block.text.split("\n")):
            match = _PLACES.fullmatch(_command(line))
            file = match["path"] if match else ""
            if match is None or file not in scripts or file in seen:
                continue
            # The name of a Python script alone often means "run this", with whatever runs it.
            if match.start("path") == 0 and not file.endswith((".sh", ".bash")):
                continue
            seen.add(file)
            path = skill.path_of(file)
            if _cannot_run(path, context) and not _is_made_executable(skill, file):
                span = Span(block.line + nth + block.fenced, line.find(file) + 1)
                yield Hit(span, f"{file} is run by its name, and is not executable", _HELP, severity=Severity.INFO)


_HELP = "make it executable (git update-index --chmod=+x), or name its interpreter"


def _command(line: str) -> str:
    words = line.strip().removeprefix("$ ").split()
    return words[0] if words and "/" in words[0] else ""


def _cannot_run(path: str, context: RepositoryFiles | Context) -> bool:
    return bool(context.exists(path) and not context.is_executable(path) and shebang(context.content(path)))


def _is_made_executable(skill: Skill, file: str) -> bool:
    name = file.rpartition("/")[2]
    return any("chmod" in line and (name in line or "*" in line) for line in skill.lines)
