"""What is said to a model and what it answers, in vendor-neutral terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; None if the provider did not say. `raw` is what it said.

    `input_tokens` counts everything that was read, cached or not; `cached_tokens` (read from a cache) and
    `cache_write_tokens` are parts of it. `reasoning_tokens` are a part of `output_tokens`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """The tokens as stored in the files of a run."""
        return {name: getattr(self, name) for name in (*TOKENS, "raw")}


TOKENS = tuple(field.name for field in fields(Usage) if field.name != "raw")
"""The numbers of a Usage."""


def add_usage(usages: Sequence[Usage]) -> Usage:
    """The tokens of several calls together; a number that any of them lacks is unknown in the sum."""
    columns = {name: [getattr(usage, name) for usage in usages] for name in TOKENS}
    return Usage(**{name: sum(counts) for name, counts in columns.items() if counts and None not in counts})


End = Literal["finished", "truncated", "refusal", "tools"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call. `schema` is the JSON Schema of its arguments, an object."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool by the model. `arguments` is None if `raw` is not a JSON object."""

    call_id: str
    name: str
    arguments: Mapping[str, Any] | None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool returned to the call with this id. Google matches by the tool's name, so it is kept too."""

    call_id: str
    name: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: the user's (text, results of tools) or the assistant's (text, calls of tools).

    `native` is what the provider itself sent for an assistant's turn. The same protocol gets it back unchanged, since
    signed thoughts would otherwise be lost. Other conversations begin with the first `shared` characters of the text,
    which is worth saying to a provider that caches only what it is told to.
    """

    role: Literal["user", "assistant"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    native: Any = None
    shared: int = 0


@dataclass(frozen=True, slots=True)
class Conversation:
    """The content of one request. `schema` constrains the answer to JSON; `max_output_tokens` includes thoughts."""

    model: str
    turns: tuple[Turn, ...]
    system: str = ""
    schema: Mapping[str, Any] | None = None
    tools: tuple[Tool, ...] = ()
    max_output_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request of one protocol: the path below the base URL, the JSON body, headers without the key."""

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PlainRequest:
    """A request that is no conversation, without the key: about batches, or about models."""

    path: str
    method: Literal["GET", "POST"] = "GET"
    content: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer of a model. `stop_reason` is the provider's word for `end`; `model` is the id it resolved to."""

    text: str
    end: End = "finished"
    stop_reason: str | None = None
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    request_id: str | None = None
    native: Any = None

    def turn(self) -> Turn:
        """The assistant's turn, to continue the conversation."""
        return Turn("assistant", self.text, self.calls, native=self.native)
