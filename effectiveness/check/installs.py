"""What a verifier's shell scripts install without a version: a verdict then depends on the day it is given."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_SEPARATORS = frozenset("();<>|&{}")
_LEADING = frozenset(
    ("if", "then", "else", "elif", "while", "until", "do", "!", "sudo", "time", "exec", "command", "env")
)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=")
_VALUED = frozenset(
    "-r --requirement -c --constraint -i --index-url --extra-index-url --default-index --index -t --target -p --python "
    "-f --find-links --root --prefix --cache-dir --timeout --trusted-host --registry --directory --project --retries "
    "--python-version --platform --abi --only-binary --no-binary --group --extra --env-file --torch-backend".split()
)
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)(\[[\w.,\s-]*\])?(.*)\Z", re.DOTALL)
_PYTHON = re.compile(r"python[\d.]*\Z")
_NPM = re.compile(r"(@[\w.-]+/)?[\w.-]+\Z")


@dataclass(frozen=True, slots=True)
class UnpinnedInstall:
    """What a line installs without a version; a `distribution`'s packages are at least those of its release."""

    line: int
    program: str
    packages: tuple[str, ...]
    distribution: bool = False


def unpinned_installs(script: str) -> Iterator[UnpinnedInstall]:
    """Every command of a shell script that installs packages of no certain version, in order.

    What stands in variables, files of requirements, quotes or here-documents is not looked at.
    """
    told: set[tuple[str, tuple[str, ...]]] = set()
    for line, words in shell_commands(script):
        for program, reader in _PROGRAMS.items():
            head = program.split()
            if words[: len(head)] == head:
                packages = tuple(dict.fromkeys(reader(words[len(head) :])))
                if packages and (program, packages) not in told:
                    told.add((program, packages))
                    yield UnpinnedInstall(line, program, packages, program in _DISTRIBUTION)
                break


def shell_commands(script: str) -> Iterator[tuple[int, list[str]]]:
    """The simple commands of a script, each with its line; what cannot be split is passed over."""
    lines = iter(enumerate(script.split("\n"), 1))
    for number, line in lines:
        whole = line
        while whole.endswith("\\"):
            whole = whole[:-1] + " " + next(lines, (0, ""))[1]
        marks = [found.group(2) for found in _HEREDOC.finditer(whole)]
        try:
            lexer = shlex.shlex(whole, posix=True, punctuation_chars="();<>|&")
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError:
            words = []
        yield from ((number, command) for command in _split(words))
        for mark in marks:
            while (_next := next(lines, None)) is not None and _next[1].strip() != mark:
                pass


def _split(words: Sequence[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in [*words, ";"]:
        if word and set(word) <= _SEPARATORS:
            if command:
                yield _bare(command)
            command = []
        elif command or not (word in _LEADING or _ASSIGNED.match(word)):
            command.append(word)


def _bare(command: list[str]) -> list[str]:
    """A command by its plain name: `python3.11 -m pip` is pip."""
    name = command[0].rpartition("/")[2]
    if _PYTHON.match(name) and command[1:2] == ["-m"]:
        return command[2:]
    return ["pip" if re.fullmatch(r"pip[\d.]*", name) else name, *command[1:]]


def _positional(words: Sequence[str]) -> Iterator[str]:
    """The words that are no options and no values of those."""
    passing = False
    for word in words:
        if passing or word.startswith("-"):
            passing = not passing and word in _VALUED
        else:
            yield word


def _python(words: Sequence[str]) -> Iterator[str]:
    """Requirements without `==`; none where files of constraints or requirements may say the versions."""
    if not any(word in ("-c", "--constraint") for word in words):
        yield from (word for word in _positional(words) if _is_open(word))


def _is_open(requirement: str) -> bool:
    """Whether a requirement leaves its version open; a path, an address or a variable is none."""
    found = _REQUIREMENT.match(requirement)
    if not found or any(mark in requirement for mark in ("$", "`", "/", "://", ".whl")) or requirement in (".", ".."):
        return False
    version = found.group(3).strip()
    return not version.startswith("=") and "@" not in version and not re.match(r"\s*;", version)


def _tool(words: Sequence[str]) -> Iterator[str]:
    """`uvx`: what `--with` and `--from` name, and the tool itself, which either may pin."""
    named: list[str] = []
    rest, from_package = list(words), False
    while rest and rest[0].startswith("-"):
        option, _, value = rest.pop(0).partition("=")
        if option in ("--with", "-w", "--from"):
            named += (value or (rest.pop(0) if rest else "")).split(",")
            from_package |= option == "--from"
        elif not value and option in _VALUED and rest:
            rest.pop(0)
    known = {_name(each) for each in named if not _is_open(each)}
    # An interpreter is no package: which one it is, options and surroundings say.
    tool = [] if from_package or any(map(_PYTHON.match, rest[:1])) else rest[:1]
    yield from (each for each in [*named, *tool] if _is_open(each) and _name(each) not in known)


def _name(requirement: str) -> str:
    found = _REQUIREMENT.match(requirement)
    return re.sub(r"[-_.]+", "-", found.group(1)).lower() if found else requirement


def _run_with(words: Sequence[str]) -> Iterator[str]:
    """`uv run`: what `--with` names."""
    yield from (
        each
        for option, value in pairwise(words)
        if option in ("--with", "-w")
        for each in value.split(",")
        if _is_open(each)
    )


def _node(words: Sequence[str]) -> Iterator[str]:
    """Packages of npm without `@` and a number."""
    for word in _positional(words):
        if _NPM.match(word) and word not in (".", ".."):
            yield word


def _plain(words: Sequence[str]) -> Iterator[str]:
    """Packages of a distribution without `=`."""
    yield from (word for word in _positional(words) if re.fullmatch(r"[a-z0-9][a-z0-9.+:-]*", word))


_PROGRAMS: Mapping[str, Callable[[Sequence[str]], Iterator[str]]] = {
    "pip install": _python,
    "uv pip install": _python,
    "uv add": _python,
    "uv tool install": _python,
    "uv tool run": _tool,
    "uv run": _run_with,
    "uvx": _tool,
    "pipx install": _python,
    "npm install": _node,
    "npm i": _node,
    "npm add": _node,
    "apt-get install": _plain,
    "apt install": _plain,
    "apk add": _plain,
}
_DISTRIBUTION = frozenset(("apt-get install", "apt install", "apk add"))
