"""What only somebody inside a sandbox can see: how many processes there are, and files that have no name any more.

Imported by the supervisor inside only, so it imports next to nothing.
"""

import os
import stat
import time

_POLL, _FILES_EVERY = 0.2, 10


def watch(processes, most: int, size: int, end) -> None:  # type: ignore[no-untyped-def]
    """Call `end` with "processes" or "disk" when there are more than `most` processes, or more than `size` bytes.

    `processes` lists their numbers. Only open files without a name are counted here: others can be seen from outside.
    0 is no limit.
    """
    turn = 0
    # Most programs are through before there is anything to see.
    time.sleep(_POLL)
    while True:
        begun = time.monotonic()
        running, turn = processes(), turn + 1
        if most and len(running) > most:
            end("processes")
        if size and turn % _FILES_EVERY == 0 and nameless(running) > size:
            end("disk")
        # Where looking is slow, it is done less often.
        time.sleep(max(_POLL, 20 * (time.monotonic() - begun)))


def nameless(running: list[int]) -> int:
    """The bytes of files that are open and deleted, each file once."""
    found = {}
    for pid in running:
        try:
            handles = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue
        for handle in handles:
            try:
                state = os.stat(f"/proc/{pid}/fd/{handle}")
            except OSError:
                continue
            if not state.st_nlink and stat.S_ISREG(state.st_mode):
                found[state.st_dev, state.st_ino] = state.st_blocks * 512
    return sum(found.values())
