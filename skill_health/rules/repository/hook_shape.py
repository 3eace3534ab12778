"""A hook is not declared as hosts read it

## What
The objects of hooks in `hooks/hooks.json`, in a manifest and in `.claude/settings.json`: events are lists of groups,
each with a list `hooks`; each hook is an object with a known `type` (command, prompt, agent, http or mcp_tool) and
what that type needs (`command`, `prompt`, `url`, `tool`); `matcher` is text, `timeout` a positive number. A hooks.json
without its outer key `hooks` is reported too.

## Why
The host skips the hook, or refuses the whole file: what was to be guarded runs unguarded.

## Bad
```json
{ "hooks": { "PreToolUse": [{ "type": "command", "command": "check" }] } }
```

## Good
```json
{ "hooks": { "PreToolUse": [{ "hooks": [{ "type": "command", "command": "check" }] }] } }
```

## Fix
Write it in the form that is shown. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/hooks (2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skill_health.core.json_places import JsonPath
from skill_health.core.strict_json import kind_of, quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._forms import CLAUDE_EVENTS, HOOK_TYPES, OTHER_EVENTS, near
from skill_health.rules.repository._repository import DeclarationSource, Repository

CODE = "RP012"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


Flaw = tuple[JsonPath, str, str]


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each place where the form is broken."""
    for source in repository.hooks:
        if source.file.is_read:
            for path, message, help_ in _flaws(source):
                yield Hit(source.file.span(*path), message, help_, source.file.path)


def _flaws(source: DeclarationSource) -> Iterator[Flaw]:
    if source.data is None and not source.path:
        if any(event in CLAUDE_EVENTS for event in source.file.data):
            yield (), "the events are not within `hooks`", 'write { "hooks": { ... } }'
        elif "version" not in source.file.data:
            yield (), "the file has no `hooks`", 'write { "hooks": { ... } }'
    elif not isinstance(source.data, dict):
        yield source.path, f"`hooks` is {kind_of(source.data)}, not an object of events", "make it an object"
    else:
        for event, groups in source.data.items():
            # Other hosts have events of other shapes in files of this name.
            if event not in OTHER_EVENTS:
                yield from _groups(groups, (*source.path, event), event)


def _groups(groups: Any, path: JsonPath, event: str) -> Iterator[Flaw]:
    if not isinstance(groups, list):
        if event in CLAUDE_EVENTS or near(event, CLAUDE_EVENTS):
            yield path, f"{quote(event)} is {kind_of(groups)}, not a list", "make it a list of groups with `hooks`"
        return
    for at, group in enumerate(groups):
        where = (*path, at)
        hooks = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(group, dict):
            yield where, f"{quote(event)} holds {kind_of(group)}, not groups", "write objects with a list `hooks`"
        elif hooks is None:
            yield where, f"a group of {quote(event)} has no list `hooks`", 'write { "hooks": [ ... ] } around the hook'
        elif not isinstance(hooks, list):
            yield (*where, "hooks"), f"`hooks` of {quote(event)} is {kind_of(hooks)}, not a list", "make it a list"
        else:
            matcher = group.get("matcher")
            if matcher is not None and not isinstance(matcher, str):
                yield (*where, "matcher"), f"`matcher` is {kind_of(matcher)}, not text", "join the names with |"
            for n, hook in enumerate(hooks):
                yield from _hook(hook, (*where, "hooks", n), event)


def _hook(hook: Any, path: JsonPath, event: str) -> Iterator[Flaw]:
    if not isinstance(hook, dict):
        yield path, f"a hook of {quote(event)} is {kind_of(hook)}, not an object", "write an object with a `type`"
        return
    kind = hook.get("type")
    if not isinstance(kind, str):
        yield path, f"a hook of {quote(event)} has no `type`", 'add "type": "command"'
    elif kind not in HOOK_TYPES:
        known = ", ".join(sorted(HOOK_TYPES))
        yield (*path, "type"), f"the hook type {quote(kind)} is unknown", f"known are {known}"
    elif not (isinstance(hook.get(HOOK_TYPES[kind]), str) and hook[HOOK_TYPES[kind]].strip()):
        yield path, f"a {kind} hook of {quote(event)} has no `{HOOK_TYPES[kind]}`", f"add `{HOOK_TYPES[kind]}`"
    timeout = hook.get("timeout")
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or timeout <= 0):
        said = quote(timeout) if isinstance(timeout, (int, float)) else kind_of(timeout)
        yield (*path, "timeout"), f"`timeout` is {said}, not a number of seconds", "write a positive number"
