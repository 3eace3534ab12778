"""What an agent's program needs to be seen in a sandbox: its own files, and the interpreter that runs it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from skill_health.core.files import open_binary
from skill_health.effectiveness.agents._api import Agent
from skill_health.effectiveness.sandbox._host import SYSTEM, installation, interpreter, is_below, real_word
from skill_health.effectiveness.workspace.process import clean_environment

_MODULES = "/node_modules"
_PLAIN = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclass(frozen=True, slots=True)
class Needs:
    """The command as it can be started inside, what must be readable for it, and folders for the search path."""

    argv: tuple[str, ...]
    readable: tuple[str, ...]
    folders: tuple[str, ...]


def needs(argv: Sequence[str], agent: Agent, inside: tuple[str, ...] = ()) -> Needs:
    """What a command of an agent needs; a program below the folders `inside` is there already.

    That are the program itself (with the packages around it, where it is one of npm or of a virtual environment), what
    the agent's module names in READABLE, and words of the command that are files of either or of ours. Other words are
    the user's, and no path that stands there is shown to anybody.
    """
    given = tuple(getattr(agent, "READABLE", ()))
    program = real_word(argv[0])
    readable = [*given]
    folders: list[str] = []
    if os.path.isabs(program) and not is_below(program, inside) and os.path.exists(program):
        real = os.path.realpath(program)
        if _MODULES + "/" in real and _MODULES + "/" not in program:
            program = real
        readable += _around(program)
        folders.append(os.path.dirname(program))
        if _asks_for_node(real):
            node = _node()
            readable += node[1:]
            folders += node[:1]
    roots = (*given, _PACKAGE)
    readable += [word for word in argv[1:] if is_below(word, roots) and os.path.exists(word)]
    return Needs((program, *argv[1:]), tuple(dict.fromkeys(readable)), tuple(dict.fromkeys(folders)))


def search_path(isolated: bool, folders: Sequence[str] = ()) -> str:
    """Where programs are looked for: these folders, our interpreter's and the system's, and without a sandbox all."""
    if not isolated:
        inherited = clean_environment("", "")["PATH"]
        return os.pathsep.join([*folders, inherited])
    return os.pathsep.join(dict.fromkeys([*folders, os.path.dirname(interpreter()), *_PLAIN]))


def _around(program: str) -> Iterator[str]:
    """The files that belong to a program, but for those of the system."""
    real = os.path.realpath(program)
    for path in (program, real):
        if _MODULES + "/" in path:
            yield path[: path.index(_MODULES + "/") + len(_MODULES)]
    if _MODULES + "/" in real or (is_below(real, SYSTEM) and is_below(program, SYSTEM)):
        return
    prefix = os.path.dirname(os.path.dirname(real))
    if os.path.isfile(os.path.join(prefix, "pyvenv.cfg")):
        yield prefix
        yield from _base_of(prefix)
    if program != interpreter():
        yield program


def _base_of(prefix: str) -> Iterator[str]:
    """The installation that a virtual environment was made from, but for the system's."""
    python = os.path.realpath(os.path.join(prefix, "bin", "python"))
    if not is_below(python, SYSTEM):
        yield from installation(os.path.dirname(os.path.dirname(python)))


def _asks_for_node(real: str) -> bool:
    """Whether a program is run by node, or comes with programs that are."""
    return _MODULES + "/" in real or is_for_node(real)


def is_for_node(real: str) -> bool:
    """Whether a program is a script that asks for node."""
    try:
        with open_binary(real) as stream:
            line = stream.readline(200)
    except OSError:
        return False
    return line.startswith(b"#!") and b"node" in line


@cache
def _node() -> tuple[str, ...]:
    """The folder of node, and what must be readable for it; () where there is none."""
    found = shutil.which("node")
    if found is None:
        return ()
    real = os.path.realpath(found)
    if is_below(real, SYSTEM):
        return (os.path.dirname(real),)
    prefix = os.path.dirname(os.path.dirname(real))
    whole = any(os.path.isdir(os.path.join(prefix, *inner)) for inner in (("lib", "node_modules"), ("include", "node")))
    return (os.path.dirname(real), *installation(prefix)) if whole else (os.path.dirname(real), real)
