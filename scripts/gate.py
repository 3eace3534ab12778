"""Run what a change must pass beyond the quick tests: slow and real cases of what it can reach, and a smoke case each.

    python -m scripts.gate                 run it
    python -m scripts.gate --list          show the choice and run nothing
    python -m scripts.gate --base COMMIT   take another commit as the base

The base is the merge base with the main branch; on the main branch itself the newest commit whose whole suite is on
record in reports/test-history.jsonl, or else the last commit. A changed module reaches the modules that import it,
directly or not, and these reach the test files of their packages and those that import them. A plug-in, which nobody
imports, reaches the test files that import it or mention its name. Any other file reaches the test files that mention
it or its folder. What cannot be placed that way reaches everything. Same commits, same choice.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from scripts.imports import MODULES, PACKAGES, ROOT, imports, is_plugin, module_name, names_imported
from scripts.run_tests import report, run_tests

HISTORY = "reports/test-history.jsonl"
TESTS = ROOT / "tests"
# What is installed, how tests are run, and what every test uses: no list of test files follows from a change of these.
EVERYWHERE = re.compile(
    r"pyproject\.toml|constraints\.txt|hatch_build\.py|Makefile|\.ci/.*|locks/.*|tests/conftest\.py|tests/[^/]*\.txt|"
    r"scripts/(?:gate|imports|run_tests)\.py|scripts/install_\w+\.sh"
)
# Packages whose plug-ins have names that others use too, as `run`: a test must mention the package as well.
COMMON_NAMES = {"activation", "drafts", "effectiveness", "page", "router"}
SLOW = "(slow or hypothesis) and not real and not bubblewrap and not exhaustive"
REAL = "(real or bubblewrap) and not exhaustive"


@dataclass(frozen=True, slots=True)
class Choice:
    """The test files whose slow and real cases a change can reach."""

    changed: tuple[str, ...]
    files: tuple[str, ...]
    why_all: str = ""
    """Why it is all of them; "" if they were chosen."""


def git(*words: str) -> str:
    """Return what git prints, without the last line ending. Raises CalledProcessError."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def find_base() -> str:
    """Return the commit that the change is compared with; "" if there is none."""
    head = git("rev-parse", "HEAD")
    for main in ("origin/main", "main"):
        try:
            base = git("merge-base", "HEAD", main)
        except subprocess.CalledProcessError:
            continue
        if base != head:
            return base
    for commit in reversed(passed_commits()):
        done = subprocess.run(["git", "merge-base", "--is-ancestor", commit, "HEAD"], cwd=ROOT, capture_output=True)
        if done.returncode == 0:
            return commit
    try:
        return git("rev-parse", "HEAD^")
    except subprocess.CalledProcessError:
        return ""


def passed_commits() -> list[str]:
    """Return the commits whose whole suite has passed, oldest first."""
    path = ROOT / HISTORY
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [record["commit"] for line in lines if (record := json.loads(line)).get("suite") == "passed"]


