"""Checking many skills, in as many processes as pay off."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator, Sequence
from typing import Any

from skill_health.core.errors import AbortedError
from skill_health.core.files import read_bytes
from skill_health.discovery.corpus import Entry
from skill_health.lint import cache
from skill_health.lint.check import FileContext, check_skill, load_skill
from skill_health.lint.pipeline import LintSession, key_of
from skill_health.rules._api import Rule
from skill_health.rules._load import all_rules
from skill_health.rules._select import selected

_PARALLEL_FROM = 48
_CHUNK = 12
# The rules whose facts the score is made of, whatever was selected (see `scores`).
_SCORED = ("LI001", "CL001")
_session: LintSession | None = None
_rules: tuple[Rule, ...] = ()
_collectors: tuple[Rule, ...] = ()


def check_entries(session: LintSession, entries: Sequence[Entry], jobs: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Check skills: (path of SKILL.md, its record), in no particular order."""
    global _session, _rules, _collectors
    session.registries()
    _rules = selected(all_rules(), session.config)
    _collectors = tuple(r for r in all_rules() if r.collect and (r in _rules or r.code in _SCORED))
    jobs = jobs or processors()
    _session = session
    chunks = [entries[i : i + _CHUNK] for i in range(0, len(entries), _CHUNK)]
    # What is made here is small, acyclic and lives to the end of the run.
    gc.disable()
    if jobs == 1 or len(entries) < _PARALLEL_FROM or not hasattr(os, "fork"):
        for chunk in chunks:
            yield from _check_chunk(chunk)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    # The forked workers share what is loaded; nothing of it will be collected.
    gc.freeze()
    pool = ProcessPoolExecutor(min(jobs, len(chunks)), get_context("fork"), initializer=_begin)
    try:
        for results in pool.map(_check_chunk, chunks):
            yield from results
    except BrokenProcessPool as error:
        raise AbortedError("a worker process died, perhaps for lack of memory; --jobs 1 needs the least") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def processors() -> int:
    """How many processes may run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _begin() -> None:
    # An interrupt is the parent's to handle: a worker that dies of it leaves the parent waiting.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


def _check_chunk(entries: Sequence[Entry]) -> list[tuple[str, dict[str, Any]]]:
    assert _session is not None
    return [(entry.path, _check(_session, entry)) for entry in entries]


def _check(session: LintSession, entry: Entry) -> dict[str, Any]:
    data, problem = (b"", entry.problem) if entry.problem else read_bytes(session.full(entry.path))
    context = FileContext(session.discovery.root, session.config, session.registries())
    skill = load_skill(entry, data, problem)
    checked = check_skill(skill, _rules, context, _collectors)
    return cache.to_record(key_of(session.base, entry, data, problem), checked)
