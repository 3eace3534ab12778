"""Processes that got away without a sandbox, because they killed the supervisor that was to end them."""

from __future__ import annotations

import os
import signal
import time

_ROUNDS = 20


def end_leftovers(temporary: str) -> None:
    """Kill every process of ours that has this folder as its TMPDIR, as all have that a trial started.

    Only for a supervisor that died: who gives itself another environment as well is not found. Does nothing where
    there is no /proc.
    """
    mark = f"TMPDIR={temporary}".encode("utf-8", "surrogateescape")
    for _ in range(_ROUNDS):
        found = [pid for pid in _processes() if mark in _environment(pid)]
        if not found:
            return
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.01)


def _processes() -> list[int]:
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    return [int(name) for name in names if name.isdigit() and int(name) != os.getpid()]


def _environment(pid: int) -> list[bytes]:
    """The variables that a process was started with; none for a dead one and for one of somebody else."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            return stream.read().split(b"\0")
    except OSError:
        return []
