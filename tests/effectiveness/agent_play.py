"""The model that the loopback server plays: it opens the skills that it is offered, does the work, and says so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from skill_health.bench.http.messages import Usage

USAGE = Usage(input_tokens=1000, output_tokens=40, cached_tokens=200, cache_write_tokens=50, reasoning_tokens=10)
"""What each answer is said to have cost; protocols without a word for writing a cache leave that out."""

SKILL_TOOLS = ("Skill", "skill", "activate_skill", "invoke_skill")
SHELL_TOOLS = tuple(
    "Bash bash exec_command shell_command run_shell_command shell local_shell run_command run terminal".split()
)
HINTED = "for this task: read it first"
ORDERED = "Before anything else, open the skill"
READ_TOOLS = ("Read", "read", "read_file", "view")


@dataclass(frozen=True)
class Play:
    """What the model does. `watched` maps names of skills to their descriptions, `folder` is where they are staged.

    `work` is the command that it runs after it has opened what it was offered, or makes it of every text in the
    request, "" where these hold nothing to do yet; `half` the one that it runs where no
    watched skill is offered ("" for none); `before` counts the commands that come to nothing before either. `reader`
    chooses how a skill is opened: by a tool for skills where there is one ("skill"), a tool for files ("file") or the
    shell ("shell"); what is not there falls back to the shell. `error` is a status and a body that every call of a
    model gets instead; with `refuses` the model refuses in its protocol's own way.
    Where a server has skills, it lists and reads them; without `looks` only where the prompt names a skill. One that
    `waits` does nothing with what it is offered unless it is ordered to open it. `final` is its last message, or makes
    that of every text in the last request.
    """

    watched: Mapping[str, str] = field(default_factory=dict)
    folder: str = ".agents/skills"
    work: str | Callable[[str], str] = "printf 'done\\n' > out.txt"
    half: str = ""
    before: int = 0
    final: str | Callable[[str], str] = "All done."
    reader: str = "skill"
    error: tuple[int, Mapping[str, Any]] | None = None
    refuses: bool = False
    looks: bool = True
    waits: bool = False


@dataclass(frozen=True)
class Asked:
    """One request, whatever its protocol: the tools with the schemas of their arguments, and how many have answered."""

    text: str
    tools: Mapping[str, Mapping[str, Any]]
    answered: int
    stream: bool = True
    wants_json: bool = False
    model: str = "mock"


@dataclass(frozen=True)
class Call:
    """One call of a tool."""

    name: str
    arguments: Mapping[str, Any]
    call_id: str

    @property
    def raw(self) -> str:
        return json.dumps(self.arguments)


def offered(play: Play, text: str) -> list[str]:
    """The watched skills that stand in a request with their descriptions, or the start of them."""
    flat = " ".join(text.split())
    return sorted(name for name, about in play.watched.items() if name in flat and " ".join(about.split())[:40] in flat)


def move(play: Play, asked: Asked) -> Call | str:
    """What the model does next: a call of a tool, or its last message."""
    if asked.wants_json:
        return "{}"
    if not asked.tools:
        return "ok"
    seen = offered(play, asked.text) if not play.waits or ORDERED in asked.text else []
    work = play.half if not seen else play.work if isinstance(play.work, str) else play.work(asked.text)
    served = {
        tail: tool for tail in ("list_skills", "read_skill") for tool in asked.tools if tool.endswith(tail)
    } if play.looks or HINTED in asked.text else {}  # fmt: skip
    if served:
        opened = [(served["list_skills"], {}), *((served["read_skill"], {"name": name}) for name in seen)]
    else:
        opened = [_open(play, asked, name) for name in seen]
    idle = [f"echo step {number}" for number in range(play.before)]
    calls = [*opened, *(_run(asked, words) for words in (*idle, work) if words)]
    if asked.answered >= len(calls):
        return play.final if isinstance(play.final, str) else play.final(asked.text)
    name, arguments = calls[asked.answered]
    return Call(name, arguments, f"call_{asked.answered + 1}")


def strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def _open(play: Play, asked: Asked, name: str) -> tuple[str, dict[str, Any]]:
    path = f"{play.folder}/{name}/SKILL.md"
    tool = _first(asked, SKILL_TOOLS) if play.reader == "skill" else None
    if tool:
        return tool, _filled(asked.tools[tool], name, ("skill", "name", "command"))
    tool = _first(asked, READ_TOOLS) if play.reader == "file" else None
    if tool:
        return tool, _filled(asked.tools[tool], path, ("file_path", "filePath", "absolute_path", "path"))
    return _run(asked, f"cat {path}")


def _run(asked: Asked, command: str) -> tuple[str, dict[str, Any]]:
    tool = _first(asked, SHELL_TOOLS)
    if tool is None:
        raise LookupError(f"no shell among {sorted(asked.tools)}")
    return tool, _filled(asked.tools[tool], command, ("command", "cmd", "commands", "argv"))


def _first(asked: Asked, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in asked.tools), None)


def _filled(schema: Mapping[str, Any], value: str, keys: tuple[str, ...]) -> dict[str, Any]:
    """Arguments with the value under the first of the keys that the schema knows, and all that it requires besides."""
    known = schema.get("properties") or {keys[0]: {}}
    key = next((key for key in keys if key in known), keys[0])
    array = known.get(key, {}).get("type") == "array"
    given: dict[str, Any] = {key: ["bash", "-c", value] if array else value}
    for other in schema.get("required", ()):
        given.setdefault(other, _plain(known.get(other, {})))
    return given


def _plain(schema: Mapping[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    return {"boolean": False, "integer": 0, "number": 0, "array": [], "object": {}}.get(
        schema.get("type", "string"), "as asked"
    )
