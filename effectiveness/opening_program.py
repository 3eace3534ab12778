"""The program of an agent: where it is, and which version it says that it is."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache

from skill_health.core.errors import UsageError
from skill_health.core.extras import require_modules
from skill_health.effectiveness.agents._api import Agent
from skill_health.effectiveness.check_process import clean_environment, run_process
from skill_health.text.patterns import lazy

_TIMEOUT = 30.0
_VERSION = lazy(r"(?<!\d)\d+(?:\.\d+)+[\w.+-]*")


def program_of(name: str, agent: Agent) -> str:
    """The absolute path of an agent's executable, "" for an agent of our own. Raises UsageError where it is missing."""
    require_modules(name, agent.IMPORTS)
    if not agent.PROGRAM:
        return ""
    found = shutil.which(agent.PROGRAM)
    if found is None:
        raise UsageError(f"{name} needs the program {agent.PROGRAM}, which is not on PATH: install it")
    return os.path.abspath(found)


@cache
def version_of(program: str) -> str | None:
    """The version that a program says when it is asked with --version, in a home of its own; None where it does not."""
    with tempfile.TemporaryDirectory(prefix="skill-health-") as folder:
        environment = clean_environment(folder, folder) | {"PATH": os.environ.get("PATH", os.defpath)}
        ran = run_process((program, "--version"), folder, environment, _TIMEOUT)
    found = _VERSION.search(ran.stdout) if ran.exit_code == 0 else None
    return found.group() if found else None
