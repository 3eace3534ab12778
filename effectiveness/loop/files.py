"""Files of the workspace, and of nowhere else: a path or a link that leads out of it is refused."""

from __future__ import annotations

import os
import stat

LARGEST = 8 << 20
MOST_ENTRIES = 500


class RefusedToolCall(Exception):
    """What a tool does not do, in a sentence for the model."""


def place(workspace: str, path: str) -> str:
    """The real place of a path, which lies in the workspace. Raises Refused."""
    root = os.path.realpath(workspace)
    try:
        real = os.path.realpath(os.path.join(root, path))
        real.encode()
    except ValueError:
        raise RefusedToolCall("the path holds characters that no path can have") from None
    except OSError as error:
        raise RefusedToolCall(f"{path[:200]}: {error.strerror or 'cannot be found'}") from None
    if os.path.commonpath((root, real)) != root:
        raise RefusedToolCall(f"{path[:200]} leads out of the workspace")
    return real


def read_bytes(workspace: str, path: str) -> bytes:
    """What a regular file holds, of a large one the first LARGEST bytes. Raises Refused."""
    try:
        # Not blocking: a pipe that nobody writes to would keep us waiting.
        handle = os.open(place(workspace, path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as stream:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise RefusedToolCall(f"{path[:200]} is not a file")
            return stream.read(LARGEST)
    except OSError as error:
        raise RefusedToolCall(f"{path[:200]}: {error.strerror or 'cannot be read'}") from None


def write_bytes(workspace: str, path: str, data: bytes) -> None:
    """Write a whole file, with the folders that it needs. Raises Refused."""
    real = place(workspace, path)
    if len(data) > LARGEST:
        raise RefusedToolCall(f"more than {LARGEST:,} bytes are not written at once")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        if os.path.lexists(real) and not os.path.isfile(real):
            raise RefusedToolCall(f"{path[:200]} is not a file")
        os.makedirs(os.path.dirname(real), exist_ok=True)
        with os.fdopen(os.open(real, flags, 0o644), "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise RefusedToolCall(f"{path[:200]}: {error.strerror or 'cannot be written'}") from None


def entries(workspace: str, path: str) -> str:
    """What is in a folder, one entry a line: folders end with a slash, links say where they lead. Raises Refused."""
    try:
        with os.scandir(place(workspace, path)) as found:
            lines = sorted(_line(entry) for entry in found)
    except OSError as error:
        raise RefusedToolCall(f"{path[:200]}: {error.strerror or 'cannot be listed'}") from None
    more = [f"... and {len(lines) - MOST_ENTRIES:,} more"] if len(lines) > MOST_ENTRIES else []
    return "\n".join([*lines[:MOST_ENTRIES], *more]) or "(empty)"


def _line(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"{entry.name} -> {os.readlink(entry.path)}"
    if entry.is_dir(follow_symlinks=False):
        return f"{entry.name}/"
    return f"{entry.name} ({entry.stat(follow_symlinks=False).st_size:,} bytes)"
