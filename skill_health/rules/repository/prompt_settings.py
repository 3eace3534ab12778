"""A command or subagent asks for a tool or model that does not exist

## What
`tools`, `disallowedTools` and `allowed-tools`, `model`, `permissionMode` and `color` in the frontmatter of subagents
and slash commands: a tool whose name is that of a tool of Claude Code in another case or misspelled, brackets that are
never closed, a model that is neither an alias nor the id of a Claude model, a mode that does not exist. Tools of MCP
servers and unknown names that resemble nothing are left alone, and so are models of other hosts in files that have
their keys.

## Why
An unknown tool is not granted, so that the subagent lacks it; an unknown model makes it fail or run on another one.

## Bad
```markdown
---
name: reviewer
tools: read, Grepp
model: sonet
---
```

## Good
```markdown
---
name: reviewer
tools: Read, Grep
model: sonnet
---
```

## Fix
Use the names that the host knows. There is no automatic fix.

## Source
MUST · code.claude.com/docs/en/sub-agents (2026-11); code.claude.com/docs/en/tools-reference and /model-config.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from skill_health.core.strict_json import kind_of, quote
from skill_health.rules._api import Hit, Severity
from skill_health.rules.repository._forms import MODELS, MODES, TOOLS, near
from skill_health.rules.repository._repository import Repository
from skill_health.text.patterns import lazy

CODE = "RP024"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


_TOOL_KEYS = ("tools", "disallowedTools", "allowed-tools", "disallowed-tools")
_MODEL = lazy(r"(?:sonnet|opus|haiku|fable|default|best|opusplan)(?:-?\d[\w.-]*)?(?:\[1m\])?")
_ID = lazy(r"(?:[\w-]+[./])*claude-[a-z0-9][\w.@:-]*(?:\[1m\])?")
_NAME = lazy(r"[A-Za-z][A-Za-z_-]{1,30}")
# Keys that other hosts read in files of the same form.
_OTHERS = frozenset("mode temperature handoffs target mcp-servers kind max_turns readonly".split())


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each value that does not exist."""
    for prompt in repository.prompts:
        head = prompt.head
        # Copilot's agents have this ending, and tools of their own.
        if prompt.path.endswith(".agent.md"):
            continue
        if head.frontmatter is None or any(field.key in _OTHERS for field in head.frontmatter.fields):
            continue
        for key in _TOOL_KEYS:
            if field := head.field(key):
                for message, help_ in _tools(key, field.value):
                    yield Hit(field.span, message, help_, prompt.path)
        if (field := head.field("model")) and isinstance(field.value, str) and field.value:
            value = field.value.strip()
            if value not in MODELS and not _MODEL.fullmatch(value) and not _ID.fullmatch(value) and "$" not in value:
                meant = near(value, MODELS)
                message = f"the model {quote(value)} is not one of Claude's"
                yield Hit(
                    field.span,
                    message,
                    f"write {meant}" if meant else "use an alias such as sonnet, or inherit",
                    prompt.path,
                )
        if (field := head.field("permissionMode")) and isinstance(field.value, str) and field.value not in MODES:
            known = ", ".join(sorted(MODES))
            yield Hit(
                field.span,
                f"the permission mode {quote(field.value)} does not exist",
                f"known are {known}",
                prompt.path,
            )


def _tools(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, (dict, bool, int, float)):
        yield f"`{key}` is {kind_of(value)}, not a list of tools", "list their names, with commas between them"
        return
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value or "")
    if text.count("(") != text.count(")"):
        yield f"`{key}` has an unmatched bracket", "close it"
        return
    lower = {tool.lower(): tool for tool in TOOLS}
    for word in _outside_brackets(text):
        if word in TOOLS or word.startswith("mcp__") or not _NAME.fullmatch(word):
            continue
        meant = lower.get(word.lower()) or near(word, TOOLS)
        if meant:
            yield f"`{key}` names {quote(word)}; the tool is called {meant}", f"write {meant}"


def _outside_brackets(text: str) -> Iterator[str]:
    """The names in a list of tools, without what stands in brackets behind them."""
    depth, word = 0, ""
    for sign in text + ",":
        if depth == 0 and (sign == "," or sign.isspace() or sign == "("):
            if word:
                yield word.strip("\"'")
            word = ""
        elif depth == 0 and sign not in ")[]":
            word += sign
        depth += (sign == "(") - (sign == ")")
