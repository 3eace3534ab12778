"""Programs of the host in a container of whatever image: started through the host's own loader, with its own libraries.

Nothing of the image is needed for that, neither a Python nor the C library that a program was made for, and nothing of
it is changed: all lies in folders of its own.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from functools import cache

from skill_health.core.files import open_binary
from skill_health.effectiveness.sandbox._api import PrivateProgram
from skill_health.effectiveness.sandbox._host import interpreter
from skill_health.effectiveness.workspace.process import run_process
from skill_health.effectiveness.workspace.programs import is_for_node

PLACE = "/run/host"
_LIBRARIES = f"{PLACE}/lib"
_TIMEOUT = 30.0
_ELF, _WIDE, _INTERPRETER = b"\x7fELF", 2, 3


@cache
def private_python() -> PrivateProgram:
    """Our own interpreter with the base library, for the supervisor and for agents of ours."""
    program = interpreter()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    start = f"{PLACE}/python/bin/{version}"
    library = os.path.dirname(os.path.realpath(os.__file__))
    more = (library, f"{PLACE}/python/lib/{version}")
    compiled = os.path.join(library, "lib-dynload")
    names = sorted(os.listdir(compiled)) if os.path.isdir(compiled) else []
    others = [os.path.join(compiled, name) for name in names if name.endswith(".so") and "test" not in name]
    return _private(program, start, others, more)


def libraries_of(files: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """What compiled files that our own interpreter loads ask for beside its own libraries, where it looks for them."""
    loader = loader_of(interpreter())
    if not loader:
        return ()
    own = {inside for _, inside in private_python().mounts}
    asked = {f"{_LIBRARIES}/{name}": path for file in files for name, path in _libraries(loader, file)}
    return tuple((path, inside) for inside, path in sorted(asked.items()) if inside not in own)


BIN = f"{PLACE}/bin"
"""Where programs find the host's node inside, if one of them asks for it."""


def ways_to_start(program: str) -> Iterator[PrivateProgram]:
    """How a program of the host may be started in an image, the most usual way first; its own folders are mounted.

    A script for node gets the host's node. One that is a file by itself finds what it carries by its own path, so that
    it is started through another loader only where it has to be.
    """
    node = shutil.which("node") if is_for_node(os.path.realpath(program)) else None
    if node is not None:
        real = os.path.realpath(node)
        yield PrivateProgram((f"{BIN}/node", program), ((real, f"{BIN}/node"),))
        private = _private(real, f"{BIN}/node", ())
        yield PrivateProgram((*private.words, program), private.mounts)
        return
    yield PrivateProgram((program,), ())
    real = os.path.realpath(program)
    if loader_of(real):
        private = _private(real, program, ())
        yield PrivateProgram(private.words, tuple(pair for pair in private.mounts if pair[1] != program))


def _private(program: str, start: str, others: Iterable[str], *more: tuple[str, str]) -> PrivateProgram:
    """A program with the libraries that it and the files `others` ask for, and what else has to be mounted."""
    loader = loader_of(program)
    if not loader:
        return PrivateProgram((start,), ((program, start), *more))
    asked = {name: path for file in (program, *others) for name, path in _libraries(loader, file)}
    asked[os.path.basename(loader)] = os.path.realpath(loader)
    mounts = ((program, start), *more, *((path, f"{_LIBRARIES}/{name}") for name, path in sorted(asked.items())))
    words = (f"{_LIBRARIES}/{os.path.basename(loader)}", "--library-path", _LIBRARIES, "--argv0", start, start)
    return PrivateProgram(words, mounts)


def loader_of(program: str) -> str:
    """The loader that a program of Linux names; "" for one that needs none, and for what is no such program."""
    try:
        with open_binary(program) as stream:
            head = stream.read(64)
            if head[:4] != _ELF or head[4] != _WIDE:
                return ""
            start, size, count = (int.from_bytes(head[at:end], "little") for at, end in ((32, 40), (54, 56), (56, 58)))
            stream.seek(start)
            table = stream.read(size * count)
            for entry in (table[at : at + size] for at in range(0, len(table), size)):
                if int.from_bytes(entry[:4], "little") == _INTERPRETER:
                    stream.seek(int.from_bytes(entry[8:16], "little"))
                    return stream.read(int.from_bytes(entry[32:40], "little")).rstrip(b"\0").decode("utf-8", "replace")
    except OSError:
        pass
    return ""


def _libraries(loader: str, file: str) -> Iterator[tuple[str, str]]:
    """The libraries that a file needs, by the names that they are asked for, as the loader itself lists them."""
    ran = run_process((loader, "--list", file), os.sep, {}, _TIMEOUT)
    for line in ran.stdout.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        path = rest.rpartition(" (")[0]
        if arrow and os.path.isfile(path) and "/" not in name:
            yield name, os.path.realpath(path)
