"""Run the tests in as many processes as there are cores, so that each file of them is collected by one alone.

    python -m scripts.run_tests [WORD FOR PYTEST ...]

Each process takes the next file that no other has taken, long ones first, and lets go of it when its cases are done.
What the processes print comes through as it is; the last line adds up their results. Exits with 1 if a case failed.
Temporary files are in memory where there is room, but for those of foreign programs: thousands of tests write small
files and wait until they are on the disk. What failed stays there, to be looked at.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread

import pytest
from _pytest.runner import collect_one_node

ROOT = Path(__file__).resolve().parents[1]
CLAIMS, REAL = "TEST_FILES_CLAIMED_IN", "SKILL_HEALTH_REAL"
MEMORY = "/dev/shm"
# Small files that take long; of the others the size tells well enough.
LONG = ("tests/test_golden.py", "tests/rules/test_cases.py")
FOUND = pytest.StashKey[list[pytest.Item | pytest.Collector]]()
# The line in which pytest adds up, with or without its frame.
SUMMARY = re.compile(rb"(?m)^(?:=+ )?\d+ (?:passed|failed|skipped|deselected|errors?|xfailed|warnings?)\b.* in [\d.]+s")
LETTERS = re.compile(rb"[.sxFEX]+")


def pytest_configure(config: pytest.Config) -> None:
    """Name what fails as soon as it does: the process may die before it adds up."""
    config.pluginmanager.register(FailureTeller(config))


class FailureTeller:
    """Names each case that fails, before pytest shows why at its end."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Name it in a line of its own."""
        if report.failed:
            terminal = self.config.pluginmanager.get_plugin("terminalreporter")
            terminal.write_line(f"\nfailed: {report.nodeid}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> bool:
    """Find the files; none is imported yet."""
    session.perform_collect(genitems=False)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item | pytest.Collector]) -> None:
    """Keep the files that were found from what chooses among cases."""
    if FOUND not in session.stash:
        session.stash[FOUND] = list(find_files(items))
        items.clear()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Run the cases of each file that this process gets."""
    items = claimed_items(session)
    item = next(items, None)
    count = 0
    while item is not None:
        # Fixtures of the session stay for the next file.
        following = next(items, None)
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        count += 1
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
    session.testscollected = count
    return True


def claimed_items(session: pytest.Session) -> Iterator[pytest.Item]:
    """Yield the cases of file after file that no other process has taken."""
    files = sorted(
        session.stash[FOUND], key=lambda node: (node.nodeid not in LONG, -node.path.stat().st_size, node.nodeid)
    )
    for number, file in enumerate(files):
        try:
            Path(os.environ[CLAIMS], str(number)).touch(exist_ok=False)
        except FileExistsError:
            continue
        items = list(session.genitems(file))
        session.config.hook.pytest_collection_modifyitems(session=session, config=session.config, items=items)
        yield from items


def find_files(nodes: Iterable[pytest.Item | pytest.Collector]) -> Iterator[pytest.Item | pytest.Collector]:
    """Yield the files in these folders, and what is no folder as it is."""
    for node in nodes:
        if isinstance(node, pytest.Directory):
            report = collect_one_node(node)
            node.ihook.pytest_collectreport(report=report)
            yield from find_files(report.result)
        else:
            yield node


def read_pieces(stream: io.BufferedReader) -> Iterator[bytes]:
    """Yield whole lines as they come, so that two processes do not mix theirs, and the letters of cases at once."""
    rest = b""
    while piece := stream.read1():
        rest += piece
        end = len(rest) if LETTERS.fullmatch(rest) else rest.rfind(b"\n") + 1
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


def memory_folder() -> str:
    """Return a new folder in memory with a gigabyte of room in which programs may be run; "" if there can be none."""
    try:
        if shutil.disk_usage(MEMORY).free < 1 << 30:
            return ""
        folder = tempfile.mkdtemp(prefix="tests.", dir=MEMORY)
    except OSError:
        return ""
    program = Path(folder, "program")
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o700)
    with suppress(OSError):
        subprocess.run([program], check=True)
        return folder
    shutil.rmtree(folder)
    return ""


def run_tests(words: Sequence[str], workers: int = os.cpu_count() or 1, **environment: str) -> Counter[str]:
    """Run pytest with these words; count the cases by result, and as "broken" the processes that did not end well."""
    results: Counter[str] = Counter()
    lock = Lock()
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-o",
            "console_output_style=classic",
            "-p",
            "scripts.run_tests",
        ]
        env = {**os.environ, **environment, CLAIMS: folder}
        memory = "" if REAL in env else memory_folder()
        env |= {"TMPDIR": memory} if memory else {}

        def follow() -> None:
            last = b""
            with subprocess.Popen([*command, *words], cwd=ROOT, env=env, stdout=subprocess.PIPE) as process:
                assert isinstance(process.stdout, io.BufferedReader)
                for piece in read_pieces(process.stdout):
                    with lock:
                        sys.stdout.buffer.write(piece)
                        sys.stdout.flush()
                    for found in SUMMARY.finditer(piece):
                        last = found[0]
            with lock:
                results.update({name: int(count) for count, name in re.findall(r"(\d+) ([a-z]+?)s?\b", last.decode())})
                # 5: no case of its files has the marks.
                results["broken"] += process.returncode not in (0, 1, 5) or (process.returncode == 1 and not last)

        threads = [Thread(target=follow) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if memory and not results["failed"] + results["error"] + results["broken"]:
        shutil.rmtree(memory)
    return results


def report(results: Counter[str]) -> int:
    """Print the sum of all processes in one line; the exit code."""
    failed = results["failed"] + results["error"] + results["broken"]
    print(f"{results['passed']} passed, {failed} failed, {results['skipped']} skipped", flush=True)
    return 1 if failed else 0


def main(words: Sequence[str]) -> int:
    """Run from the command line."""
    results = run_tests(words)
    code = report(results)
    return code if results["passed"] or results["skipped"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
