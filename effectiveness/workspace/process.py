"""A command as a process: clean environment, time limit, bounded output, and nothing of it left running."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

MAX_OUTPUT = 64 << 10
_POLL = 0.05
# How long the pipes are read after the end: somebody who left the group may hold them open for ever.
_GRACE = 0.5
_PLAIN_PATH = "/usr/local/bin:/usr/bin:/bin"

Pipes = Mapping[IO[bytes], bytearray]


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a process ended. `exit_code` is None after a timeout and negative after a signal.

    `stdout` and `stderr` are the first MAX_OUTPUT bytes of each; the rest was read and thrown away.
    """

    exit_code: int | None
    stdout: str = ""
    stderr: str = ""


def clean_environment(home: str, temporary: str, more: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """An environment with nothing of the user's in it: no keys, no settings, no virtual environment, UTC, UTF-8.

    `more` comes on top. Git asks nobody and reads no settings.
    """
    return {
        "PATH": _system_path(os.environ.get("PATH", "")),
        "HOME": home,
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        **dict(more),
    }


def run_process(argv: Sequence[str], cwd: str, environment: Mapping[str, str], timeout_sec: float) -> ProcessResult:
    """Run a command without input, in a process group of its own that does not outlive this call."""
    try:
        process = subprocess.Popen(
            argv, cwd=cwd, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        return ProcessResult(127, stderr=f"{argv[0]}: {error.strerror or 'cannot be run'}")
    with process:
        kept = {stream: bytearray() for stream in (process.stdout, process.stderr) if stream is not None}
        try:
            ended = _read_until_end(process, kept, time.monotonic() + timeout_sec)
        finally:
            _kill_group(process.pid)
        process.wait()
        _read_until_end(process, kept, time.monotonic() + _GRACE, drain=True)
        texts = [bytes(data).decode("utf-8", "replace") for data in kept.values()]
    return ProcessResult(process.returncode if ended else None, *texts)


def _read_until_end(process: subprocess.Popen[bytes], kept: Pipes, deadline: float, drain: bool = False) -> bool:
    """Read both pipes until the process ends (to drain them: until they are closed); False where time is up first."""
    with selectors.DefaultSelector() as selector:
        for stream, buffer in kept.items():
            selector.register(stream, selectors.EVENT_READ, buffer)
        while True:
            open_pipes = bool(selector.get_map())
            if (drain and not open_pipes) or (not drain and process.poll() is not None):
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if not open_pipes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(min(_POLL, left))
                continue
            for key, _ in selector.select(min(_POLL, left)):
                data = os.read(key.fd, 1 << 16)
                if not data:
                    selector.unregister(key.fileobj)
                key.data.extend(data[: max(0, MAX_OUTPUT - len(key.data))])


def _kill_group(pid: int) -> None:
    """End the whole group of a process that was started as its leader; it may be gone already."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _system_path(path: str) -> str:
    """The search path with the interpreter that we stand on, and without the environment that we run in.

    A script must not lean on packages that merely happen to be installed beside us.
    """
    ours = {os.path.join(prefix, "bin") for prefix in (os.environ.get("VIRTUAL_ENV"), sys.prefix) if prefix}
    base = os.path.join(sys.base_prefix, "bin")
    kept = [part for part in path.split(os.pathsep) if os.path.isabs(part) and part not in ours]
    return os.pathsep.join([base, *(kept or [_PLAIN_PATH])])
