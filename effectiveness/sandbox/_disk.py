"""How much a program has written, looked at often enough to stop it in time and seldom enough to cost nothing."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable

from skill_health.effectiveness.sandbox._api import SandboxLimits

# How many times as long as a full look takes it is not done again. Free space costs nothing to ask for, and says when
# to look earlier.
_USUAL, _URGENT = 50, 5
_LEAST = 1.0
_LONGEST = 3_800


class Disk:
    """The folders of one trial. `said` is how a limit was broken, "" as long as none was."""

    def __init__(self, folders: Iterable[str], limits: SandboxLimits) -> None:
        self.folders, self.limits, self.said = tuple(folders), limits, ""
        self._free = self._begun = self._left()
        self._used, self._cost, self._looked = (0, 0), 0.0, time.monotonic()

    async def exceeded(self) -> bool:
        """Whether more is written than the limits allow; `said` says what."""
        if not (self.limits.disk_bytes or self.limits.files) or not self._due():
            return False
        begun = time.monotonic()
        free = self._left()
        # Small trees are the rule: a thread would take longer than looking.
        quick = self._cost < 0.005
        size, files = self._look() if quick else await asyncio.to_thread(self._look)
        self._looked = time.monotonic()
        self._free, self._used, self._cost = free, (size, files), self._looked - begun
        if self.said:
            return True
        if self.limits.disk_bytes and size > self.limits.disk_bytes:
            self.said = f"more than {self.limits.disk_bytes:,} bytes were written"
        elif self.limits.files and files > self.limits.files:
            self.said = f"more than {self.limits.files:,} files were made"
        return bool(self.said)

    def _due(self) -> bool:
        passed = time.monotonic() - self._looked
        if passed >= max(_LEAST, _USUAL * self._cost):
            return True
        if passed < _URGENT * self._cost:
            return False
        # Somebody has written a lot since; perhaps it was our program.
        size, files = (was - now for was, now in zip(self._free, self._left(), strict=True))
        room = self.limits.disk_bytes - self._used[0]
        names = self.limits.files - self._used[1]
        return bool(self.limits.disk_bytes and size > room / 2) or bool(self.limits.files and files > names / 2)

    def _left(self) -> tuple[int, int]:
        """Free bytes and free names of the file system."""
        try:
            state = os.statvfs(self.folders[0])
        except OSError:
            return 0, 0
        return state.f_bavail * state.f_frsize, state.f_ffree

    def _look(self) -> tuple[int, int]:
        """The bytes on disk and the number of entries; it stops counting where a limit is broken.

        Where a folder is locked against us, all that the file system has lost meanwhile is taken to be in there.
        """
        size = count = 0
        locked = False
        waiting = list(self.folders)
        while waiting:
            if len(folder := waiting.pop()) > _LONGEST:
                self.said = "folders were made that lie too deep to be looked into"
                break
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        count += 1
                        try:
                            size += entry.stat(follow_symlinks=False).st_blocks * 512
                            if entry.is_dir(follow_symlinks=False):
                                waiting.append(entry.path)
                        except OSError as error:
                            locked = locked or isinstance(error, PermissionError)
            except OSError as error:
                locked = locked or isinstance(error, PermissionError)
            if 0 < self.limits.files < count or 0 < self.limits.disk_bytes < size:
                break
        if locked:
            lost = [was - now for was, now in zip(self._begun, self._left(), strict=True)]
            return max(size, lost[0]), max(count, lost[1])
        return size, count
