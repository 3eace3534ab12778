"""Logs of Codex: $CODEX_HOME/sessions/<year>/<month>/<day>/rollout-*.jsonl, as 0.169.0 writes them.

What the user said is a message of the user that the program did not write itself: those begin with a tag or quote
AGENTS.md. Codex has no tool for skills: one is loaded by reading its SKILL.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skill_health.bench.http.json_values import mapping, objects, text
from skill_health.drafts.transcripts._api import TranscriptTurn, read_records

TITLE = "Codex"
_NOT_SAID = ("<", "# AGENTS.md instructions")


def usual_places(home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """Below its own home, else in the user's; archived sessions, too."""
    base = Path(env.get("CODEX_HOME") or home / ".codex")
    return (base / "sessions", base / "archived_sessions")


def fits(path: Path) -> bool:
    """A rollout."""
    return path.suffix == ".jsonl" and path.name.startswith("rollout-")


def read_log(path: Path) -> Iterator[TranscriptTurn]:
    """The turns of a session."""
    turn: TranscriptTurn | None = None
    for record in read_records(path):
        if record.get("type") != "response_item":
            continue
        item = mapping(record.get("payload"))
        if item.get("type") == "message" and item.get("role") == "user":
            if said := _said(item):
                if turn:
                    yield turn
                turn = TranscriptTurn(said)
        elif turn and str(item.get("type")).endswith("_call"):
            given = [item.get(name) for name in ("arguments", "input", "action")]
            turn.load_files(" ".join(each if isinstance(each, str) else json.dumps(each) for each in given if each))
    if turn:
        yield turn


def _said(item: Mapping[str, Any]) -> str:
    parts = [text(part.get("text")) for part in objects(item.get("content")) if part.get("type") == "input_text"]
    return "\n".join(part for part in parts if not part.lstrip().startswith(_NOT_SAID)).strip()
