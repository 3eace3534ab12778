"""Start of the agent in its sandbox: `python -I -S __main__.py FOLDER...`, with its job on standard input.

The folders are where its modules lie. It is told of them, rather than finding them as an installed program would, since
that takes longer and depends on what else is installed.
"""

from __future__ import annotations

import os
import sys


def start() -> int:
    """Run the agent; the exit code is 1 where it could not do its part."""
    sys.path.extend(sys.argv[1:])
    told = sys.stdin.buffer.read()
    # What the model runs could read the job, and the key in it, a second time.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    from skill_health.effectiveness.loop.agent import main

    return main(told)


if __name__ == "__main__":
    sys.exit(start())
