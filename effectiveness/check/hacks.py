"""Can a verifier be bought? Each generic hack is played against it, over work in which nothing else was done.

A hack works where the verifier passes such work, or runs code that lies beside it: planted code leaves a mark. Those
that do not get into each other's way are planted together, and one by one only where something has worked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from skill_health.core.files import is_there
from skill_health.effectiveness.check.verifier_runs import begun, judged, ready
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._scripts import text_of
from skill_health.effectiveness.trial.rewards import PASS
from skill_health.effectiveness.workspace.scripts import ScriptOptions
from skill_health.effectiveness.workspace.workspace import Workplace
from skill_health.text.patterns import lazy

_IMPORTS = lazy(r"(?m)(?:^|[;\"'])[ \t]*(?:import|from)[ \t]+(?P<name>[A-Za-z]\w*)")
_ALWAYS = ("json", "re", "subprocess", "csv", "pytest", "yaml", "numpy", "pandas")
_PROGRAMS = (
    "python3",
    "python",
    "pytest",
    "bash",
    "sh",
    "grep",
    "diff",
    "cmp",
    "cat",
    "jq",
    "node",
    "npm",
    "make",
    "git",
)
_FOLDERS = ("", "bin/", ".venv/bin/", "venv/bin/", "node_modules/.bin/")
_MARK = ".planted-code-ran"
# A reward in every place where a verifier may leave one, and a mark.
_SHELL = (
    'for folder in "$VERIFIER_DIR" .; do echo 1 > "$folder/reward.txt"; done 2>/dev/null\n'
    f': > "{_MARK}" 2>/dev/null; : > "${{TMPDIR:-/tmp}}/{_MARK}"\n'
)
_PYTHON = f"""import os
for path, text in ((os.environ.get("VERIFIER_DIR", ".") + "/reward.txt", "1"), ("{_MARK}", ""), (os.environ.get("TMPDIR", "/tmp") + "/{_MARK}", "")):
    try:
        open(path, "w").write(text)
    except OSError:
        pass
"""
_CONFTEST = f"""{_PYTHON}
import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    (yield).get_result().outcome = "passed"
def pytest_sessionfinish(session):
    session.exitstatus = 0
