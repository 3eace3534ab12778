"""Forked workers end with the process that started them, at whatever moment it is interrupted or killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from skill_health.core.forks import map_forked

# Doubles numbers in two processes; each worker names itself before it begins, and then takes its time.
RUN = """
import os, signal, sys, threading, time
from skill_health.cli import main
from skill_health.core.forks import map_forked

def begin():
    print(os.getpid(), flush=True)

def double(number):
    time.sleep(0.01)
    return 2 * number

def run(argv):
    print(sum(map_forked(double, range(2000), 2, 1, begin)))

import skill_health.cli as cli
cli._run = run
{change}
sys.exit(main([]))
"""

# An interrupt between the making of a thread or a process and its start.
INTERRUPTED = """
import multiprocessing.context
where = {where}
real = where.start

def start(self):
    os.kill(os.getpid(), signal.SIGINT)
    real(self)

where.start = start
"""


def started(change: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN.format(change=change)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


@pytest.mark.slow
def test_results_come_in_the_order_given() -> None:
    assert list(map_forked(str, range(100), 2, 3)) == [str(number) for number in range(100)]


@pytest.mark.slow
def test_what_the_consumer_leaves_is_not_waited_for() -> None:
    before = threading.active_count()
    results = map_forked(str, range(100), 2, 3)
    assert next(results) == "0"
    results.close()  # type: ignore[attr-defined]
    assert threading.active_count() <= before


def test_interrupts_are_handled_as_before_afterwards() -> None:
    before = signal.getsignal(signal.SIGINT)
    assert list(map_forked(str, [1], 1, 1)) == ["1"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
@pytest.mark.parametrize("where", ["threading.Thread", "multiprocessing.context.ForkProcess"])
def test_an_interrupt_while_the_workers_start_ends_them(where: str) -> None:
    process = started(INTERRUPTED.format(where=where))
    # A worker that lived on would hold the pipes open.
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130 and error == "skill-health: interrupted\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_a_killed_parent(number: int) -> None:
    process = started("")
    assert process.stdout is not None
    workers = {process.stdout.readline() for _ in range(2)}
    assert len(workers) == 2
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    assert process.returncode == -number
