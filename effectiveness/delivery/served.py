"""What a server of skills is made of on our side: its tools, its store, and how an agent starts it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any

from skill_health.effectiveness.records import COMPILED, SkillCopy
from skill_health.effectiveness.tasks._scripts import text_of
from skill_health.effectiveness.workspace.copies import SKILL, skill_md
from skill_health.skill.compile import compiled_passages
from skill_health.skill.decode import decode
from skill_health.text.patterns import lazy

SERVER, STORE = "skills", "skills.json"
MODULES = ("mcp",)
"""What the server is made with: the official SDK."""
STARTS = 300
"""The seconds that an agent gives it to start: on a busy machine an interpreter takes its time."""
_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "serve.py")
_NEEDED = (
    "mcp",
    "anyio",
    "pydantic",
    "pydantic_core",
    "typing_extensions",
    "annotated_types",
    "jsonschema",
    "starlette",
)
_COMPILED = ("pydantic_core", "rpds")
# In a container all of it lies here, so that nothing stands in the place of the image's own files.
_PLACE = "/run/skills"
_PARAGRAPH = lazy(r"\n[ \t]*\n\s*")


def _tool(title: str, description: str, required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return {"name": title, "description": description, "inputSchema": schema}


TOOLS: Mapping[str, dict[str, Any]] = {
    tool["name"]: tool
    for tool in (
        _tool(
            "list_skills",
            "List the skills that are there, instructions for tasks of a certain kind, each with its description. Look "
            "here before you begin; when a description fits the task, read that skill with read_skill and do as it says.",
        ),
        _tool(
            "read_skill",
            "Read the instructions of one skill, or one of its further files.",
            ("name",),
            name={"type": "string", "description": "The name of the skill, as list_skills gives it."},
            file={"type": "string", "description": "A further file of the skill; its instructions if left out."},
            part={"type": "integer", "minimum": 1, "description": "The part of a long text, counted from 1."},
        ),
        _tool(
            "search_skills",
            "Find the passages of all skills that hold words of a query.",
            ("query",),
            query={"type": "string", "description": "A few words."},
        ),
    )
}
"""The tools of the server by their names, as the protocol describes tools."""
READ = "read_skill"


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """How an agent starts the server: the words of the command, the folders where the SDK lies, and what it serves.

    That is the file `store`, by its path inside.
    """

    command: tuple[str, ...]
    libraries: tuple[str, ...]
    store: str


def tool_names(pattern: str) -> dict[str, str]:
    """What an agent calls the tools before its model, each with its description; none for one that takes no server."""
    return (
        {pattern.format(server=SERVER, tool=name): tool["description"] for name, tool in TOOLS.items()}
        if pattern
        else {}
    )


def tool_of(name: str) -> str:
    """The tool of the server that an agent's stream means by a name, "" for none."""
    tail = next((tool for tool in TOOLS if name == tool or name.endswith(f"_{tool}")), "")
    return tail if name[: len(name) - len(tail)] in ("", f"{SERVER}_", f"mcp__{SERVER}__", f"{SERVER}__") else ""


def store_of(skills: Iterable[SkillCopy], delivery: str) -> bytes:
    """What the server gives: the same skills give the same bytes."""
    stored = {"tools": list(TOOLS.values()), "skills": [_stored(skill, delivery) for skill in skills]}
    return json.dumps(stored, ensure_ascii=True, sort_keys=True).encode("ascii")


@lru_cache(512)
def _stored(skill: SkillCopy, delivery: str) -> dict[str, Any]:
    text = skill_text(skill)
    shown, passages = compiled_passages(text) if delivery == COMPILED else (text, _paragraphs(text))
    files = {file.path: whole for file in skill.files if file.path != SKILL and (whole := text_of(file)) is not None}
    return {
        "name": skill.name,
        "description": skill.description,
        "text": shown,
        "passages": passages,
        "files": dict(sorted(files.items())),
    }


def skill_text(skill: SkillCopy) -> str:
    """The SKILL.md of a skill as text."""
    return decode(skill_md(skill.files))[0]


def _paragraphs(text: str) -> tuple[tuple[int, str], ...]:
    """The paragraphs of a text, each with its first line."""
    found, start, line = [], 0, 1
    for end, after in [*((match.start(), match.end()) for match in _PARAGRAPH.finditer(text)), (len(text), len(text))]:
        if text[start:end].strip():
            found.append((line, text[start:end]))
        line += text.count("\n", start, after)
        start = after
    return tuple(found)


@cache
def _folders() -> tuple[str, ...]:
    specs = (find_spec(name) for name in _NEEDED)
    return tuple(dict.fromkeys(os.path.dirname(os.path.dirname(spec.origin)) for spec in specs if spec and spec.origin))


@cache
def server_compiled() -> tuple[str, ...]:
    """The compiled files of the libraries, which ask for libraries of the system."""
    places = [
        place for name in _COMPILED if (spec := find_spec(name)) for place in spec.submodule_search_locations or ()
    ]
    names = [os.path.join(place, name) for place in places for name in sorted(os.listdir(place))]
    return tuple(name for name in names if name.endswith(".so"))


def server_places(folder: str, apart: bool) -> dict[str, str]:
    """What must be seen for the server, each path of the host with the one inside; its store is in `folder`.

    Paths are the same inside, but in a container, which stands `apart`: it has files of its own.
    """
    own = {folder: f"{_PLACE}/store", _PROGRAM: f"{_PLACE}/{os.path.basename(_PROGRAM)}"}
    own |= {path: f"{_PLACE}/lib{number}" for number, path in enumerate(_folders())}
    return own if apart else {path: path for path in own}


def server_command(python: Sequence[str], folder: str, apart: bool = False) -> ServerCommand:
    """The server over the store in a folder of the host, run by these words for an interpreter."""
    places = server_places(folder, apart)
    store, libraries = f"{places[folder]}/{STORE}", tuple(places[path] for path in _folders())
    return ServerCommand((*python, "-I", "-S", places[_PROGRAM], store, *libraries), libraries, store)
