"""Tools of an MCP server that the normal course calls."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import Sign
from skill_health.needs.reading.read import SkillReading
from skill_health.needs.reading.servers import server_signs

ORDER = 2
TITLE = "MCP server access"
MEANING = "The work calls tools of an MCP server."


def find(reading: SkillReading) -> Iterator[Sign]:
    """Tools called by name, tools allowed by name, and sentences that take a server for granted."""
    yield from server_signs(reading)
