"""Asks git about repositories at an address, and makes shallow copies of them without running anything of theirs.

Who is asked is the user's choice, and so are the credentials that git has for it. What comes back is a stranger's: it
is limited in size and time, no filter or hook runs over it, no submodule is fetched, and no other protocol is spoken
than the one of the address or a safe one that the user's own git settings put in its place.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import BinaryIO, NamedTuple
from urllib.parse import urlsplit

from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.git import ENVIRONMENT, OTHER, SAFE

# To what else an address may lead, by the user's `url.insteadOf`; a redirection by the server is git's to judge.
_PROTOCOLS = {
    "https": "https:ssh",
    "ssh": "ssh:https",
    "http": "http:https:ssh",
    "git": "git:https:ssh",
    "file": "file",
}
_SCP = re.compile(r"(?:[A-Za-z0-9_][\w.+-]*@)?[A-Za-z0-9][\w.-]+:[^\s:@-][^\s@]*", re.ASCII)
_COMMIT = re.compile(rb"([0-9a-f]{40}(?:[0-9a-f]{24})?)\t(\S+)")
_WANTED = "refs/fleet/wanted"
_MOST_OUTPUT = 1 << 20
_MOST_REASON = 300
_TICK = 0.2
_BUSY = "busy"


class CopyLimits(NamedTuple):
    """How much a copy may take: seconds of one call of git, bytes of the pack, files, and bytes of all of them."""

    seconds: float = 900.0
    pack: int = 2 << 30
    files: int = 500_000
    content: int = 4 << 30


LIMITS = CopyLimits()


def check_address(address: str) -> None:
    """Raise UsageError for what is no address of a repository, or one with a password in it, which is not shown."""
    wrong = f"{_shown(address)} is no address of a repository"
    if not address.isprintable() or " " in address or address.startswith("-") or "::" in address.partition("//")[0]:
        raise UsageError(wrong)
    if "://" not in address:
        if not _SCP.fullmatch(address):
            raise UsageError(f"{wrong}: a folder is given as its path")
        return
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        raise UsageError(wrong) from None
    if parts.scheme not in _PROTOCOLS or not parts.path.strip("/") or host.startswith("-"):
        raise UsageError(f"{wrong}: {', '.join(_PROTOCOLS)} are known")
    if bool(parts.netloc) == (parts.scheme == "file"):
        raise UsageError(f"{wrong}: a file:/// address names no host, others do")
    if parts.query or parts.fragment or parts.password is not None or (parts.username and parts.scheme != "ssh"):
        raise UsageError(
            f"the address at {host} holds a user, a password or a query, which would stand in every report: git's "
            "credential helper keeps such"
        )


def _shown(address: str) -> str:
    """An address without what may be a password."""
    before, at, rest = address.partition("?")[0].rpartition("@")
    return repr(f"…@{rest}" if at and before else rest)


def read_remote_commit(address: str, branch: str, limits: CopyLimits = LIMITS) -> str:
    """The commit that a branch ("": HEAD) has at an address now, in one call of git. Raises UsageError."""
    ref = _ref(branch)
    with tempfile.TemporaryDirectory(prefix="skill-health-") as folder:
        output = _ask(address, folder, ("ls-remote", "--quiet", "--", address, ref), limits)
    for commit, name in _COMMIT.findall(output):
        if os.fsdecode(name) == ref:
            return str(commit.decode("ascii"))
    raise UsageError(f"there is no branch {branch} at {address}" if branch else f"{address} has no commit")


def copy_commit(address: str, branch: str, folder: str, limits: CopyLimits = LIMITS) -> str:
    """Have what a branch ("": HEAD) holds at an address in `folder`/tree, without its history. Returns the commit.

    The folder is the caller's, who holds a lock on it; what is there of an earlier call is used. Raises UsageError,
    and AbortedError where the repository is larger than allowed.
    """
    tree, busy, ref = os.path.join(folder, "tree"), os.path.join(folder, _BUSY), _ref(branch)
    if os.path.lexists(busy):
        # A run was killed, and its git may be at work still: in the folder that it knows, not in a new one.
        _remove(tree, folder)
    with open(busy, "wb"):
        pass
    try:
        if not os.path.isdir(os.path.join(tree, ".git")):
            _remove(tree, folder)
            _ask(address, folder, ("init", "--quiet", "--template=", "--", tree), limits, own=True)
        pack = os.path.join(tree, ".git", "objects")
        fetch = (
            "fetch",
            "--quiet",
            "--depth=1",
            "--no-tags",
            "--no-recurse-submodules",
            "--force",
            "--no-auto-maintenance",
        )
        _ask(address, tree, (*fetch, "--", address, f"+{ref}:{_WANTED}"), limits, lambda: _too_large(pack, limits.pack))
        _measure(tree, limits)
        _ask(address, tree, ("checkout", "--quiet", "--force", "--detach", _WANTED), limits, own=True)
        commit = _ask(address, tree, ("rev-parse", "--verify", "HEAD"), limits, own=True).decode("ascii", "replace")
    except UsageError:
        # Git has ended by itself, and left nothing half done that the next call would not do again.
        os.unlink(busy)
        raise
    os.unlink(busy)
    return commit.strip()


def _ref(branch: str) -> str:
    return f"refs/heads/{branch}" if branch else "HEAD"


def _scheme(address: str) -> str:
    return urlsplit(address).scheme if "://" in address else "ssh"


def _environment(address: str, folder: str, own: bool) -> Mapping[str, str]:
    """The variables of a call. Its `own` calls see no settings but ours: they ask nobody, and need no credentials."""
    kept = {name: value for name, value in os.environ.items() if name not in OTHER}
    more = {
        "GIT_ALLOW_PROTOCOL": "none" if own else _PROTOCOLS[_scheme(address)], "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_CEILING_DIRECTORIES": os.path.dirname(folder),
    }  # fmt: skip
    if own:
        more |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
    return kept | ENVIRONMENT | more


def _command(folder: str, arguments: Sequence[str]) -> list[str]:
    return ["git", *SAFE, "-C", folder, *arguments]


def _start(
    address: str, folder: str, arguments: Sequence[str], own: bool, output: BinaryIO | int, errors: BinaryIO
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            _command(folder, arguments), env=_environment(address, folder, own), stdin=subprocess.DEVNULL, stdout=output,
            stderr=errors, start_new_session=True,
        )  # fmt: skip
    except OSError:
        raise UsageError("git is needed for this, and is not installed") from None


def _ask(
    address: str, folder: str, arguments: Sequence[str], limits: CopyLimits, complain: Callable[[], str] = lambda: "",
    own: bool = False,
) -> bytes:  # fmt: skip
    """What git prints. Raises UsageError with its reason, AbortedError where it takes too long or `complain` does."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = _start(address, folder, arguments, own, output, errors)
        try:
            end = time.monotonic() + limits.seconds
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_TICK)
                    break
                why = complain()
                if time.monotonic() > end:
                    why = f"git has not answered for {limits.seconds:g} seconds"
                elif max(os.fstat(each.fileno()).st_size for each in (output, errors)) > _MOST_OUTPUT:
                    why = "git's answer is too long"
                if why:
                    raise AbortedError(f"{address}: {why}")
        finally:
            _end(process)
        if process.returncode:
            errors.seek(0)
            lines = errors.read(_MOST_OUTPUT).decode("utf-8", "replace").strip().splitlines()
            raise UsageError(f"git cannot read {address}: {_reason(lines)}")
        output.seek(0)
        return output.read(_MOST_OUTPUT)


