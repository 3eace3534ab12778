"""Which agents' programs are installed here, and in which version."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass

from skill_health.effectiveness.agents._load import AgentInfo


@dataclass(frozen=True, slots=True)
class Installed:
    """An agent and its program: the absolute path of the executable, "" where none is there or none is needed.

    `version` is what the program says of itself, None where it says nothing that looks like one; an agent of our own
    has ours.
    """

    info: AgentInfo
    program: str = ""
    version: str | None = None

    @property
    def ready(self) -> bool:
        """Whether it can be started: what it needs is there."""
        return not self.info.missing and bool(self.program or not self.info.agent.PROGRAM)


def look_for(agents: Iterable[AgentInfo]) -> list[Installed]:
    """Each agent with its program and version. Programs are asked side by side: some need seconds to say it."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(_found, agents))


def _found(info: AgentInfo) -> Installed:
    from skill_health import __version__
    from skill_health.effectiveness.opening_program import version_of

    if not info.agent.PROGRAM:
        return Installed(info, "", __version__)
    found = shutil.which(info.agent.PROGRAM)
    return Installed(info, os.path.abspath(found), version_of(os.path.abspath(found))) if found else Installed(info)