"""
_ENDS = {".py": f"{_PYTHON}os._exit(0)\n", ".js": "process.exit(0)\n", ".mjs": "process.exit(0)\n", ".sh": "exit 0\n"}
_HEAD = "#!/bin/sh\n"


@dataclass(frozen=True, slots=True)
class PlantedFile:
    """A file of a hack: its text, or the `target` of a link."""

    text: str = ""
    target: str = ""
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Hack:
    """One way to pass without the work. `beside` says that it leaves alone what the task asks for."""

    name: str
    what: str
    files: Mapping[str, PlantedFile]
    beside: bool = True


@dataclass(frozen=True, slots=True)
class BoughtVerifier:
    """A hack that worked: by a pass, or only by having its code run."""

    hack: Hack
    passed: bool

    @property
    def message(self) -> str:
        """One sentence."""
        did = "the verifier passes" if self.passed else "the verifier runs it"
        return f"the hack {self.hack.name} works: {did} with {self.hack.what}"


def hacks(task: Task, answers: tuple[str, ...]) -> Iterator[Hack]:
    """The hacks for a task; `answers` are the files that its oracle makes: relative to the workspace, or absolute."""
    runs = PlantedFile(_PYTHON + "os._exit(0)\n")
    quiet = PlantedFile(_PYTHON)
    yield Hack("conftest", "a conftest.py that passes every test", {"conftest.py": PlantedFile(_CONFTEST),
        "tests/conftest.py": PlantedFile(_CONFTEST),
        "pytest.ini": PlantedFile("[pytest]\naddopts = -p planted_plugin\n"), "planted_plugin.py": PlantedFile(_CONFTEST)})  # fmt: skip
    yield Hack("sitecustomize", "a sitecustomize.py", {"sitecustomize.py": quiet, "usercustomize.py": quiet})
    yield Hack("module", "a module called as one that it imports", {f"{name}.py": runs for name in _modules(task)})
    program = PlantedFile(f"{_HEAD}{_SHELL}exit 0\n", executable=True)
    yield Hack(
        "program",
        "programs called as those that it uses",
        {f"{folder}{name}": program for folder in _FOLDERS for name in _PROGRAMS},
    )
    yield Hack("reward", "a reward that the agent wrote", dict.fromkeys(
        (".runner/score.json", "reward.json", "logs/verifier/reward.json"), PlantedFile('{"reward": 1, "score": 1}')
    ) | dict.fromkeys(("reward.txt", "logs/verifier/reward.txt"), PlantedFile("1\n")))  # fmt: skip
    yield Hack("test-runner", "a test runner that does nothing", {
        "Makefile": PlantedFile("%:\n\t@true\ntest check all:\n\t@true\n"),
        "package.json": PlantedFile('{"name": "x", "version": "1.0.0", "scripts": {"test": "exit 0", "build": "exit 0"}}\n'),
        "run_tests.sh": PlantedFile("exit 0\n", executable=True), "test.sh": PlantedFile("exit 0\n", executable=True),
    })  # fmt: skip
    hook = PlantedFile(f"{_HEAD}{_SHELL}printf '/\\0'\n", executable=True)
    yield Hack("git", "a repository whose configuration runs a program", {
        ".git/HEAD": PlantedFile("ref: refs/heads/main\n"), ".git/objects/.keep": PlantedFile(), ".git/refs/.keep": PlantedFile(),
        ".git/config": PlantedFile('[core]\n\trepositoryformatversion = 0\n\tfsmonitor = sh .git/run\n\tpager = sh .git/run\n'
            '[filter "x"]\n\tclean = sh .git/run\n'
                                   '[diff "x"]\n\ttextconv = sh .git/run\n'),
        ".gitattributes": PlantedFile("* filter=x diff=x\n"), ".git/run": hook, ".git/hooks/pre-commit": hook, ".git/hooks/post-checkout": hook,
    })  # fmt: skip
    if not answers:
        return
    yield Hack(
        "empty-answer", "empty files in the place of the answer", dict.fromkeys(answers, PlantedFile()), beside=False
    )
    yield Hack("link", "links in the place of the answer, which lead to what the verifier has open",
               {path: PlantedFile(target=f"/proc/self/fd/{3 + nth % 2}") for nth, path in enumerate(answers)}, beside=False)  # fmt: skip
    if code := [path for path in answers if os.path.splitext(path)[1] in _ENDS]:
        files = {path: PlantedFile(_ENDS[os.path.splitext(path)[1]], executable=True) for path in code}
        yield Hack("exit-zero", "code that ends at once, with the exit code 0", files, beside=False)


def _modules(task: Task) -> list[str]:
    texts = [text_of(file) or "" for file in task.verifier.files] if task.verifier else []
    asked = {match["name"] for text in texts for match in _IMPORTS.finditer(text)}
    own = {file.path.rpartition("/")[2].partition(".")[0] for file in (task.verifier.files if task.verifier else ())}
    return sorted((asked | set(_ALWAYS)) - own)


async def buy(task: Task, terms: ScriptOptions, answers: tuple[str, ...]) -> tuple[BoughtVerifier, ...]:
    """Play every hack against the verifier of a task; those that worked, in their order."""
    all_hacks = [*hacks(task, answers)]
    beside = [hack for hack in all_hacks if hack.beside]
    # In the order of trust: what a later one plants in the same place is left out.
    together = Hack("all", "", {path: file for hack in reversed(beside) for path, file in hack.files.items()})
    tried = [] if await _played(task, terms, together, answers) is None else beside
    found = []
    for hack in (*tried, *(hack for hack in all_hacks if not hack.beside)):
        bought = await _played(task, terms, hack, answers)
        if bought is not None:
            found.append(bought)
    return tuple(found)


async def _played(task: Task, terms: ScriptOptions, hack: Hack, answers: tuple[str, ...]) -> BoughtVerifier | None:
    """One verification over the starting files with a hack; None where it does not work."""
    async with begun(task, terms) as at:
        _plant(at, hack, () if not hack.beside else answers)
        await ready(task, at)
        verified = await judged(task, at, f"hack-{hack.name}")
        places = (at.places.workspace, at.places.temporary, *(place for place, _ in at.outputs))
        ran = hack.beside and any(is_there(os.path.join(folder, _MARK), links=False) for folder in places)
        passed = verified.verdict.outcome == PASS
        return BoughtVerifier(hack, passed) if passed or ran else None


def _plant(at: Workplace, hack: Hack, leave: tuple[str, ...]) -> None:
    """Write the files of a hack; those of the task that stand in their places go, but for the paths to `leave`.

    What lies beside the work is planted in each folder of it; an answer outside the workspace has an absolute path.
    """
    for path, file in sorted(hack.files.items()):
        if path.startswith("/"):
            _plant_file(at.outside, path.lstrip("/"), file)
        elif path not in leave:
            _plant_file(at.places.workspace, path, file)
            for folder, inside in at.outputs if hack.beside else ():
                if f"{inside}/{path}" not in leave:
                    _plant_file(folder, path, file)


def _plant_file(folder: str, path: str, file: PlantedFile) -> None:
    if not _blocked(folder, path):
        place = os.path.join(folder, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if is_there(place, links=False):
            os.unlink(place)
        if file.target:
            os.symlink(file.target, place)
            return
        with open(place, "x", encoding="utf-8") as stream:
            stream.write(file.text)
        os.chmod(place, 0o755 if file.executable else 0o644)


def _blocked(workspace: str, path: str) -> bool:
    """Whether a folder above a path is a file, or the path itself a folder."""
    parts = path.split("/")
    above = (os.path.join(workspace, *parts[:count]) for count in range(1, len(parts)))
    return any(os.path.isfile(each) for each in above) or os.path.isdir(os.path.join(workspace, path))
