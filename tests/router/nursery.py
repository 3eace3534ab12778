"""Runs of the installed command as processes that can be killed: started one by one, or forked from a warm one."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
COMMAND = """
import signal, sys
import simulators
from skill_health.cli import entry, main
"""
# Forks a process for each line of arguments. It makes one run itself first: 50 processes need not import everything.
NURSERY = """
import contextlib, io, json, os
with contextlib.redirect_stdout(io.StringIO()):
    main(json.loads(sys.argv[1]))
for line in sys.stdin:
    arguments, out, err = json.loads(line)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
        os.dup2(os.open(err, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        code = main(arguments)
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def python(code: str, *more: str, **streams: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "OPENBLAS_NUM_THREADS": "1"}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    return subprocess.Popen([sys.executable, "-c", COMMAND + code, *more], env=environment, text=True, **pipes)


def start(given: Sequence[str]) -> subprocess.Popen[str]:
    return python("sys.exit(main())", *given)


def finish(process: subprocess.Popen[str], timeout: float = 600) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def interrupt_twice(process: subprocess.Popen[str]) -> None:
    """Ctrl-C, and again when the first has been answered."""
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert any("to end" in line for line in iter(process.stderr.readline, "")), "the first was not answered"
    process.send_signal(signal.SIGINT)


class Nursery:
    """Processes that begin at once, and can be killed as any other."""

    def __init__(self, folder: Path, first: Sequence[str]) -> None:
        self.process = python(NURSERY, json.dumps(first), stdin=subprocess.PIPE, stderr=None)
        self.out, self.err = folder / "stdout", folder / "stderr"

    def run(self, given: Sequence[str], kill_when: Callable[[], bool] | None = None) -> int:
        """The exit code, -9 where it was killed as soon as this held."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([given, str(self.out), str(self.err)]) + "\n")
        self.process.stdin.flush()
        child = int(self.process.stdout.readline())
        while kill_when is not None and not select.select([self.process.stdout], [], [], 0.001)[0]:
            if kill_when():
                # It may have come to its end at just this moment, and then that is what it did.
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
                break
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate(timeout=600)


@contextmanager
def nursery_in(folder: Path, *first: str) -> Iterator[Nursery]:
    """A nursery for a module; who is killed leaves workspaces behind in its folder."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        found = Nursery(folder, first)
    yield found
    found.close()


def wait_until(condition: Callable[[], Any], process: subprocess.Popen[str] | None = None) -> Any:
    """What the condition gives as soon as that is something, for as long as the process lives."""
    while not (found := condition()):
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.01)
    return found


def lines_of(out: Path, pattern: str) -> int:
    """How many lines the file has that fits the pattern, where there is one."""
    return sum(path.read_bytes().count(b"\n") for path in out.glob(pattern))


def kill_when(out: Path, pattern: str, draw: Random, most: int) -> Callable[[], bool]:
    """Whether a random number of lines has come, from those that are there to all; never where all are there."""
    there = lines_of(out, pattern)
    wanted, later = draw.randint(there, most), iter(range(draw.randrange(20)))
    return lambda: there < most and lines_of(out, pattern) >= wanted and next(later, None) is None


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]
