"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import tempfile

from skill_health.core.errors import UsageError


def write_text(path: str, text: str) -> None:
    """Replace a file by this text (UTF-8, line endings as given). Raises UsageError where that is not possible."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def write_bytes(path: str, data: bytes) -> None:
    """Replace a file by these bytes, keeping its permissions; missing folders are made."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    try:
        os.makedirs(folder, exist_ok=True)
        mode = os.stat(target).st_mode & 0o7777 if os.path.exists(target) else 0o666 & ~_umask()
        handle, temporary = tempfile.mkstemp(prefix=".skill-health-", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(temporary, mode)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
