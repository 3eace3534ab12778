"""What no call may ask for: tools that the provider runs, addresses that it fetches, another price than the usual.

All of these would reach the network through the one way that a sandbox has, or cost what no count of tokens shows. What
is known to be harmless passes; a kind of tool that nobody here has heard of does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.bench.http.json_values import mapping, objects
from skill_health.effectiveness.gateway.fields import fields_of, normalize_name

# Kinds of tools that the agent itself runs; Anthropic's have a date behind them.
_OWN: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("custom",),
    "openai": ("function", "custom"),
    "openai-responses": (
        "function", "custom", "namespace", "local_shell", "shell", "apply_patch", "tool_search", "computer",
        "computer_use", "computer_use_preview",
    ),
}  # fmt: skip
_DATED = ("bash_", "text_editor_", "computer_", "memory_", "tool_search_tool_")
_GOOGLE = frozenset(("functiondeclarations", "computeruse"))
# Fields of a body that make the server look elsewhere; those of other vendors than the protocol's own, too.
_REACHING = frozenset(
    ("mcpservers", "container", "websearchoptions", "websearch", "plugins", "searchparameters", "enablesearch",
     "searchoptions", "datasources", "prompt", "background", "models")
)  # fmt: skip
_USUAL: Mapping[str, frozenset[str]] = {
    "servicetier": frozenset(("", "auto", "default", "standard", "standard_only", "flex", "on_demand")),
    "speed": frozenset(("", "standard")),
    "inferencegeo": frozenset(("", "global")),
}
"""The values with which a call costs its usual price, or less."""
_ADDRESSES = frozenset(("imageurl", "fileurl", "videourl", "audiourl", "fileuri"))
# These hold data as a rule, and some servers take an address there.
_DATA = frozenset(("image", "video", "audio", "inputaudio"))
# What a model or a tool has said, in words of its own: nothing of it is read by a server.
_SAID = frozenset(("input", "args", "arguments", "response"))
_CONVERSATION = ("messages", "input", "contents", "system", "instructions", "systeminstruction")


def refusal(protocol: str, fields: Mapping[str, Any]) -> str:
    """Why a request may not pass, in one line; "" where it may. `fields` are those of its body by their plain names."""
    for name in sorted(_REACHING & fields.keys()):
        if fields[name]:
            return f"the field {name} is not for a trial: it makes the provider reach elsewhere"
    for name, usual in _USUAL.items():
        value = fields.get(name)
        if value is not None and not (isinstance(value, str) and value.lower() in usual):
            return f"{name} {str(value)[:40]!r} is not for a trial: it has another price"
    for tool in _tools(fields):
        if kind := _foreign(protocol, tool):
            return f"a tool of the kind {kind[:60]!r} is not for a trial: only those are that the agent itself runs"
    if any(_elsewhere(fields.get(name)) for name in _CONVERSATION):
        return "addresses of pictures and files are not for a trial, as the provider would fetch them: send their data"
    return ""


def _tools(fields: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every tool that a request offers, those inside of others too."""
    waiting = _listed(fields.get("tools"))
    while waiting:
        tool = waiting.pop()
        yield tool
        if tool.get("type") == "namespace":
            waiting += _listed(tool.get("tools"))


def _listed(value: Any) -> list[Mapping[str, Any]]:
    return objects([value]) if isinstance(value, dict) else objects(value)


def _foreign(protocol: str, tool: Mapping[str, Any]) -> str:
    """The kind of a tool that the provider runs, "" for one that is the agent's."""
    fields = fields_of(tool)
    if protocol == "gemini":
        return next((name for name in sorted(fields) if name not in _GOOGLE), "")
    kind = fields.get("type")
    if kind is None:
        return ""
    if not isinstance(kind, str):
        return "of no kind"
    if kind == "shell" and mapping(fields.get("environment")).get("type", "local") != "local":
        return "shell in a container"
    own = kind in _OWN[protocol] or (protocol == "anthropic" and kind.startswith(_DATED))
    return "" if own else kind or "of no kind"


def _elsewhere(said: Any) -> bool:
    """Whether something in a conversation is only an address, which the provider would fetch."""
    waiting: list[tuple[str, Any]] = [("", said)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, list):
            waiting += ((name, item) for item in value)
        elif isinstance(value, dict):
            for key, inner in value.items():
                below = normalize_name(key)
                if below == "url" and (name == "source" or name in _ADDRESSES):
                    below = "fileurl"
                elif below == "data" and name == "inputaudio":
                    below = name
                if not (below in _SAID and isinstance(inner, dict)):
                    waiting.append((below, inner))
        elif isinstance(value, str) and (
            (name in _ADDRESSES and not value.startswith("data:")) or (name in _DATA and "://" in value[:64])
        ):
            return True
    return False