def record(facts: Mapping[str, object]) -> None:
    """Append a line about the last commit to the history. Raises SystemExit if there are changes on top of it."""
    if git("status", "--porcelain", "--untracked-files=no", "--", ".", f":!{HISTORY}"):
        raise SystemExit(f"nothing is recorded in {HISTORY}: commit your changes first")
    head, day = git("log", "-1", "--format=%H %cs").split()
    line = json.dumps({"commit": head, "date": day, **facts}, sort_keys=True)
    with open(ROOT / HISTORY, "a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def changed_files(base: str) -> list[str]:
    """Return the files that differ from a commit, those not committed and those removed included."""
    changed = git("diff", "--name-only", "--no-renames", "-z", base).split("\0")
    return sorted(filter(None, {*changed, *git("ls-files", "-o", "--exclude-standard", "-z").split("\0")}))


def choose(changed: Sequence[str]) -> Choice:
    """Return the test files that these changed files can reach."""
    tests = sorted(path.relative_to(ROOT).as_posix() for path in TESTS.rglob("test_*.py"))
    found: set[str] = set()
    modules: set[str] = set()
    for name in changed:
        if name == HISTORY:
            continue
        if EVERYWHERE.fullmatch(name):
            return Choice(tuple(changed), tuple(tests), name)
        if name.startswith("tests/"):
            found |= reached_by_test_file(name, tests)
        elif name.partition("/")[0] in (*PACKAGES, "simulators"):
            modules |= modules_of(name)
        elif mentioned := {test for test in tests if mentions(test, name)}:
            found |= mentioned
        else:
            return Choice(tuple(changed), tuple(tests), f"no test mentions {name}")
    for module in modules:
        reached = importers({module})
        named = {test for test in tests if is_reached(test, reached)}
        named = named or {test for test in tests if test.split("/")[1] in module.split(".")}
        if not named:
            return Choice(tuple(changed), tuple(tests), f"no test reaches {module}")
        found |= named
    return Choice(tuple(changed), tuple(sorted(found)))


def modules_of(name: str) -> set[str]:
    """Return the module that a file of a package is, or the modules next to it if it is data."""
    path = ROOT / name
    if path.suffix == ".py":
        return {module_name(path)}
    beside = {module_name(each) for each in path.parent.glob("*.py")}
    same = {module for module in beside if module.rpartition(".")[2] == path.name.split(".")[0]}
    return same or beside or (modules_of(path.parent.relative_to(ROOT).as_posix()) if "/" in name else set())


@cache
def graph() -> dict[str, set[str]]:
    """Return the modules that import each module."""
    paths = {module_name(path): path for path in (*MODULES, *(ROOT / "simulators").rglob("*.py"))}
    found: dict[str, set[str]] = {}
    for importer, path in paths.items():
        for target in imports(path):
            for module in (target, target.rpartition(".")[0]):
                found.setdefault(module, set()).add(importer)
    return found


def importers(modules: Iterable[str]) -> set[str]:
    """Return these modules and all that import them, directly or not."""
    found, open_ = set(modules), list(modules)
    while open_:
        fresh = graph().get(open_.pop(), set()) - found
        found |= fresh
        open_ += fresh
    return found


@cache
def plugins() -> dict[str, str]:
    """Return the name by which each plug-in is found."""
    paths = (path for path in MODULES if is_plugin(path) and not path.stem.startswith("_"))
    return {module_name(path): path.stem.strip("_").replace("_", "-") for path in paths}


def is_reached(test: str, reached: set[str]) -> bool:
    """Return whether a test file is about one of the reached modules."""
    facts, room = read_test(test), test.split("/")[1]
    if facts.modules & reached:
        return True
    for module in reached:
        home = module.split(".")[1] if "." in module else ""
        if module not in plugins():
            if home == room:
                return True
        elif plugins()[module] in facts.words and (home == room or home not in COMMON_NAMES or home in facts.words):
            return True
    return False


def mentions(test: str, name: str) -> bool:
    """Return whether a test file mentions a file of no package: its name, its top folder, or the module that it is."""
    facts, path = read_test(test), Path(name)
    if path.suffix == ".py":
        module = ".".join(path.with_suffix("").parts)
        return module in facts.modules or bool({module, name, path.name} & facts.words)
    return bool({path.name, *path.parts[:-1][:1]} & facts.words)


@dataclass(frozen=True, slots=True)
class TestFacts:
    """What a test file imports, its helpers' imports included, and the words in its strings."""

    modules: frozenset[str]
    helpers: frozenset[str]
    words: frozenset[str]


@cache
def read_source(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that a module of the tests imports, and the words in its strings."""
    names, words = set[str](), set[str]()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.update(re.findall(r"[\w.-]+", node.value))
        elif isinstance(node, (ast.Import, ast.ImportFrom, ast.Call)):
            names.update(names_imported(node, ()))
    return frozenset(names), frozenset(words | {word.replace("_", "-") for word in words})


@cache
def read_test(name: str) -> TestFacts:
    """Return the facts of a test file."""
    paths = list(find_helpers(ROOT / name))
    names, words = zip(*map(read_source, paths), strict=True)
    modules = {module for name in set().union(*names) for module in (name, name.rpartition(".")[0])}
    helpers = frozenset(path.relative_to(ROOT).as_posix() for path in paths)
    return TestFacts(frozenset(modules - {""}), helpers, frozenset().union(*words))


def find_helpers(path: Path) -> Iterator[Path]:
    """Yield a test file, the modules of the tests that it imports, directly or not, and the conftest of its folder."""
    found, open_ = {path}, [path]
    while open_:
        here = open_.pop()
        yield here
        names = {name.split(".")[0] for name in read_source(here)[0]}
        fresh = {each for each in helpers() if each.stem in names or each == path.with_name("conftest.py")} - found
        found |= fresh
        open_ += sorted(fresh)


@cache
def helpers() -> tuple[Path, ...]:
    """Return the modules of the tests that others may import, and the conftest of each folder."""
    return tuple(sorted(path for path in TESTS.rglob("*.py") if path != TESTS / "conftest.py"))


def reached_by_test_file(name: str, tests: Sequence[str]) -> set[str]:
    """Return the test files that a changed file of the tests can reach."""
    if name.endswith(".py"):
        return {test for test in tests if name in read_test(test).helpers}
    # Data reaches those that mention it, and its own folder and those above, but for the top.
    above = {each.as_posix() for each in Path(name).parents} - {"tests", "."}
    return {test for test in tests if Path(test).parent.as_posix() in above or Path(name).name in read_test(test).words}


def smoke_files() -> list[str]:
    """Return the test files that have a smoke case of a real part."""
    paths = sorted(TESTS.rglob("test_*.py"))
    return [path.relative_to(ROOT).as_posix() for path in paths if "mark.smoke" in path.read_text(encoding="utf-8")]


def run(files: Sequence[str], marks: str, **environment: str) -> int:
    """Run the cases of these files that have these marks; the exit code, 0 if there are none."""
    if not files:
        return 0
    return report(run_tests(["-m", marks, "--hypothesis-profile", "thorough", "-rs", *files], **environment))


def main() -> int:
    """Choose, say so, and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="the commit to compare with")
    parser.add_argument("--list", action="store_true", help="show the choice and run nothing")
    parser.add_argument("--record", action="store_true", help=f"note in {HISTORY} that the whole suite has passed")
    given = parser.parse_args()
    if given.record:
        record({"suite": "passed"})
        return 0
    base = given.base or find_base()
    choice = choose(changed_files(base) if base else ["pyproject.toml"])
    smoke = [name for name in smoke_files() if name not in choice.files]
    print(f"gate: {len(choice.changed)} files changed since {base or 'nothing'}")
    print(
        f"gate: {len(choice.files)} test files in reach" + (f", all of them: {choice.why_all}" * bool(choice.why_all))
    )
    for name in choice.files:
        print(f"gate:   {name}")
    print(f"gate: smoke cases of {len(smoke)} more", flush=True)
    if given.list:
        return 0
    return (
        run(choice.files, SLOW)
        or run(choice.files, REAL, SKILL_HEALTH_REAL="1")
        or run(smoke, "smoke", SKILL_HEALTH_REAL="1")
    )


if __name__ == "__main__":
    sys.exit(main())
