"""Runs of the installed command as processes that can be killed: started one by one, or forked from a warm one."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


def finish(process: subprocess.Popen[str], timeout: float = 60) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


class Nursery:
    """Processes that begin at once, and can be killed as any other."""

    def __init__(self, folder: Path, first: Sequence[str]) -> None:
        self.process = python(NURSERY, json.dumps(first), stdin=subprocess.PIPE, stderr=None)
        self.out, self.err = folder / "stdout", folder / "stderr"

    def run(self, given: Sequence[str], kill_after: float | None = None) -> int:
        """The exit code, -9 where it was killed after so many seconds."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps([given, str(self.out), str(self.err)]) + "\n")
        self.process.stdin.flush()
        child = int(self.process.stdout.readline())
        if kill_after is not None:
            ready, _, _ = select.select([self.process.stdout], [], [], kill_after)
            if not ready:
                os.kill(child, signal.SIGKILL)
        return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate(timeout=60)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]
