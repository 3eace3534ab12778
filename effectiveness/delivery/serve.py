"""The server of skills in a sandbox: `python -I -S serve.py STORE FOLDER...`; the Model Context Protocol over stdio.

STORE is a file that the host wrote, the folders are where the official SDK lies. This file imports nothing of ours, so
that nothing of ours needs to be seen in there. Whatever a skill says is text to give back, and nothing else.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

PART = 20_000
"""Characters of a text that are given at once: agents cut longer results of tools, each at another length."""
_FOUND = 8
_WORD = re.compile(r"\w+")


class Refused(Exception):
    """What cannot be given, in a sentence for the model."""


class SkillShelf:
    """The skills of a store, and what the tools say of them."""

    def __init__(self, store: Mapping[str, Any]) -> None:
        self.tools: list[dict[str, Any]] = store["tools"]
        self._skills: dict[str, dict[str, Any]] = {skill["name"]: skill for skill in store["skills"]}

    def call(self, tool: str, given: Mapping[str, Any]) -> str:
        """What a tool gives. Raises Refused."""
        if tool == "list_skills":
            lines = (f"- {name}: {' '.join(skill['description'].split())}" for name, skill in self._skills.items())
            return "\n".join(lines) or "There are no skills."
        if tool == "read_skill":
            return self._read(str(given.get("name", "")), str(given.get("file") or ""), given.get("part") or 1)
        if tool == "search_skills":
            return self._search(str(given.get("query", "")))
        raise Refused(f"there is no tool {tool[:60]!r}")

    def _read(self, name: str, file: str, part: int) -> str:
        skill = self._skills.get(name)
        if skill is None:
            raise Refused(f"there is no skill {name[:80]!r}; there are: {', '.join(self._skills) or 'none'}")
        text = skill["files"].get(file) if file else skill["text"]
        if text is None:
            raise Refused(f"{name} has no file {file[:200]!r} of text; it has: {', '.join(skill['files']) or 'none'}")
        parts = cut(text)
        if not 1 <= part <= len(parts):
            raise Refused(f"there is no part {part}; the last is {len(parts)}")
        shown = [parts[part - 1]]
        if len(parts) > 1:
            more = f"; read on with part {part + 1}" if part < len(parts) else ""
            shown.append(f"(part {part} of {len(parts)}{more})")
        if not file and skill["files"] and part == len(parts):
            shown.append(f"Further files, to be read with `file`: {', '.join(skill['files'])}")
        return "\n\n".join(shown)

    def _search(self, query: str) -> str:
        """The passages with the rarest words of the query; of equals the shorter, then by skill and line."""
        wanted = set(words(query))
        passages = [
            (name, int(line), text, set(words(text)))
            for name, skill in self._skills.items()
            for line, text in skill["passages"]
        ]
        counts = Counter(word for *_, held in passages for word in wanted & held)
        scored = [
            (-round(math.fsum(math.log1p(len(passages) / counts[word]) for word in sorted(wanted & held)), 9), len(held), name, line, text)
            for name, line, text, held in passages
            if wanted & held
        ]  # fmt: skip
        best = sorted(scored)[:_FOUND]
        shown = [f"{name}, line {line}:\n{text[: PART // _FOUND]}" for _, _, name, line, text in best]
        return "\n\n".join(shown) or "No skill holds any of these words."


def words(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return _WORD.findall(text.lower())


def cut(text: str) -> list[str]:
    """A text in parts of at most PART characters that end with a line where one ends in their second half."""
    parts = []
    while len(text) > PART:
        at = text.rfind("\n", PART // 2, PART) + 1 or PART
        parts.append(text[:at])
        text = text[at:]
    return [*parts, text]


def serve(shelf: SkillShelf) -> None:
    """Answer until the input closes."""
    import anyio
    from mcp import types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    server: Server[Any, Any] = Server("skills")

    async def list_tools() -> list[types.Tool]:
        return [types.Tool(**tool) for tool in shelf.tools]

    async def call_tool(name: str, arguments: dict[str, Any]) -> list[types.TextContent]:
        return [types.TextContent(type="text", text=shelf.call(name, arguments))]

    async def run() -> None:
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())

    server.list_tools()(list_tools)  # type: ignore[no-untyped-call]
    server.call_tool()(call_tool)
    anyio.run(run)


def start() -> None:
    """Serve the store that the command line names."""
    sys.path.extend(sys.argv[2:])
    with open(sys.argv[1], "rb") as stream:
        shelf = SkillShelf(json.load(stream))
    serve(shelf)


if __name__ == "__main__":
    start()
