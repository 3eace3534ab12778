"""The linter that we compare with, from the package index, in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks._measure import ROOT, Failed

VERSION = "0.59.3"
VENV = ROOT / "build" / "bench-venv"


def program(given: str | None) -> str:
    """The path of an agnix; by default that of build/bench-venv, installed now if necessary.

    Raises Failed if it cannot be installed.
    """
    if given is not None:
        return os.path.abspath(given) if os.sep in given else given
    found = VENV / "bin" / "agnix"
    stamp = VENV / f".agnix-{VERSION}"
    if found.is_file() and stamp.is_file():
        return str(found)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"agnix=={VERSION}"]
    for command in ([sys.executable, "-m", "venv", str(VENV)], [str(VENV / "bin" / "python"), *install]):
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
        if done.returncode:
            last = (done.stderr or done.stdout).strip().rpartition("\n")[2]
            raise Failed(f"agnix {VERSION} cannot be installed (give one with --agnix): {last[:300]}")
    stamp.touch()
    return str(found)
