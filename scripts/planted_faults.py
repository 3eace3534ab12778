"""Plant small wrong edits in the three packages, one at a time, and count how many the tests of the gate catch.

    python -m scripts.planted_faults --count 200 --seed 7
    python -m scripts.planted_faults --count 200 --seed 7 --output build/faults.json --record

The edits are drawn from all places within functions where one is possible: a comparison moved by one or reversed, `and`
for `or`, swapped branches, a negated condition, a small number one larger, `+` for `-`, True for False, an item of a
short list or dictionary left out, a call left out. Tables at the top of modules are data and left alone. Everything
happens in clones of the last commit with environments of their own. First the quick and slow tests run once over a copy
in which the functions to edit note the test that calls them; each edit then meets the tests that came by, the rest of
their files, and what else the gate would choose, cheapest first, until one fails. Cases that drive foreign programs are
left out, so the share is at the low end. `--record` appends it to reports/test-history.jsonl.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from queue import Queue

from scripts import gate
from scripts.imports import MODULES, ROOT, module_name
from skill_health.stats.intervals import wilson_interval

MARKS = "not real and not exhaustive"
# Of the tests that an edit meets, by the time they took without it, in seconds; then it counts as not caught.
MOST_SECONDS = 120.0
HANG = 900
ALWAYS = ("tests/test_golden.py",)
FIRST = 30
SMALL = 10
LARGEST_DISPLAY = 8
OPPOSITE = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"), ast.Is: ("is", "is not"), ast.And: ("and", "or"),
    ast.Or: ("or", "and"), ast.Add: ("+", "-"), ast.Sub: ("-", "+"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlantedFault:
    """A wrong edit: the bytes from `start` to `end` of a module become `text`."""

    path: str
    line: int
    kind: str
    start: int
    end: int
    text: str
    function: int
    """Where the first statement of the function around it begins, after a docstring."""


@dataclass(slots=True)
class Outcome:
    """What became of an edit."""

    fault: PlantedFault
    before: str
    caught_by: str = ""
    tests: int = 0
    all_run: bool = True


class FaultFinder(ast.NodeVisitor):
    """Finds every place of a module where an edit is possible."""

    def __init__(self, path: str, source: bytes) -> None:
        self.path, self.source, self.found = path, source, list[PlantedFault]()
        self._starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]
        self._function = -1
        self.visit(ast.parse(source))

    def _at(self, node: ast.AST) -> tuple[int, int]:
        first, last = self._starts[node.lineno - 1], self._starts[node.end_lineno - 1]  # type: ignore[attr-defined]
        return first + node.col_offset, last + node.end_col_offset  # type: ignore[attr-defined]

    def _text(self, node: ast.AST) -> str:
        start, end = self._at(node)
        return self.source[start:end].decode()

    def _add(self, kind: str, start: int, end: int, text: str) -> None:
        if self._function < 0:
            return
        line = self.source.count(b"\n", 0, start) + 1
        self.found.append(PlantedFault(self.path, line, kind, start, end, text, self._function))

    def _swap_between(self, kind: str, left: ast.AST, right: ast.AST, operator: ast.AST) -> None:
        old, new = OPPOSITE.get(type(operator), ("", ""))
        start, end = self._at(left)[1], self._at(right)[0]
        place = self.source[start:end].find(old.encode()) if old else -1
        if place >= 0:
            self._add(kind, start + place, start + place + len(old), new)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Look into the body, not at annotations and defaults."""
        outer = self._function
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        if body and outer < 0:
            first = body[0]
            decorated = [each.lineno for each in getattr(first, "decorator_list", [])]
            self._function = self._starts[min([first.lineno, *decorated]) - 1] + first.col_offset
        for each in body:
            self.visit(each)
        self._function = outer

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Look at the value alone."""
        if node.value:
            self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave the inside of f-strings alone, whose places Python 3.11 does not tell."""

    def visit_Compare(self, node: ast.Compare) -> None:
        """Move a boundary, or reverse it."""
        self._swap_between("comparison", node.left, node.comparators[0], node.ops[0])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Take `and` for `or`."""
        self._swap_between("and/or", node.values[0], node.values[1], node.op)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Take plus for minus."""
        self._swap_between("plus/minus", node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Swap the branches."""
        start, end = self._at(node)
        text = f"{self._text(node.orelse)} if {self._text(node.test)} else {self._text(node.body)}"
        self._add("branches", start, end, text)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """Negate the condition."""
        start, end = self._at(node.test)
        self._add("negation", start, end, f"not ({self._text(node.test)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Make a small number one larger, and True False."""
        if isinstance(node.value, bool):
            self._add("truth", *self._at(node), str(not node.value))
        elif isinstance(node.value, int) and node.value <= SMALL:
            self._add("number", *self._at(node), str(node.value + 1))

    def visit_keyword(self, node: ast.keyword) -> None:
        """Leave `strict` of zip alone, which says what holds and changes nothing."""
        if node.arg != "strict":
            self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Leave a call out."""
        if isinstance(node.value, ast.Call):
            self._add("call", *self._at(node), "pass")
        self.generic_visit(node)

    def _drop_item(self, items: Sequence[ast.AST], ends: Sequence[ast.AST]) -> None:
        if not 2 <= len(items) <= LARGEST_DISPLAY:
            return
        for here, following in pairwise(items):
            self._add("item", self._at(here)[0], self._at(following)[0], "")
        self._add("item", self._at(ends[-2])[1], self._at(ends[-1])[1], "")

    def visit_List(self, node: ast.List) -> None:
        """Leave an item out."""
        if isinstance(node.ctx, ast.Load):
            self._drop_item(node.elts, node.elts)
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        """Leave an item out."""
        if all(node.keys):
            self._drop_item([key for key in node.keys if key], node.values)
        self.generic_visit(node)


def plant(source: bytes, fault: PlantedFault) -> bytes:
    """Return a module with the edit made."""
    return source[: fault.start] + fault.text.encode() + source[fault.end :]


def draw_faults(root: Path, count: int, seed: int) -> list[PlantedFault]:
    """Draw so many edits that leave a module which can be read and is another one."""
    sources = {path.relative_to(ROOT).as_posix(): (root / path.relative_to(ROOT)).read_bytes() for path in MODULES}
    found = [fault for path, source in sources.items() for fault in FaultFinder(path, source).found]
    random.Random(seed).shuffle(found)
    drawn: list[PlantedFault] = []
    for fault in found:
        source = sources[fault.path]
        try:
            same = ast.dump(ast.parse(plant(source, fault))) == ast.dump(ast.parse(source))
        except SyntaxError:
            continue
        drawn += [] if same else [fault]
        if len(drawn) == count:
            break
    return drawn


PROBE = """
import os as _os
_SEEN = set()
def note(number):
    test = _os.environ.get("PYTEST_CURRENT_TEST", "")
    if test and (number, test) not in _SEEN:
        _SEEN.add((number, test))
        try:
            with open(_os.path.join({folder!r}, str(number)), "a") as file:
                file.write(test + "\\n")
        except OSError:
            pass
"""
PLUGIN = """
import json
def pytest_runtest_logreport(report):
    with open({path!r}, "a") as file:
        file.write(json.dumps([report.nodeid, report.duration, report.outcome]) + "\\n")
"""


class Scratch:
    """A copy of the project in which edits are made."""

    def __init__(self, root: Path, python: Path, temporary: Path) -> None:
        self.root, self.python = root, python
        self.environment = os.environ | {"TMPDIR": str(temporary)}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    @classmethod
    def clone(cls, place: Path) -> Scratch:
        """Return a clone of the last commit with an environment of its own."""
        root, temporary = place / "clone", place / "temporary"
        temporary.mkdir()
        subprocess.run(["git", "clone", "--quiet", ROOT, root], check=True)
        with open(place / "install.log", "wb") as log:
            command = ["make", "--no-print-directory", ".venv/.installed"]
            subprocess.run(command, cwd=root, stdout=log, stderr=log, check=True)
        return cls(root, root / ".venv/bin/python", temporary)

    def run_tests(self, words: Sequence[str], ids: Sequence[str] = (), module: str = "pytest") -> tuple[int, str]:
        """Run pytest, or all its processes: the exit code, -1 if it hung and was ended, and what it printed."""
        arguments = self.root / "build" / "ids"
        arguments.parent.mkdir(exist_ok=True)
        arguments.write_text("\n".join(ids), encoding="utf-8")
        command = [self.python, "-m", module, "-q", "-p", "no:cacheprovider", *words]
        with subprocess.Popen(
            [*command, *([f"@{arguments}"] if ids else [])], cwd=self.root, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, errors="replace",
        ) as process:  # fmt: skip
            try:
                said, _ = process.communicate(timeout=HANG if ids else None)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return -1, "it hung"
            return process.returncode, said


@dataclass(slots=True)
class Coverage:
    """Which tests come by the functions to edit, and how long each test takes."""

    seconds: dict[str, float] = field(default_factory=dict)
    visits: dict[int, set[str]] = field(default_factory=dict)

    def tests_for(self, number: int, fault: PlantedFault) -> list[str]:
        """Return the tests that an edit meets, those first that are likeliest to catch it, of these the cheapest.

        They are those that come by, then the rest of their files and those that import the module, the golden outputs,
        which the gate always compares, and what else is in the gate's reach.
        """
        visits = self.visits.get(number, set())
        near = {test.partition("::")[0] for test in visits}
        reach = set(gate.choose([fault.path]).files)
        near |= {file for file in reach if module_name(ROOT / fault.path) in gate.read_test(file).modules}

        def rank(test: str) -> int:
            file = test.partition("::")[0]
            return 0 if test in visits else 1 if file in near else 2 if file in ALWAYS else 3 if file in reach else 4

        ranked = sorted((rank(test), self.seconds[test], test) for test in self.seconds)
        return [test for place, _, test in ranked if place < 4]


def measure(scratch: Scratch, faults: Sequence[PlantedFault], place: Path) -> Coverage:
    """Run all tests over functions that note who calls them; a test that fails without that, too, is left out."""
    visits, log = place / "visits", place / "durations.jsonl"
    visits.mkdir()
    (scratch.root / "skill_health" / "_probe.py").write_text(PROBE.format(folder=str(visits)))
    (scratch.root / "timing_plugin.py").write_text(PLUGIN.format(path=str(log)))
    probes: dict[str, list[tuple[int, int]]] = {}
    for number, fault in enumerate(faults):
        probes.setdefault(fault.path, []).append((fault.function, number))
    for path, places in probes.items():
        source = (scratch.root / path).read_bytes()
        for start, number in sorted(places, reverse=True):
            call = f"__import__('skill_health._probe')._probe.note({number}); ".encode()
            indent = source.rfind(b"\n", 0, start) + 1
            source = source[:start] + call.removesuffix(b"; ") + b"\n" + source[indent:start] + source[start:]
        (scratch.root / path).write_bytes(source)
    scratch.run_tests(["-m", MARKS, "-p", "timing_plugin"], module="scripts.run_tests")
    failed, found = set(), Coverage()
    for line in log.read_text().splitlines():
        test, seconds, outcome = json.loads(line)
        found.seconds[test] = found.seconds.get(test, 0) + seconds
        failed |= {test} if outcome == "failed" else set()
    for file in visits.iterdir():
        found.visits[int(file.name)] = {line.rpartition(" (")[0] for line in file.read_text().splitlines()}
    subprocess.run(["git", "checkout", "--quiet", "."], cwd=scratch.root, check=True)
    (scratch.root / "skill_health" / "_probe.py").unlink()
    if failed:
        log.unlink()
        scratch.run_tests(["-p", "timing_plugin"], sorted(failed))
        for line in log.read_text().splitlines():
            test, _, outcome = json.loads(line)
            if outcome == "failed":
                found.seconds.pop(test, None)
    return found


def try_fault(scratch: Scratch, fault: PlantedFault, tests: Sequence[str], coverage: Coverage) -> Outcome:
    """Make the edit, run its tests until one fails, and take it back."""
    path = scratch.root / fault.path
    source = path.read_bytes()
    outcome = Outcome(fault, source[fault.start : fault.end].decode())
    path.write_bytes(plant(source, fault))
    try:
        spent = list(accumulate(coverage.seconds[test] for test in tests))
        most = bisect(spent, MOST_SECONDS)
        outcome.all_run = most == len(tests)
        # The first few catch most faults, and few files are collected for them.
        for each in filter(None, (tests[: min(FIRST, most)], tests[FIRST:most])):
            code, said = scratch.run_tests(["-x", "--no-header", "--tb=no"], each)
            outcome.tests += len(each)
            if code not in (0, 5):
                failed = re.findall(r"(?m)^(?:FAILED|ERROR) (\S+)", said)
                outcome.caught_by = failed[0] if failed else said.strip().splitlines()[-1][:200]
                break
    finally:
        path.write_bytes(source)
    return outcome


def run(count: int, seed: int, workers: int) -> list[Outcome]:
    """Plant the faults and return what became of each."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        places = [Path(folder) / str(number) for number in range(workers)]
        for each in places:
            each.mkdir()
        with ThreadPoolExecutor(workers) as pool:
            scratches = list(pool.map(Scratch.clone, places))
            faults = draw_faults(scratches[0].root, count, seed)
            print(f"{len(faults)} faults: {dict(Counter(fault.kind for fault in faults))}", flush=True)
            coverage = measure(scratches[0], faults, places[0])
            print(
                f"{len(coverage.seconds)} tests pass without them, {sum(coverage.seconds.values()):.0f} s", flush=True
            )
            tests = [coverage.tests_for(number, fault) for number, fault in enumerate(faults)]
            free: Queue[Scratch] = Queue()
            for scratch in scratches:
                free.put(scratch)

            def attempt(number: int) -> Outcome:
                scratch = free.get()
                try:
                    outcome = try_fault(scratch, faults[number], tests[number], coverage)
                finally:
                    free.put(scratch)
                fault = outcome.fault
                what = f"caught by {outcome.caught_by}" if outcome.caught_by else f"NOT CAUGHT ({outcome.tests} tests)"
                edit = f"{outcome.before!r:.60} -> {fault.text!r:.60}"
                print(f"{fault.path}:{fault.line} {fault.kind} {edit}: {what}", flush=True)
                return outcome

            return list(pool.map(attempt, range(len(faults))))


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, help="where to write every edit and what became of it, as JSON")
    parser.add_argument("--record", action="store_true", help=f"append the share to {gate.HISTORY}")
    given = parser.parse_args()
    outcomes = run(given.count, given.seed, given.workers)
    caught = sum(bool(outcome.caught_by) for outcome in outcomes)
    low, high = wilson_interval(caught, len(outcomes))
    print(f"{caught} of {len(outcomes)} caught: {caught / len(outcomes):.1%} [{low:.1%}, {high:.1%}]")
    if given.output:
        given.output.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1) + "\n")
    if given.record:
        counted = {"seed": given.seed, "count": len(outcomes), "caught": caught}
        gate.record(counted | {"low": round(low, 4), "high": round(high, 4)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
