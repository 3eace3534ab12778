"""Logs of OpenCode: its database, ~/.local/share/opencode/opencode.db, as 1.18.33 writes it.

Earlier versions kept the same records as files: storage/message/<session>/<message>.json, and their parts in
storage/part/<message>/<part>.json. A skill is loaded by the tool skill; one that is read as a file counts, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from skill_health.bench.http.json_values import mapping, text
from skill_health.core.files import read_limited
from skill_health.drafts.transcripts._api import LONGEST_LINE, TranscriptTurn, read_object

TITLE = "OpenCode"
_DATABASE = "opencode.db"
_MOST_STEPS, _STEP = 4_000, 100_000
_MOST_FILES = 100_000
_QUERY = """
select m.session_id, m.id, m.data, p.data from message m join part p on p.message_id = m.id
where length(m.data) < ? and length(p.data) < ? order by m.session_id, m.time_created, m.id, p.time_created, p.id
"""


def usual_places(home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
    """Where its data is."""
    return (Path(env.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode",)


def fits(path: Path) -> bool:
    """The database, or a folder of messages of one session."""
    return path.name == _DATABASE or (path.suffix == ".json" and path.parent.parent.name == "message")


def read_log(path: Path) -> Iterator[TranscriptTurn]:
    """The turns of all sessions of a database, or those that begin with a message that is a file."""
    if path.name == _DATABASE:
        yield from _turns(_rows(path))
    elif path == _first_of(path.parent):
        yield from _turns(_stored(path.parent))


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """The session, the message and the part of each row. Raises OSError for what is no such database."""
    import sqlite3
    from urllib.parse import quote

    steps = 0

    def count() -> int:
        """Anything but 0 ends a query that goes on for ever, as one over a hostile view may."""
        nonlocal steps
        steps += 1
        return int(steps > _MOST_STEPS)

    try:
        with closing(sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True)) as base:
            base.execute("pragma trusted_schema = off")
            base.execute("pragma query_only = on")
            base.set_progress_handler(count, _STEP)
            base.text_factory = lambda raw: raw.decode("utf-8", "replace")
            for session, _, message, part in base.execute(_QUERY, (LONGEST_LINE, LONGEST_LINE)):
                found, inner = read_object(str(message)), read_object(str(part))
                if found is not None and inner is not None:
                    yield str(session), found, inner
    except sqlite3.Error as error:
        raise OSError(0, f"it is no database of OpenCode ({error})", str(path)) from None


def _first_of(folder: Path) -> Path | None:
    """The file that stands for all messages of a session."""
    return min(folder.glob("*.json"), default=None)


def _stored(folder: Path) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    for path in sorted(folder.glob("*.json"))[:_MOST_FILES]:
        message = _file(path)
        if message is not None:
            for part in sorted((folder.parent.parent / "part" / path.stem).glob("*.json"))[:_MOST_FILES]:
                if (found := _file(part)) is not None:
                    yield folder.name, message, found


def _file(path: Path) -> Mapping[str, Any] | None:
    try:
        raw = read_limited(str(path), LONGEST_LINE, links=False)
    except OSError:
        return None
    return None if raw is None else read_object(raw)


def _turns(rows: Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]) -> Iterator[TranscriptTurn]:
    turn: TranscriptTurn | None = None
    session = ""
    last: Mapping[str, Any] | None = None
    for place, message, part in rows:
        if place != session:
            if turn:
                yield turn
            turn, session = None, place
        if message.get("role") == "user":
            said = text(part.get("text")).strip() if part.get("type") == "text" and not part.get("synthetic") else ""
            if not said:
                continue
            if turn and message == last:
                turn.request += f"\n{said}"
                continue
            if turn:
                yield turn
            turn, last = TranscriptTurn(_unquoted(said)), message
        elif turn and part.get("type") == "tool":
            given = mapping(mapping(part.get("state")).get("input"))
            if part.get("tool") == "skill":
                turn.load(given.get("name"))
            else:
                for name in ("filePath", "command"):
                    turn.load_files(text(given.get(name)))
    if turn:
        yield turn


def _unquoted(said: str) -> str:
    """What `opencode run` was given as one word comes with quotes around it."""
    return said[1:-1] if len(said) > 1 and said[0] == said[-1] == '"' and '"' not in said[1:-1] else said
