"""Which files named SKILL.md a command of a shell reads, as far as its text tells. Nothing is run or expanded."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from posixpath import basename, join, normpath
from typing import Any

from skill_health.text.patterns import lazy

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
