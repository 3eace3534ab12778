"""Logs of Claude Code: ~/.claude/projects/<project>/<session>.jsonl, as 2.1.197 writes them.

A line of type "user" that is neither meta nor of a subagent, and holds no result of a tool, is what the user said. A
skill is loaded by the tool Skill; one that is read as a file counts, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skill_health.bench.http.json_values import mapping, objects, text
from skill_health.drafts.transcripts._api import TranscriptTurn, read_records

TITLE = "Claude Code"
# What the program puts into the user's mouth: commands and their output, reminders, interruptions.
_NOT_SAID = ("<", "Caveat:", "[Request interrupted", "This session is being continued")


def usual_places(home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """Below the configured folder, else in home."""
    return (Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",)


def fits(path: Path) -> bool:
    """A session, below a folder projects."""
    return path.suffix == ".jsonl" and "projects" in path.parts and not path.name.startswith("rollout-")


def read_log(path: Path) -> Iterator[TranscriptTurn]:
    """The turns of a session."""
    turn: TranscriptTurn | None = None
    for record in read_records(path):
        if record.get("isSidechain") is True:
            continue
        content = mapping(record.get("message")).get("content")
        if record.get("type") == "user" and record.get("isMeta") is not True:
            if said := _said(content):
                if turn:
                    yield turn
                turn = TranscriptTurn(said)
        elif record.get("type") == "assistant" and turn:
            for part in objects(content):
                _note(turn, part)
    if turn:
        yield turn


def _said(content: Any) -> str:
    """What the user typed; "" where the line holds something else."""
    if isinstance(content, list):
        parts = objects(content)
        if any(part.get("type") == "tool_result" for part in parts):
            return ""
        content = "\n".join(text(part.get("text")) for part in parts if part.get("type") == "text")
    said = text(content).strip()
    return "" if said.startswith(_NOT_SAID) else said


def _note(turn: TranscriptTurn, part: Mapping[str, Any]) -> None:
    if part.get("type") != "tool_use":
        return
    given = mapping(part.get("input"))
    if part.get("name") == "Skill":
        turn.load(given.get("skill") or given.get("command"))
    else:
        for name in ("file_path", "command"):
            turn.load_files(text(given.get(name)))
