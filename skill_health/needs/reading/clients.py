"""Command-line clients of services outside, known by what a text has them do: they log in, then ask and change."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.programs import facts_of, is_tool
from skill_health.needs.reading.read import PlacedCommand, SkillReading, phrase, signs_of_phrase

_LOGS_IN = frozenset("login auth signin sign-in logout whoami".split())
_HELD = frozenset(
    "list ls get show describe search read view status logs pull edit update delete assign complete close comment comments query "
    "download export tail events history inbox".split()
)
_NO_CLIENTS = frozenset(
    "git npm pnpm yarn pip docker cargo dotnet brew systemctl codex claude gemini openclaw clawdbot".split()
)
_NEAR = 3


def client_signs(reading: SkillReading, weight: float) -> Iterator[Sign]:
    """A sign for each command that logs a client in."""
    for placed in _logins(reading):
        yield reading.sign(
            weight * placed.weight, EvidenceKind.COMMAND, placed.command.program, placed.line, placed.command.text
        )


_SESSION = phrase(
    "session|tenant|logged|signed|authenticat",
    r"\b(tenants?|logged[ -]in|signed[ -]in|authenticated session|session expired)\b",
)


def session_signs(reading: SkillReading, weight: float) -> Iterator[Sign]:
    """Sentences that take a session of a client for granted, where the text runs a program that nobody lists."""
    if any(each.command.program and _is_unlisted(each.command.program) for each in reading.commands):
        yield from signs_of_phrase(reading, _SESSION, weight, "")


def _is_unlisted(program: str) -> bool:
    return is_tool(program) and not facts_of(program).listed


def client_content_signs(reading: SkillReading, weight: float) -> Iterator[Sign]:
    """A sign for each command by which a client that logs in reads or changes what its service holds."""
    clients = {placed.command.program for placed in _logins(reading)}
    for placed in reading.commands:
        words = placed.command.words[:_NEAR]
        if placed.command.program in clients and _HELD.intersection(words) and not _LOGS_IN.intersection(words):
            subject = f"{placed.command.program} {placed.command.words[0]}"
            yield reading.sign(weight * placed.weight, EvidenceKind.COMMAND, subject, placed.line, placed.command.text)


def _logins(reading: SkillReading) -> Iterator[PlacedCommand]:
    for placed in reading.commands:
        name = placed.command.program
        if not name or placed.command.is_path or not is_tool(name) or name in _NO_CLIENTS:
            continue
        tags = facts_of(name).tags
        if _LOGS_IN.intersection(placed.command.words[:2]) and (not facts_of(name).listed or "auth" in tags):
            yield placed
