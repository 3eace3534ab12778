"""Asks git about repositories at an address, and makes shallow copies of them without running anything of theirs.

Who is asked is the user's choice, and so are the credentials that git has for it. What comes back is a stranger's: it
is limited in size and time, no filter or hook runs over it, no submodule is fetched, and no other protocol is spoken
than the one of the address or a safe one that the user's own git settings put in its place.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.files import is_there
from skill_health.core.git import run_watched

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
_ENTRY = 200
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
    if is_there(busy, links=False):
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
        _measure(address, tree, limits)
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


def _ask(
    address: str, folder: str, arguments: Sequence[str], limits: CopyLimits, complain: Callable[[], str] = lambda: "",
    own: bool = False, most: int = _MOST_OUTPUT,
) -> bytes:  # fmt: skip
    """What git prints in a folder. Raises UsageError with its reason, AbortedError where it goes beyond the limits.

    Its `own` calls see no settings but ours: they ask nobody, and need no credentials.
    """
    scheme = urlsplit(address).scheme if "://" in address else "ssh"
    variables = {
        "GIT_ALLOW_PROTOCOL": "none" if own else _PROTOCOLS[scheme], "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_CEILING_DIRECTORIES": os.path.dirname(folder),
    }  # fmt: skip
    if own:
        variables |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1"}
    try:
        done = run_watched(("-C", folder, *arguments), variables, limits.seconds, most, complain)
    except AbortedError as error:
        raise AbortedError(f"{address}: {error}") from None
    if done.code:
        reason = done.reason.removeprefix("fatal: ").removeprefix("error: ")[:_MOST_REASON]
        raise UsageError(f"git cannot read {address}: {reason}")
    return done.output


def _too_large(folder: str, most: int) -> str:
    """A complaint where the files of a folder are larger than this together."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return f"its newest commit alone takes more than {most >> 20:,} MiB" if total > most else ""


def _measure(address: str, tree: str, limits: CopyLimits) -> None:
    """Raise AbortedError where what is to be checked out is too much. A tree may hold the same part a million times."""
    # Some bytes for the name of each file; where there are more, there are too many files or names without end.
    most = limits.files * _ENTRY
    listed = _ask(address, tree, ("ls-tree", "-r", "-l", "-z", "--full-tree", _WANTED), limits, own=True, most=most)
    entries = listed.split(b"\0")
    if len(entries) - 1 > limits.files or sum(map(_size, entries)) > limits.content:
        raise AbortedError(f"{address} has more than {limits.files:,} files or {limits.content >> 20:,} MiB")


def _size(entry: bytes) -> int:
    fields = entry.partition(b"\t")[0].split()
    return int(fields[3]) if len(fields) == 4 and fields[3].isdigit() else 0


def _remove(tree: str, folder: str) -> None:
    """Remove a copy, under another name first: whoever still writes into it does not write into the next one."""
    if is_there(tree, links=False):
        gone = tempfile.mkdtemp(prefix="gone-", dir=folder)
        os.rename(tree, os.path.join(gone, "tree"))
    for name in os.listdir(folder):
        if name.startswith("gone-"):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
