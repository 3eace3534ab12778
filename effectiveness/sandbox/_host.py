"""What of the host a sandbox shows: its interpreter, its folders of programs, and a handful of settings."""

from __future__ import annotations

import os
import sys
from functools import cache

SUPERVISOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_inside.py")
SUPERVISORS = ("_inside.py", "_forward.py", "_guard.py", "_watch.py")
HOME, WORKSPACE, TEMPORARY = "/home/agent", "/workspace", "/tmp"
# Folders of programs and libraries. Where one is a link, as most are today, the link is what is shown.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# Neither passwords nor keys nor anything that tells one machine from another by what its owner has set.
SETTINGS = (
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf",
    "/etc/pki/ca-trust/extracted", "/etc/mime.types", "/etc/magic", "/etc/services", "/etc/protocols", "/etc/terminfo",
    "/etc/fonts", "/etc/perl",
)  # fmt: skip

_INSTALLED = ("bin", "include", "lib", "lib64")


@cache
def interpreter() -> str:
    """The Python that ours was made from: a real file, in no virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def real_word(word: str, python: str = "") -> str:
    """A word of a command, where our Python is replaced by the one behind its virtual environment, or by `python`."""
    return (python or interpreter()) if word in (sys.executable, interpreter()) else word


@cache
def interpreter_folders() -> tuple[str, ...]:
    """The folders that the interpreter needs beside those of the system."""
    prefixes = {os.path.realpath(prefix) for prefix in (sys.base_prefix, sys.base_exec_prefix)}
    shown = (prefix for prefix in prefixes if prefix != "/" and not is_below(prefix, SYSTEM))
    return tuple(sorted({folder for prefix in shown for folder in installation(prefix)}))


def installation(prefix: str) -> tuple[str, ...]:
    """The folders of what is installed below a prefix: all of it, where that is a place of its own.

    A home, and what it has for programs, hold a user's keys beside them: of these only the programs and libraries.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    if prefix not in (home, os.path.join(home, ".local")) and not is_below(home, (prefix,)):
        return (prefix,)
    return tuple(path for name in _INSTALLED if os.path.isdir(path := os.path.join(prefix, name)))


def is_below(path: str, folders: tuple[str, ...]) -> bool:
    """Whether a path is one of these folders or lies in one."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
