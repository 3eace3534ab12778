"""A folder that takes no more than it may: a file system of its own, of a fixed size, where we may mount one.

Only root may, as a rule. The file that it lies in has no name any more once it is mounted, and the system gives up the
device with the mount, so that nothing is left but the mount itself if we are killed; the next start removes that.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from functools import cache

from skill_health.core.files import open_binary
from skill_health.effectiveness.workspace.process import run_process

DISK = ".disk"
"""How the file of a file system is called after its folder, as long as it has a name."""
CHANGES = "changes"
"""The folder beside the root of a container that takes what it changes."""
_TIMEOUT = 60.0
# Spaces and the like, as the kernel writes them.
_ESCAPED = re.compile(rb"\\([0-3][0-7]{2})")
_LEAST, _INODE = 64 << 20, 256
SLACK = 64 << 20
"""So much more there is room for, so that who breaks the limit is seen, and can be cleaned up after."""
_MADE = ("-q", "-F", "-m", "0", "-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard", "-I", str(_INODE))
_PROGRAMS = ("mkfs.ext4", "mount", "umount")


def limit_folder(folder: str, size: int, files: int) -> bool:
    """Mount a file system of so many bytes and files on an empty folder; False where that cannot be done here."""
    if not _may_mount() or size < _LEAST:
        return False
    image = f"{folder}{DISK}"
    try:
        handle = os.open(image, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        os.ftruncate(handle, size + files * _INODE + SLACK)
        os.close(handle)
        return (
            _done("mkfs.ext4", *_MADE, "-N", str(max(files, 1)), image)
            and _done("mount", "-o", "loop,nosuid,nodev", image, folder)
            and _cleaned(folder)
        )
    except OSError:
        return False
    finally:
        with suppress(OSError):
            os.unlink(image)


def release_folder(folder: str) -> None:
    """Unmount whatever is mounted on a folder or below it, be it in use."""
    for place in reversed(mounts_below(folder)):
        _done("umount", "--lazy", place)


def mounts_below(folder: str) -> list[str]:
    """What is mounted on a folder or below it, in the order of the mounts."""
    try:
        with open_binary("/proc/self/mounts") as stream:
            places = [
                _ESCAPED.sub(_unescaped, line.split(b" ")[1]).decode("utf-8", "surrogateescape") for line in stream
            ]
    except (OSError, ValueError, IndexError):
        return []
    return [place for place in places if place == folder or place.startswith(f"{folder}/")]


def _unescaped(match: re.Match[bytes]) -> bytes:
    return bytes([int(match[1], 8)])


def _cleaned(folder: str) -> bool:
    with suppress(OSError):
        os.rmdir(os.path.join(folder, "lost+found"))
    os.chmod(folder, 0o700)
    return True


@cache
def _may_mount() -> bool:
    """Whether this user may mount at all, and all that it takes is there."""
    return hasattr(os, "getuid") and os.getuid() == 0 and all(_program(name) for name in _PROGRAMS)


@cache
def _program(name: str) -> str:
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin") or ""


def _done(name: str, *words: str) -> bool:
    return run_process((_program(name), *words), os.sep, os.environ, _TIMEOUT).exit_code == 0


def overlay(lower: str, folder: str) -> str:
    """A root that shows the folders `lower` (separated by colons) and takes changes into `folder`; "" where none is."""
    upper, work, root = (os.path.join(folder, name) for name in (CHANGES, "work", "root"))
    for each in (upper, work, root):
        os.makedirs(each, mode=0o755)
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    return root if _done("mount", "-t", "overlay", "-o", options, "overlay", root) else ""


def remove_mounted(folder: str) -> None:
    """Remove a folder below which something is mounted, with what it holds itself."""
    release_folder(folder)
    shutil.rmtree(folder, ignore_errors=True)
