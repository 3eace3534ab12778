"""Bubblewrap: a root of its own made from what is listed here, no network, no other processes; needs no privileges."""

from __future__ import annotations

import os
import shutil
from functools import cache

from skill_health.core.files import is_there, kind_of
from skill_health.effectiveness.agents._api import Command
from skill_health.effectiveness.sandbox._api import InsidePaths, SandboxSession, WrappedCommand
from skill_health.effectiveness.sandbox._host import (
    HOME,
    SETTINGS,
    SUPERVISOR,
    SUPERVISORS,
    SYSTEM,
    TEMPORARY,
    WORKSPACE,
    interpreter_folders,
    is_below,
)
from skill_health.effectiveness.workspace.process import run_process

TITLE = "bubblewrap (files, network and processes apart)"
ISOLATES = ("files", "network", "processes")

_PROGRAM = "bwrap"
_ETC = os.path.join(os.path.dirname(SUPERVISOR), "etc")
_RUN = "/run/supervisor"
# Whoever is root here is root to these, too, and bubblewrap leaves some of them open.
_PROC = ("sys", "fs", "irq", "bus", "acpi", "scsi", "asound", "sysrq-trigger", "mtrr", "keys", "timer_list", "kcore")
_SHARED_MEMORY = 256 << 20
_TIMEOUT = 20.0
_BASE = (
    "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--as-pid-1", "--uid", "1000", "--gid", "1000",
    "--hostname", "sandbox", "--cap-drop", "ALL", "--clearenv",
)  # fmt: skip
# What older versions do not know, best first.
_FURTHER = (("--disable-userns",), ())


def found() -> str:
    """The version, where one is installed and may make namespaces; proved by running `true` in it."""
    return _tried()[0]


def missing() -> str:
    """Why it cannot be used, in one line."""
    return _tried()[2]


def layout(box: SandboxSession) -> InsidePaths:
    """The same paths for everybody: none of them tells one trial from another."""
    return InsidePaths(WORKSPACE, HOME, TEMPORARY)


def wrap(box: SandboxSession, command: Command) -> WrappedCommand:
    """Bubblewrap with a root that holds what is allowed and nothing else."""
    words = [os.path.join(_RUN, os.path.basename(word)) if word == SUPERVISOR else word for word in command.argv]
    return WrappedCommand((_program(), *_BASE, *_tried()[1], *_root(box), "--", *words), {})


def _root(box: SandboxSession) -> list[str]:
    """The mounts. Later ones lie on top of earlier ones, so their order says what wins."""
    words = _system()
    for folder in box.hidden:
        if is_below(folder, (*SYSTEM, *interpreter_folders())) and kind_of(folder) in ("folder", "unknown"):
            words += ["--tmpfs", folder]
    words += ["--bind", box.temporary, TEMPORARY, "--bind", box.home, HOME]
    words += ["--ro-bind" if box.read_only_workspace else "--bind", box.workspace, WORKSPACE]
    for path in dict.fromkeys(box.readable):
        if not is_below(path, SYSTEM) or is_below(path, box.hidden):
            words += ["--ro-bind", path, path]
    for path in (*box.writable, *filter(None, [box.socket, box.proxy[0]])):
        words += ["--bind", path, path]
    return [*words, "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", WORKSPACE]


def _system() -> list[str]:
    """The part of the root that all trials share."""
    words: list[str] = []
    for path in SYSTEM:
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    for path in (*interpreter_folders(), *(path for path in SETTINGS if os.path.exists(path))):
        words += ["--ro-bind", path, path]
    for name in sorted(os.listdir(_ETC)):
        words += ["--ro-bind", os.path.join(_ETC, name), f"/etc/{name}"]
    for name in SUPERVISORS:
        words += ["--ro-bind", os.path.join(os.path.dirname(SUPERVISOR), name), f"{_RUN}/{name}"]
    words += ["--proc", "/proc"]
    for name in _PROC:
        if os.path.isdir(path := f"/proc/{name}"):
            words += ["--ro-bind", path, path]
        elif is_there(path):
            words += ["--ro-bind", os.devnull, path]
    return [*words, "--dev", "/dev", "--perms", "1777", "--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"]


def _program() -> str:
    return shutil.which(_PROGRAM) or _PROGRAM


def _tried() -> tuple[str, tuple[str, ...], str]:
    """Return the version, the options that it knows beside the common ones, and what is wrong, "" if nothing is."""
    if shutil.which(_PROGRAM) is None:
        return "", (), "bubblewrap is not installed: install the package bubblewrap, which brings the program bwrap"
    return _try(_program())


@cache
def _try(program: str) -> tuple[str, tuple[str, ...], str]:
    said = "it does not start"
    for further in _FURTHER:
        words = [program, *_BASE, *further, *_system(), "--remount-ro", "/", "--", "/bin/sh", "-c", "true"]
        ran = run_process(words, os.sep, os.environ, _TIMEOUT)
        if ran.exit_code == 0:
            return _version(), further, ""
        said = (ran.stderr.strip().splitlines() or [said])[-1][:200]
    return "", (), f"bubblewrap cannot make a sandbox here ({said}): user namespaces may be switched off"


def _version() -> str:
    ran = run_process((_program(), "--version"), os.sep, os.environ, _TIMEOUT)
    return ran.stdout.strip().rpartition(" ")[2] or "unknown"
