"""Which skills an agent opened, and by what.

Opened is: asked for by a tool for skills, read by a tool for files, or read by a command of a shell. Listing a folder,
or finding or writing a SKILL.md, is not. That a skill was opened says nothing about whether it was followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import normpath
from typing import Any

from skill_health.effectiveness.agents._api import ToolUse
from skill_health.effectiveness.agents._shell import reads, script_of
from skill_health.effectiveness.agents._stream import one_line
from skill_health.effectiveness.records import SkillCopy
from skill_health.skill import frontmatter
from skill_health.skill.decode import decode

_SKILL_TOOLS = frozenset(("skill", "activateskill", "useskill", "loadskill", "readskill", "invokeskill"))
_READ_TOOLS = frozenset(
    ("read", "readfile", "readmanyfiles", "readtextfile", "view", "viewfile", "openfile", "cat", "fsread", "fsreadtextfile")
)  # fmt: skip
_SHELL_TOOLS = frozenset(
    ("bash", "shell", "execcommand", "shellcommand", "runshellcommand", "runcommand", "commandexecution", "executecommand",
     "localshell", "terminal", "exec", "run")
)  # fmt: skip
_NAMED = ("skill", "name", "skill_name", "skillName", "command")
_PATHS = (
    "file_path", "filePath", "path", "absolute_path", "filename", "target_file", "uri", "paths", "files", "locations",
)  # fmt: skip
_COMMANDS = ("command", "cmd", "script", "commands", "argv")
_WIDTH = 160
# Lines of a skill's body by which it is known again in what a command printed.
_TELLING, _MOST_LINES, _ENOUGH = 24, 60, 2


def opened(
    tools: Iterable[ToolUse], skills: Sequence[SkillCopy], folder: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the staged skills that were opened, in the order of their opening, and one short line for each.

    `folder` is the one below the workspace that the skills are staged in. A call that failed counts only where what
    came back holds text of the skill.
    """
    found: dict[str, str] = {}
    telling = _telling(skills)
    for tool in tools:
        for name, how in _opened(tool, telling, folder.strip("/")):
            found.setdefault(name, one_line(how, _WIDTH))
        if len(found) == len(telling):
            break
    return tuple(found), tuple(found.values())


def _opened(tool: ToolUse, telling: Mapping[str, tuple[str, ...]], folder: str) -> Iterator[tuple[str, str]]:
    kind = "".join(letter for letter in tool.name.lower() if letter.isalnum())
    if kind in _SKILL_TOOLS:
        for given in _texts(tool.arguments, _NAMED):
            name = given.strip().lstrip("/").rpartition(":")[2]
            if name in telling and not tool.failed:
                yield name, f"{tool.name} {name}"
    elif kind in _READ_TOOLS:
        for given in _texts(tool.arguments, _PATHS):
            name = _skill_at(normpath(given.removeprefix("file://")), folder)
            if name in telling and not tool.failed:
                yield name, f"{tool.name} {given}"
    elif kind in _SHELL_TOOLS:
        yield from _read_by_shell(tool, telling, folder)


def _read_by_shell(tool: ToolUse, telling: Mapping[str, tuple[str, ...]], folder: str) -> Iterator[tuple[str, str]]:
    shown = {name for name, lines in telling.items() if _shows(tool.result or "", lines)}
    workdir = next(_texts(tool.arguments, ("workdir", "cwd", "dir", "directory")), "")
    for script in map(script_of, (tool.arguments.get(key) for key in _COMMANDS)):
        for path, command in reads(script, workdir):
            name = _skill_at(path, folder)
            if name in telling and (name in shown or not tool.failed):
                yield name, f"shell: {command}"
        # Wildcards, variables and folders of earlier calls: what was printed tells.
        if "SKILL.md" in script or folder in script:
            for name in sorted(shown):
                yield name, f"shell, which printed it: {script}"


def _skill_at(path: str, folder: str) -> str:
    """The name of the skill whose SKILL.md in the folder of skills has this path; "" for any other path."""
    parts, above = path.split("/"), folder.split("/")
    fits = len(parts) > len(above) + 1 and parts[-1] == "SKILL.md" and parts[-2 - len(above) : -2] == above
    return parts[-2] if fits else ""


def _telling(skills: Sequence[SkillCopy]) -> dict[str, tuple[str, ...]]:
    """The first long lines of each skill's body, without those that stand in another one, too."""
    lines = {skill.name: dict.fromkeys(_body(skill)) for skill in skills}
    times = Counter(line for of in lines.values() for line in of)
    return {name: tuple(line for line in of if times[line] == 1)[:_MOST_LINES] for name, of in lines.items()}


def _body(skill: SkillCopy) -> list[str]:
    raw = next((file.data for file in skill.files if file.path == "SKILL.md"), b"")
    body = frontmatter.read(decode(raw)[0]).content
    return [stripped for line in body.split("\n") if len(stripped := line.strip()) >= _TELLING]


def _shows(result: str, lines: Sequence[str]) -> bool:
    return bool(lines) and sum(line in result for line in lines) >= min(_ENOUGH, len(lines))


def _texts(arguments: Mapping[str, Any], keys: Iterable[str]) -> Iterator[str]:
    for key in keys:
        value = arguments.get(key)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str):
                yield one
            elif isinstance(one, dict) and isinstance(one.get("path"), str):
                yield one["path"]
