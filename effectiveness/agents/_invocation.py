"""Which skills an agent opened, and by what.

Opened is: asked for by a tool for skills, read by a tool for files, or read by a command of a shell. Listing a folder,
or finding or writing a SKILL.md, is not. That a skill was opened says nothing about whether it was followed.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import basename, join, normpath
from typing import Any

from skill_health.effectiveness.agents._api import ToolUse
from skill_health.effectiveness.delivery.served import READ, tool_of
from skill_health.effectiveness.records import SkillCopy
from skill_health.skill import frontmatter
from skill_health.skill.decode import decode
from skill_health.text.patterns import lazy
from skill_health.text.terminal import one_line

_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ash", "ksh"))
_INTERPRETERS = ("python", "node", "perl", "ruby", "php", "deno", "bun")
# What stands in front of a command, and what names files without reading them to anybody.
_BEFORE = frozenset(
    ("sudo", "env", "time", "nice", "nohup", "command", "exec", "xargs", "stdbuf", "timeout", "if", "then", "else", "elif",
     "while", "until", "do", "!", "{", "builtin")
)  # fmt: skip
_NOT_READING = frozenset(
    ("[", "[[", "basename", "case", "cd", "chmod", "chown", "cp", "dirname", "du", "echo", "fd", "file", "find", "for",
     "git", "install", "ln", "ls", "md5sum", "mkdir", "mv", "popd", "printf", "pushd", "readlink", "realpath", "rm",
     "rsync", "sha256sum", "stat", "tee", "test", "touch", "tree", "unlink", "wc", "which")
)  # fmt: skip
_PATH = lazy(r"""(?<![^\s'"`()<>|;&=,:])[^\s'"`()<>|;&=,:]*SKILL\.md(?![\w.-])""")
_HEREDOC = lazy(r"""<<-?[ \t]*(["']?)([A-Za-z_]\w*)\1""")
_ASSIGNMENT = lazy(r"[A-Za-z_]\w*=\S*\s*")
_LONGEST, _DEEPEST = 1 << 16, 4


def script_of(value: Any) -> str:
    """The script in an argument of a tool: a text, or the words of a command; "" for anything else."""
    if isinstance(value, str):
        return value[:_LONGEST]
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return shlex.join(value)[:_LONGEST]
    return ""


def reads(script: str, folder: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """The paths of each SKILL.md that a command names to read it, with the text of that command.

    `folder` is where it is run; a `cd` is followed, `bash -c '...'` unwrapped.
    """
    for segment in _segments(_without_documents(script[:_LONGEST])):
        words = _words(segment)
        program = basename(words[0]) if words else ""
        if program in ("cd", "pushd") and len(words) > 1:
            folder = normpath(join(folder, words[1]))
        elif program in _SHELLS and (inner := _inner(words)):
            if depth < _DEEPEST:
                yield from reads(inner, folder, depth + 1)
        elif program and program not in _NOT_READING and not _edits(program, words):
            for match in _PATH.finditer(segment):
                if not segment[: match.start()].rstrip("\"' \t").endswith(">"):
                    yield normpath(join(folder, match.group())), segment.strip()


def _inner(words: list[str]) -> str:
    """The script of `bash -c SCRIPT`."""
    for at, word in enumerate(words[1:-1], 1):
        if not word.startswith("-"):
            break
        if not word.startswith("--") and word.endswith("c"):
            return words[at + 1]
    return ""


def _edits(program: str, words: list[str]) -> bool:
    return program in ("sed", "perl") and any(word.startswith("-") and word[1:2] == "i" for word in words[1:])


def _words(segment: str) -> list[str]:
    """The words of one command, without assignments and whatever else stands before its program."""
    text = segment.strip()
    while match := _ASSIGNMENT.match(text):
        text = text[match.end() :]
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    wrapped = False
    while words and (words[0] in _BEFORE or (wrapped and (words[0][:1] in "-0123456789" or "=" in words[0]))):
        wrapped = words.pop(0) not in ("!", "{") or wrapped
    return words


def _segments(script: str) -> Iterator[str]:
    """The script cut into simple commands, with what is substituted as commands of its own."""
    start, at, quote = 0, 0, ""
    around: list[str] = []
    while at < len(script):
        char, size = script[at], 1
        cut = False
        if char == "\\" and quote != "'":
            size = 2
        elif quote != "'" and script.startswith("$(", at):
            around.append(quote)
            cut, size, quote = True, 2, ""
        elif char == quote:
            quote = ""
        elif quote:
            cut = quote == '"' and char == "`"
        elif char in "'\"":
            quote = char
        elif char == "(":
            around.append("")
            cut = True
        elif char == ")":
            quote = around.pop() if around else ""
            cut = True
        elif char in ";|\n`":
            cut = True
        elif char == "&":
            # A redirection such as 2>&1 or &>file is no end of a command.
            cut = script[at - 1 : at] != ">" and script[at + 1 : at + 2] != ">"
        if cut:
            yield script[start:at]
            start = at + size
        at += size
    yield script[start:]


def _without_documents(script: str) -> str:
    """The script without the text of here-documents, unless a program is given in one."""
    if "<<" not in script:
        return script
    kept: list[str] = []
    end, keep = "", True
    for line in script.split("\n"):
        if end:
            if line.strip() == end:
                end = ""
            elif keep:
                kept.append(line)
            continue
        kept.append(line)
        if match := _HEREDOC.search(line):
            end = match.group(2)
            words = _words(list(_segments(line[: match.start()]))[-1])
            program = basename(words[0]) if words else ""
            keep = program.startswith(_INTERPRETERS) or program in _SHELLS
    return "\n".join(kept)


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
    telling = telling_lines(skills)
    for tool in tools:
        for name, how in _opened(tool, telling, folder.strip("/")):
            found.setdefault(name, one_line(how, _WIDTH))
        if len(found) == len(telling):
            break
    return tuple(found), tuple(found.values())


def _opened(tool: ToolUse, telling: Mapping[str, tuple[str, ...]], folder: str) -> Iterator[tuple[str, str]]:
    kind = "".join(letter for letter in tool.name.lower() if letter.isalnum())
    if kind in _SKILL_TOOLS or tool_of(tool.name) == READ:
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
    shown = {name for name, lines in telling.items() if shows(tool.result or "", lines)}
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


def telling_lines(skills: Sequence[SkillCopy]) -> dict[str, tuple[str, ...]]:
    """The first long lines of each skill's body, without those that stand in another one, too."""
    lines = {skill.name: dict.fromkeys(_body(skill)) for skill in skills}
    times = Counter(line for of in lines.values() for line in of)
    return {name: tuple(line for line in of if times[line] == 1)[:_MOST_LINES] for name, of in lines.items()}


def _body(skill: SkillCopy) -> list[str]:
    raw = next((file.data for file in skill.files if file.path == "SKILL.md"), b"")
    body = frontmatter.read(decode(raw)[0]).content
    return [stripped for line in body.split("\n") if len(stripped := line.strip()) >= _TELLING]


def shows(result: str, lines: Sequence[str]) -> bool:
    """Whether a text holds enough of the telling lines of a skill to say that it is the skill's."""
    return bool(lines) and sum(line in result for line in lines) >= min(_ENOUGH, len(lines))


def _texts(arguments: Mapping[str, Any], keys: Iterable[str]) -> Iterator[str]:
    for key in keys:
        value = arguments.get(key)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str):
                yield one
            elif isinstance(one, dict) and isinstance(one.get("path"), str):
                yield one["path"]
