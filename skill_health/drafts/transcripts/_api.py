"""What a format of logs is, and what all of them share.

A module of this package without a leading underscore is one agent's logs. It has

    TITLE                       the agent, as people call it
    usual_places(home, env)     the folders in which its program keeps logs, whether or not they are there
    fits(path)                  whether a file is one of its logs, by its path
    read_log(path)              the turns of a log, in their order

Logs are of unknown size and origin: a line or a record that is none is passed over, and nothing in them is interpreted.
`read_log` raises OSError where the file cannot be read at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from skill_health.core.files import open_binary
from skill_health.core.plugins import plugin_names
from skill_health.drafts import transcripts
from skill_health.text.patterns import lazy

LONGEST_LINE = 4 << 20
_MOST_BYTES = 1 << 30
_SKILL_FILE = lazy(r"([^/\\\s\"'`<>|:]{1,100})[/\\]+SKILL\.md\b", re.IGNORECASE)


@dataclass(slots=True)
class TranscriptTurn:
    """What a user asked for, and the skills that were loaded before the user spoke again, in their order."""

    request: str
    skills: list[str] = field(default_factory=list)

    def load(self, name: object) -> None:
        """Note a skill that was loaded, once."""
        if isinstance(name, str) and name.strip() and name not in self.skills:
            self.skills.append(name.strip())

    def load_files(self, text: str) -> None:
        """Note the skills whose files a command or a tool reads."""
        if "skill.md" in text[:LONGEST_LINE].lower():
            for name in _SKILL_FILE.findall(text[:LONGEST_LINE]):
                self.load(name)


class TranscriptFormat(Protocol):
    """A format's module."""

    TITLE: str

    def usual_places(self, home: Path, env: Mapping[str, str]) -> tuple[Path, ...]:
        """The folders in which its program keeps logs."""

    def fits(self, path: Path) -> bool:
        """Whether a file is one of its logs."""

    def read_log(self, path: Path) -> Iterator[TranscriptTurn]:
        """The turns of a log."""


def transcript_formats() -> Iterator[TranscriptFormat]:
    """Every format, found by walking the package."""
    for name in plugin_names(transcripts.__path__):
        yield cast(TranscriptFormat, import_module(f"{transcripts.__name__}.{name}"))


def read_records(path: Path) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a file of JSON lines; whatever else stands in it is passed over. Raises OSError."""
    with open_binary(str(path)) as file:
        left = _MOST_BYTES
        while left > 0 and (line := file.readline(LONGEST_LINE)):
            left -= len(line)
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    left -= len(rest)
                continue
            if (found := read_object(line)) is not None:
                yield found


def read_object(raw: bytes | str) -> Mapping[str, Any] | None:
    """A JSON object; None for anything else."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