def _reason(lines: Sequence[str]) -> str:
    """Why git failed, by what it said: its first complaint, with the next line where it goes on there."""
    told = next((at for at, line in enumerate(lines) if line.startswith(("fatal: ", "error: "))), len(lines) - 1)
    if told < 0:
        return "no reason given"
    more = " ".join(lines[told : told + 2]) if lines[told].rstrip().endswith(":") else lines[told]
    return more.removeprefix("fatal: ").removeprefix("error: ")[:_MOST_REASON]


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a call and what it has started; nothing where it has ended by itself."""
    if process.poll() is None:
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
        process.wait()


def _too_large(folder: str, most: int) -> str:
    """A complaint where the files of a folder are larger than this together."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return f"its newest commit alone takes more than {most >> 20:,} MiB" if total > most else ""


def _measure(tree: str, limits: CopyLimits) -> None:
    """Raise AbortedError where what is to be checked out is too much. A tree may hold the same part a million times."""
    with tempfile.TemporaryFile() as errors:
        arguments = ("ls-tree", "-r", "-l", "-z", "--full-tree", _WANTED)
        process = _start("file:///", tree, arguments, True, subprocess.PIPE, errors)
        end, files, content, rest = time.monotonic() + limits.seconds, 0, 0, b""
        assert process.stdout is not None
        try:
            while block := process.stdout.read(1 << 16):
                *entries, rest = (rest + block).split(b"\0")
                files += len(entries)
                content += sum(_size(entry) for entry in entries)
                if files > limits.files or content > limits.content or time.monotonic() > end:
                    raise AbortedError(
                        f"the repository has more than {limits.files:,} files or {limits.content >> 20:,} MiB"
                    )
        finally:
            _end(process)
            process.stdout.close()


def _size(entry: bytes) -> int:
    fields = entry.partition(b"\t")[0].split()
    return int(fields[3]) if len(fields) == 4 and fields[3].isdigit() else 0


def _remove(tree: str, folder: str) -> None:
    """Remove a copy, under another name first: whoever still writes into it does not write into the next one."""
    if os.path.lexists(tree):
        gone = tempfile.mkdtemp(prefix="gone-", dir=folder)
        os.replace(tree, os.path.join(gone, "tree"))
    for name in os.listdir(folder):
        if name.startswith("gone-"):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
