"""Runs commands in turn, and measures each run: wall clock, processor time and peak memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# ru_maxrss is in KiB on Linux and in bytes on macOS.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Failed(Exception):
    """Something could not be measured; the text says why."""


class Options(NamedTuple):
    """The options of every question.

    `scratch` is an empty folder of its own, `tree` a real collection, `against` another checkout of this project; None
    for none.
    """

    scratch: Path
    tree: Path | None
    skills: int
    seed: int
    rounds: int
    agnix: str | None
    against: Path | None = None


class Command(NamedTuple):
    """A program to time. `before` runs ahead of each run, untimed; any exit code other than `codes` is a failure."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    before: Callable[[], None] | None = None
    codes: tuple[int, ...] = (0, 1)


class Sample(NamedTuple):
    """One run: seconds of wall clock, seconds of processor time of all processes, peak bytes of any one process."""

    wall: float
    cpu: float
    peak: int


def environment(scratch: Path, **more: str) -> dict[str, str]:
    """A clean environment: this checkout, no user settings, a cache of its own."""
    keep = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    cache = str(scratch / "cache")
    return keep | {"HOME": str(scratch), "PYTHONPATH": str(ROOT), "SKILL_HEALTH_CACHE_DIR": cache} | more


def python(*args: str) -> list[str]:
    """A command line for this very interpreter."""
    return [sys.executable, *args]


def skill_health(*args: str) -> list[str]:
    """The command line of `skill-health`, as its console script runs it."""
    return python("-m", "skill_health", *args)


def measure(command: Command) -> Sample:
    """Run a command once. Raises Failed if it cannot be run or ends with an unexpected exit code."""
    if command.before is not None:
        command.before()
    start = time.perf_counter()
    try:
        process = subprocess.Popen(
            command.argv, cwd=command.cwd, env=dict(command.env), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        raise Failed(f"{_name(command)} cannot be run: {error.strerror}") from error
    assert process.stderr is not None
    with process.stderr as stream:
        complaint = stream.read()
    # The usage covers the process and all children it waited for; memory is that of the largest of them.
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in command.codes:
        last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise Failed(f"{_name(command)} ended with exit code {process.returncode}: {last[:300]}")
    return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _RSS_UNIT)


def interleave(commands: Mapping[str, Command], rounds: int) -> dict[str, list[Sample]]:
    """Run every command once to warm up, then all of them in turn, `rounds` times: A B C A B C ...

    Other load on the machine then affects all of them alike.
    """
    for command in commands.values():
        measure(command)
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            samples[name].append(measure(command))
    return samples


def _name(command: Command) -> str:
    program, *rest = command.argv
    return " ".join([os.path.basename(program), *rest[:3]])
