"""Which agents' programs are installed here, and in which version."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Event

from effectiveness.agents._load import Info
from effectiveness.agents._stream import one_line
from skill_health.core.patterns import lazy

_VERSION = lazy(r"(?<![\w.])v?(\d+(?:\.\d+)+[\w.+-]*)")
_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Installed:
    """An agent and its program: the absolute path of the executable, "" where there is none or none is needed.

    `version` is what the program says of itself, None where it says nothing that looks like one; an agent of our own
    has ours.
    """

    info: Info
    program: str = ""
    version: str | None = None

    @property
    def ready(self) -> bool:
        """Whether it can be started: what it needs is there."""
        return not self.info.missing and bool(self.program or not self.info.agent.PROGRAM)


def program_of(name: str) -> str:
    """The absolute path of a program on PATH, links resolved; "" where there is none."""
    found = shutil.which(name) if name else None
    return os.path.realpath(found) if found else ""


def version_of(program: str) -> str | None:
    """What `PROGRAM --version` says, started with a fresh home and none of the user's environment."""
    from effectiveness.check_process import clean_environment, run_process
    from effectiveness.check_workspace import fresh_places

    with fresh_places("", Event()) as places:
        environment = clean_environment(places.home, places.temporary)
        ran = run_process([program, "--version"], places.workspace, environment, _TIMEOUT)
    said = _VERSION.search(ran.stdout[:2000]) or _VERSION.search(ran.stderr[:2000])
    return one_line(said.group(1), 60) if said and ran.exit_code == 0 else None


def look_for(agents: Iterable[Info]) -> list[Installed]:
    """Each agent with its program and version. Programs are asked side by side: some need seconds to say it."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(_found, agents))


def _found(info: Info) -> Installed:
    from skill_health import __version__

    if not info.agent.PROGRAM:
        return Installed(info, "", __version__)
    program = program_of(info.agent.PROGRAM)
    return Installed(info, program, version_of(program) if program else None)
