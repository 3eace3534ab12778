"""The tools of a server of skills, for the agent: the Model Context Protocol over stdio, by the official SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from skill_health.bench.http.messages import Tool, ToolCall, ToolResult

SECONDS = 300.0
"""The time that the server has to start, and for each answer."""


class ServedTools:
    """A server that answers. `tools` are as a model is told of them: the server's name is part of theirs."""

    def __init__(self, session: Any, tools: Mapping[str, Tool]) -> None:
        self._session, self._tools = session, tools

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All of them."""
        return tuple(self._tools.values())

    def has(self, name: str) -> bool:
        """Whether a call is one for this server."""
        return name in self._tools

    async def call(self, call: ToolCall) -> ToolResult:
        """Have the server do what the model asks for. Raises for a server that is gone."""
        if call.arguments is None:
            return ToolResult(call.call_id, call.name, "the arguments are not a JSON object", failed=True)
        name = call.name.partition("_")[2]
        given = await self._session.call_tool(name, dict(call.arguments), timedelta(seconds=SECONDS))
        text = "\n".join(str(part.text) for part in given.content if part.type == "text")
        return ToolResult(call.call_id, call.name, text, bool(given.isError))


@asynccontextmanager
async def open_server(name: str, command: Sequence[str]) -> AsyncIterator[ServedTools]:
    """Start the server of this name and ask for its tools; none where there is no command. Ends it at the end."""
    if not command:
        yield ServedTools(None, {})
        return
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    start = StdioServerParameters(command=command[0], args=list(command[1:]))
    limit = timedelta(seconds=SECONDS)
    async with stdio_client(start) as (reader, writer), ClientSession(reader, writer, limit) as session:
        await session.initialize()
        found = (await session.list_tools()).tools
        named = {f"{name}_{tool.name}": tool for tool in found}
        yield ServedTools(
            session, {key: Tool(key, tool.description or "", dict(tool.inputSchema)) for key, tool in named.items()}
        )
