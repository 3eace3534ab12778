"""The server as a process, asked by the client of the official SDK over standard input and output."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, TextContent

from skill_health import __version__

pytestmark = pytest.mark.slow
TIDY = (
    "---\nname: tidy\ndescription: Sorts lists: short ones. Use when a list is out of order.\n---\n# Tidy\n\nSort it.\n"
)
Write = Callable[[Mapping[str, str]], Path]


@asynccontextmanager
async def session(root: Path, *options: str) -> AsyncIterator[ClientSession]:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "skill_health", "mcp", str(root), *options], env=dict(os.environ)
    )
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as client:
        begun = await client.initialize()
        assert (begun.serverInfo.name, begun.serverInfo.version) == ("skill-health", __version__)
        yield client


def text(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def test_an_agent_lints_fixes_and_routes(write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": TIDY})

    async def talk() -> None:
        async with session(root, "--allow-fixes") as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(listed) == {"lint", "explain_rule", "preview_fix", "apply_fix", "route_prompt", "status"}
            hints = {name: tool.annotations and tool.annotations.readOnlyHint for name, tool in listed.items()}
            assert [name for name, read_only in hints.items() if not read_only] == ["apply_fix"]
            found = await client.call_tool("lint", {"path": "skills/tidy"})
            assert "skills/tidy/SKILL.md:3:25: error FM003" in text(found) and not found.isError
            assert "# FM003" in text(await client.call_tool("explain_rule", {"rule": "FM003"}))
            assert '+description: "Sorts' in text(await client.call_tool("preview_fix", {}))
            assert "fixed" in text(await client.call_tool("apply_fix", {}))
            assert "FM003" not in text(await client.call_tool("lint", {}))
            assert text(await client.call_tool("route_prompt", {"prompt": "Sort a list"})).startswith("picked: tidy")
            assert "| tidy |" in text(await client.call_tool("status", {}))

    anyio.run(talk)
    assert 'description: "Sorts lists: short ones' in (root / "skills" / "tidy" / "SKILL.md").read_text()


def test_it_is_read_only_and_stays_inside_unless_asked(write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": TIDY})

    async def talk() -> None:
        async with session(root) as client:
            assert "apply_fix" not in {tool.name for tool in (await client.list_tools()).tools}
            for name, given in (
                ("apply_fix", {}), ("lint", {"path": ".."}), ("lint", {"path": "/"}),
                ("lint", {"severity": "fatal"}), ("lint", {"path": 7}), ("explain_rule", {}),
                ("explain_rule", {"rule": "XX999"}), ("preview_fix", {"path": "nowhere"}),
            ):  # fmt: skip
                answer = await client.call_tool(name, given)
                assert answer.isError and "Traceback" not in text(answer), (name, given)
            assert not (await client.call_tool("lint", {})).isError, "it still answers"

    anyio.run(talk)
    assert (root / "skills" / "tidy" / "SKILL.md").read_text() == TIDY
