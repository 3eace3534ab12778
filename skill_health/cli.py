"""The entry point, and the only place where an exception becomes an exit code.

`lint` with paths and switches, as a hook calls it, runs without the command-line framework: importing that takes
as long as checking a skill. Everything else is `root`'s.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from skill_health.core.errors import ABORTED, CLEAN, INTERRUPTED, USAGE, SkillHealthError

NAME = "skill-health"
COMPLETE = "_SKILL_HEALTH_COMPLETE"
DEBUG = "SKILL_HEALTH_DEBUG"


def entry() -> NoReturn:
    """Run as a process of its own and end it, without the collector and without taking the interpreter down.

    Both cost a hook more than checking a skill does: nothing here makes cycles that matter, every file is closed
    and every worker gone, and the system takes memory back faster than the interpreter can.
    """
    gc.disable()
    code = main()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line (by default that of the process) and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        result = _run(sys.argv[1:] if argv is None else list(argv))
        if sys.stdout is not None:
            sys.stdout.flush()
        return result if isinstance(result, int) else CLEAN
    except KeyboardInterrupt:
        return fail("interrupted", INTERRUPTED)
    except SkillHealthError as error:
        return fail(f"error: {error}", error.exit_code)
    except ModuleNotFoundError as error:
        from skill_health.core.extras import extra_of, tell_missing

        extra = extra_of(error.name or "")
        if not extra:
            return _bug(error)
        return fail(f"error: {tell_missing('this', extra, error.name or '')}", USAGE)
    except BrokenPipeError:
        # The reader has gone. What is left in the buffer must not complain when the interpreter flushes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ABORTED
    except OSError as error:
        return fail(f"error: cannot go on: {error}", ABORTED)
    except Exception as error:
        return _bug(error)


def _bug(error: Exception) -> int:
    report = f"this is a bug, not a fault of your skills: please report it with what {DEBUG}=1 shows"
    return fail(f"internal error: {error!r}{_place(error)}; {report}", ABORTED)


def _run(argv: list[str]) -> object:
    if argv[:1] == ["lint"] and COMPLETE not in os.environ:
        from skill_health.commands._lint import flags_only, run_lint

        direct = flags_only(argv[1:])
        if direct is not None:
            return run_lint(*direct)
    from skill_health.root import run

    return run(argv)


def fail(message: str, code: int) -> int:
    """One line on stderr, and before it the traceback where it is asked for."""
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exc()
    if sys.stderr is not None:
        # A terminal that is gone takes no message; the code still says how it ended.
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{NAME}: {escape_line(message)}\n")
            sys.stderr.flush()
    return code


def escape_line(text: str) -> str:
    """The text as one line without control characters: it may quote what a skill contains."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in " ".join(text.split()))


def _place(error: BaseException) -> str:
    """Where it was raised: " at module:line"."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f" at {trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}" if trace else ""
