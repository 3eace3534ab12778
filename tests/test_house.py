"""The rules of the house: who may import whom, how big a module may be, what is pinned, what is never named."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import distribution
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.imports import (
    MODULES,
    PACKAGES,
    ROOT,
    imports,
    is_plugin,
    module_name,
    name_called,
    names_imported,
    package_of,
    within,
)
from skill_health.cli import main
from skill_health.lint.cache.lint_cache import STAMPED

BENCHMARKS = ("skill_health.router", "skill_health.effectiveness")
MAX_LINES = 600

# The rooms from the ground up: a room imports itself and what stands before it.
ROOMS = (
    "text", "core", "executors", "stats", "config", "skill", "hosts", "discovery", "registries", "profiles", "rules", "score", "lint", "documents",
    "needs", "formats", "server", "init", "bench", "trials", "status", "daily", "router", "effectiveness", "activation", "drafts", "page",
    "forge", "delta", "fleet", "census", "quality", "datasets", "api", "mcp", "commands",
)  # fmt: skip
# Those that stand above both benchmarks and may join them.
JOINING = tuple(f"skill_health.{room}" for room in ROOMS[ROOMS.index("delta") :])
# What the pre-commit hook must not wait for.
HEAVY = {
    "asyncio", "concurrent.futures", "http.server", "httpx", "importlib.metadata", "jinja2", "jsonschema",
    "msgspec", "multiprocessing", "numpy", "rich", "scipy", "sqlite3", "unittest", "urllib.request", "vl_convert",
    "xml.etree.ElementTree",
}  # fmt: skip
IMPORT_NAMES = {
    "PyYAML": "yaml",
    "markdown-it-py": "markdown_it",
    "python-frontmatter": "frontmatter",
    "Jinja2": "jinja2",
    "vl-convert-python": "vl_convert",
}
# What comes with an extra, and the only rooms of the linter's package that may import it.
EXTRAS = {
    **dict.fromkeys(("numpy", "scipy"), "skill_health.stats"),
    **dict.fromkeys(("certifi", "genai_prices", "h11", "httpx"), "skill_health.bench"),
    **dict.fromkeys(("jinja2", "markupsafe", "vl_convert"), "skill_health.page"),
    **dict.fromkeys(("lsprotocol", "pygls"), "skill_health.server"),
    **dict.fromkeys(("anyio", "mcp"), "skill_health.mcp"),
    "ray": "skill_health.executors",
    "pyarrow": "skill_health.datasets",
}


def room_of(name: str) -> str:
    """The room of a module of ours; "" of one that stands in none."""
    part = name.split(".")[1] if "." in name else ""
    return part if part in ROOMS else ""


@pytest.mark.slow
def test_arrows() -> None:
    wrong = set()
    for path in MODULES:
        name = module_name(path)
        ours = {found for found in imports(path) if within(found, ("skill_health", "router", "effectiveness"))}
        if here := room_of(name):
            allowed = ("skill_health.__version__", *(f"skill_health.{each}" for each in ROOMS[: ROOMS.index(here) + 1]))
            wrong |= {f"{name} imports {found}" for found in ours - {"skill_health"} if not within(found, allowed)}
        if not within(name, (*BENCHMARKS, "skill_health.activation", "skill_health.drafts", *JOINING)):
            wrong |= {f"{name} imports {found}" for found in ours if within(found, BENCHMARKS)}
        if not within(name, ("skill_health.activation", "skill_health.commands")):
            wrong |= {f"{name} imports {found}" for found in ours if within(found, ("skill_health.activation",))}
        for one, other in (BENCHMARKS, BENCHMARKS[::-1]):
            if within(name, (one,)):
                wrong |= {f"{name} imports {found}" for found in ours if within(found, (other,))}
    assert wrong == set()


def test_the_rooms_are_those_of_the_documentation() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"(?m)^\| `(\w+)` \|", table)) == ROOMS
    folders = {path.parent.name for path in (ROOT / "skill_health").glob("*/__init__.py")}
    assert folders == set(ROOMS)


@pytest.mark.slow
def test_commands_are_imported_by_nobody_but_the_root() -> None:
    importers = {
        module_name(path) for path in MODULES if any(within(name, ("skill_health.commands",)) for name in imports(path))
    }
    front = ("skill_health.cli", "skill_health.root", "skill_health.commands")
    assert {name for name in importers if not within(name, front)} == set()


def test_no_module_is_too_long() -> None:
    lengths = {module_name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def public_definitions(kind: type[ast.AST]) -> Iterator[tuple[str, str]]:
    """The name of each public class or function at the top of a module, and the module."""
    for path in MODULES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, kind) and not (name := str(getattr(node, "name", ""))).startswith("_"):
                yield name, module_name(path)


@pytest.mark.slow
def test_no_two_public_classes_share_a_name() -> None:
    places: dict[str, list[str]] = {}
    for name, module in public_definitions(ast.ClassDef):
        places.setdefault(name, []).append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


@pytest.mark.slow
def test_no_function_is_named_by_a_word_that_says_nothing() -> None:
    """Such a word was a text here, a truth value there and a dictionary elsewhere."""
    said = {"shown", "plain", "line", "told", "said", "look", "tell", "say"}
    assert [(name, module) for name, module in public_definitions(ast.FunctionDef) if name in said] == []


MOST_MODULES = 12
USUAL_LINES = 400


def test_no_folder_is_an_attic() -> None:
    folders: dict[Path, int] = {}
    for path in MODULES:
        if path.name != "__init__.py" and not is_plugin(path):
            folders[path.parent] = folders.get(path.parent, 0) + 1
    assert {str(folder): count for folder, count in folders.items() if count > MOST_MODULES} == {}


@pytest.mark.slow
def test_no_module_is_there_for_one_caller_beside_it() -> None:
    """Where it would fit into its caller; what is imported within a function waits until it is needed."""
    stand_ins = (ROOT / "simulators").rglob("*.py")
    paths = {module_name(path): path for path in (*MODULES, *stand_ins)}
    callers: dict[str, set[str]] = {}
    lazy = set()
    for name, path in paths.items():
        tree, package = ast.parse(path.read_text(encoding="utf-8")), package_of(path)
        at_once = {id(node) for node in tree.body}
        for node in ast.walk(tree):
            for found in names_imported(node, package):
                module = found if found in paths else found.rpartition(".")[0]
                if module in paths and module != name:
                    callers.setdefault(module, set()).add(name)
                    lazy |= set() if id(node) in at_once else {module}
    alone = set()
    for module, found in callers.items():
        path, own = paths[module], paths[next(iter(found))]
        named = path.name in ("__init__.py", "__main__.py") or (is_plugin(path) and not path.name.startswith("_"))
        if len(found) == 1 and own.parent == path.parent and not named and module not in lazy:
            lines = sum(len(each.read_text(encoding="utf-8").splitlines()) for each in (path, own))
            alone |= {module} if lines <= USUAL_LINES else set()
    assert alone == set()


def test_every_folder_with_modules_is_a_package_and_every_package_is_typed() -> None:
    assert {path.parent for path in MODULES if not (path.parent / "__init__.py").is_file()} == set()
    assert [package for package in PACKAGES if not (ROOT / package / "py.typed").is_file()] == []


@pytest.mark.slow
def test_frontmatter_has_one_reader() -> None:
    """The handler splits it; but for that, only the published checker, whose quirks are kept."""
    by_hand = {
        module_name(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in ("---", "---\n", "\n---", "\n---\n", b"---", b"---\n")
    }
    assert by_hand == {"skill_health.skill.frontmatter", "skill_health.lint.compat"}
    users = {module_name(path) for path in MODULES if any(within(name, ("frontmatter",)) for name in imports(path))}
    assert users == {"skill_health.skill.frontmatter"}


def project() -> dict[str, Any]:
    metadata: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return metadata


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}


def requirements(metadata: Mapping[str, Any]) -> list[Requirement]:
    extras = [line for lines in metadata["optional-dependencies"].values() for line in lines]
    return [Requirement(line) for line in [*metadata["dependencies"], *extras]]


@pytest.mark.slow
def test_base_dependencies_are_those_the_linter_imports() -> None:
    declared = {IMPORT_NAMES.get(name, name) for name in (Requirement(line).name for line in project()["dependencies"])}
    imported = {
        (name.split(".")[0], module_name(path))
        for path in MODULES
        if path.is_relative_to(ROOT / "skill_health")
        for name in imports(path)
    }
    foreign = {(name, by) for name, by in imported if name not in sys.stdlib_module_names and name not in PACKAGES}
    assert {(name, by) for name, by in foreign if name in EXTRAS and not within(by, (EXTRAS[name],))} == set()
    assert {name for name, _ in foreign} - set(EXTRAS) == declared


def test_every_requirement_is_pinned_to_a_version_that_it_allows() -> None:
    exact = pins()
    assert all(re.fullmatch(r"[0-9][\w.+!]*", version) for version in exact.values())
    for requirement in requirements(project()):
        assert requirement.specifier.contains(exact[canonicalize_name(requirement.name)]), requirement


def locked(name: str) -> dict[str, tuple[str, set[str]]]:
    """The version and the hashes of each package of a lock."""
    text = (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8")
    head, *blocks = re.split(r"(?m)^(?=[a-z0-9][a-z0-9-]*==)", text)
    assert [line for line in head.splitlines() if not line.startswith("#")] == ["--only-binary :all:", ""]
    found = {}
    for block in blocks:
        first, *rest = block.replace("\\\n", "\n").splitlines()
        requirement = Requirement(first)
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64} *", line) for line in rest) and rest, first
        assert str(requirement.specifier).count("==") == 1
        if "sys_platform == 'emscripten'" in str(requirement.marker or "").replace('"', "'"):
            # Of a browser, where nothing of ours runs.
            continue
        found[requirement.name] = (str(requirement.specifier)[2:], set(rest))
    return found


@pytest.mark.parametrize(("name", "extras"), [("base", []), ("report", ["report"]), ("bench", ["bench"])])
def test_a_lock_has_all_that_is_installed_at_its_pin(name: str, extras: list[str]) -> None:
    lock, exact = locked(name), pins()
    assert {each: exact[each] for each in lock} == {each: version for each, (version, _) in lock.items()}
    wanted = [
        *project()["dependencies"],
        *(one for extra in extras for one in project()["optional-dependencies"][extra]),
    ]
    names = {canonicalize_name(Requirement(line).name) for line in wanted}
    assert names <= set(lock), "run `make lock`"
    every = closure(names)
    assert every <= set(lock) and set(lock) - every <= {"typing-extensions"}, "of older Pythons"


def closure(names: set[str]) -> set[str]:
    """These distributions and all that they need here, as they are installed."""
    found: set[str] = set()
    while names - found:
        name = min(names - found)
        found.add(name)
        needs = [Requirement(line) for line in distribution(name).requires or ()]
        names = names | {
            canonicalize_name(each.name) for each in needs if not each.marker or each.marker.evaluate({"extra": ""})
        }
    return found


def test_the_lock_of_the_back_end_is_apart_and_as_complete() -> None:
    build, exact = locked("build"), pins()
    assert {each: exact[each] for each in build} == {each: version for each, (version, _) in build.items()}
    assert closure({"hatchling"}) <= set(build)
    assert not set(build) & set(locked("report")), "pip takes a requirement but once"


def test_every_requirement_of_ours_has_an_upper_bound() -> None:
    """What a hook installs is found by pip's resolver, from whatever is published by then."""
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = [line for name, lines in project()["optional-dependencies"].items() if name != "dev" for line in lines]
    for line in [*metadata["build-system"]["requires"], *project()["dependencies"], *extras]:
        assert re.search(r"<\d|==\d", line), line


def test_the_markdown_parser_is_bounded_below_the_next_minor_version() -> None:
    """`skill/markdown.py` stands in for its ruler and its state, which no release promises to keep."""
    (line,) = (line for line in project()["dependencies"] if line.startswith("markdown-it-py"))
    major, minor = pins()["markdown-it-py"].split(".")[:2]
    assert line.endswith(f",<{major}.{int(minor) + 1}")


def test_pre_commit_uses_local_hooks_with_the_pinned_versions() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert {repo["repo"] for repo in config["repos"]} == {"local"}
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    exact = pins()
    for line in [line for hook in hooks for line in hook["additional_dependencies"]]:
        name, _, version = line.partition("==")
        assert exact[canonicalize_name(name)] == version
    linter = next(hook for hook in hooks if hook["id"] == "skill-health")
    given = {Requirement(line).name for line in linter["additional_dependencies"]}
    assert given == {Requirement(line).name for line in project()["dependencies"]}


# In parts, so that this file does not name them itself.
FORBIDDEN = re.compile(
    "|".join(
        [
            r"(?<![\w.~-])/" + r"work(?:/|\b)(?!-)",
            r"/" + r"tmp/exp\b",
            r"/opt/" + r"(?:wheels|pypi)",
            r"\bissue " + r"2\b",
            r"\bpypi\." + r"org\b",
            r"python" + r"hosted\.org",
            r"registry\.npm" + r"js\.org",
        ]
    )
)
# Found quickly, in more files than the pattern itself.
A_HINT = re.compile("/" + "work|/" + r"tmp/exp|/opt/|issue " + "2|pypi|python" + "hosted|npm" + "js")


CLOCKS = {
    f"{name}{unit}" for name in ("monotonic", "perf_counter", "process_time", "thread_time") for unit in ("", "_ns")
}

A_CLOCK = re.compile("|".join([*sorted(CLOCKS), "time_ns", r"\btime\.time\b", r"\bclock\.time\b", "performance.now"]))


def clock_reads(source: str) -> Iterator[int]:
    """The lines of a module that read a clock, under whatever name it is imported."""
    names = CLOCKS | {"time_ns"}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            if {alias.name for alias in node.names} & (names | {"time"}):
                yield node.lineno
        elif isinstance(node, ast.Attribute):
            if node.attr in names or ast.unparse(node) in {"time.time", "clock.time"}:
                yield node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "performance.now" in node.value:
            yield node.lineno


@pytest.mark.parametrize(
    "source",
    [
        "start = time.monotonic()\nassert time.monotonic() - start < 2",
        "start = clock.process_time()\nspent = clock.process_time() - start\nassert spent / 300 < 0.02",
        "from time import perf_counter\nbegan = perf_counter()\nassert perf_counter() - began < 1",
        "until = time.time() + 5\nwhile time.time() < until:\n    pass",
        "_WATCH = 'window.__keys.push(performance.now() - event.timeStamp)'",
    ],
)
def test_reading_a_clock_is_noticed(source: str) -> None:
    assert list(clock_reads(source))
    assert not list(clock_reads("time.sleep(1)\nassert time.passed == 5 and until_reset(text, NOW) < 3"))


@pytest.mark.slow
def test_no_test_reads_a_clock() -> None:
    """How long something takes says more of the machine than of it: count what is done, or see `benchmarks/`."""
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in (ROOT / "tests").rglob("*.py")
        if path != Path(__file__) and A_CLOCK.search(text := path.read_text(encoding="utf-8"))
        for line in clock_reads(text)
    }
    assert found == set()


def kept_files() -> list[Path]:
    """What git tracks or would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.slow
def test_no_file_names_a_machine_or_a_package_index() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in kept_files()
        if A_HINT.search(text := path.read_bytes().decode("utf-8", "replace"))
        for number, line in enumerate(text.splitlines(), 1)
        if FORBIDDEN.search(line)
    ]
    assert found == []


def loaded_after(code: str, cwd: Path) -> set[str]:
    code = f"import json, sys\n{code}\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_hook_is_light(tmp_path: Path) -> None:
    assert loaded_after("import skill_health.commands.lint", tmp_path) & HEAVY == set()


def test_importing_the_package_is_light(tmp_path: Path) -> None:
    """What it offers to other programs is imported when it is used."""
    before, after = (loaded_after(code, tmp_path) for code in ("", "import skill_health"))
    assert after - before == {"skill_health"}


@pytest.mark.slow
def test_linting_one_skill_is_light(write: Callable[[Mapping[str, str]], Path]) -> None:
    text = "---\nname: tidy\ndescription: Tidies lists. Use when a list is out of order.\n---\n# Tidy\n\nSort it.\n"
    root = write({"skills/tidy/SKILL.md": text})
    code = "from skill_health.cli import main\nmain(['lint', 'skills/tidy/SKILL.md'])\nprint()"
    loaded = loaded_after(code, root)
    assert "skill_health.lint.pipeline" in loaded
    assert loaded & HEAVY == set()


def test_the_cache_knows_every_room_that_can_change_a_finding() -> None:
    assert ROOMS[: ROOMS.index("lint") + 1] == STAMPED


MAIN_LINE = ("skill_health.cli", "skill_health.commands._lint", "skill_health.lint.pipeline", "skill_health.lint.check")


def test_from_a_file_to_its_findings_it_is_five_modules(
    write: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is on the stack when a skill is parsed or a rule runs is what a reader follows; only the cache packs."""
    root = write({"skills/tidy/SKILL.md": "---\nname: tidy\n---\n# Tidy\n\n[Gone](gone.md)\n"})
    monkeypatch.chdir(root)
    ends = {"skill_health.skill.parse": set(), "skill_health.rules.links.broken_link": set()}
    called = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_globals.get("__name__", "")
        called.add((name, frame.f_code.co_name))
        if event == "call" and name in ends and frame.f_code.co_name in ("parse_skill", "check"):
            ends[name].add(tuple(waiting(frame)))

    sys.setprofile(note)
    try:
        assert main(["lint", "--no-cache"]) == 1
    finally:
        sys.setprofile(None)
    assert ends == {name: {(*MAIN_LINE, name)} for name in ends}
    packing = {
        "skill_health.lint.cache.records.pack",
        "skill_health.lint.cache.records.unpack",
        "skill_health.lint.cache.lint_cache.save",
    }
    assert not packing & {f"{module}.{name}" for module, name in called}


def waiting(frame: FrameType) -> Iterator[str]:
    """The modules of ours on the stack, from the ground up, each once in a row."""
    names = [frame.f_globals.get("__name__", "")]
    while back := frame.f_back:
        frame = back
        names.append(frame.f_globals.get("__name__", ""))
    ours = [name for name in reversed(names) if within(name, ("skill_health",))]
    yield from (name for name, _ in groupby(ours))


@pytest.mark.slow
def test_linting_again_loads_no_parser(write: Callable[[Mapping[str, str]], Path]) -> None:
    root = write({"skills/tidy/SKILL.md": "---\nname: tidy\ndescription: Tidies lists.\n---\n# Tidy\n"})
    code = "from skill_health.cli import main\nmain(['lint', '.'])\nprint()"
    assert "markdown_it" in loaded_after(code, root)
    needed = {"dataclasses", "difflib", "markdown_it", "skill_health.lint.check", "subprocess", "yaml"}
    assert loaded_after(code, root) & (needed | HEAVY) == set()


@pytest.mark.parametrize(
    ("what", "where"),
    [
        # What a repository configures must not run, and only there is that seen to.
        (r"\[\s*[\"']git[\"']", ["skill_health/core/git.py"]),
        # A half-written file is nobody's to see, and only there is that seen to.
        (r"os\.replace\(|mkstemp\(", ["skill_health/core/files.py"]),
        # What talks with a program while it runs is another matter, and is asyncio.
        (
            r"subprocess\.(run|call|check_\w+|Popen)\(",
            [
                # Where nothing of ours but this file is.
                "effectiveness/sandbox/_mailbox.py",
                "effectiveness/workspace/process.py",
                "skill_health/core/git.py",
                "skill_health/rules/repository/shell_syntax.py",
            ],
        ),
        (r"\|---\||\| --- \|", ["skill_health/text/blocks.py"]),
        # A look that fails must not say "it is not there", which `is_there` sees to, but where "no" is the safe answer.
        (
            r"os\.path\.l?exists\(|\.exists\(\)",
            [
                # Programs and settings of the system: those that cannot be seen are not shown to a sandbox either.
                "effectiveness/sandbox/_container.py",
                "effectiveness/sandbox/bubblewrap.py",
                # Only what is seen to be ours is removed.
                "effectiveness/workspace/folders.py",
                "effectiveness/workspace/programs.py",
                # Only a mark that is seen makes a folder ours.
                "skill_health/lint/cache/cache_folder.py",
            ],
        ),
    ],
    ids=["git", "replace a file", "run a program", "write a table in Markdown", "look whether something is there"],
)
def test_it_is_done_in_one_place(what: str, where: list[str]) -> None:
    found = (path for path in MODULES if re.search(what, path.read_text(encoding="utf-8")))
    assert sorted({path.resolve().relative_to(ROOT).as_posix() for path in found}) == where


# Modules that open a file to read it by themselves, and which one that is; everything else may be a trap.
OPENED = {
    "skill_health/bench/durable.py": "the last line of a journal under its lock, which is then completed",
    "skill_health/core/validation.py": "a schema of ours",
    "skill_health/page/html.py": "an asset of ours",
    "skill_health/page/sections/_load.py": "a template of ours",
    "skill_health/trials/kept_files.py": "a handle that was opened through no link",
    "skill_health/rules/_page.py": "a table of ours",
    "skill_health/rules/structure/retired_model.py": "a table of ours",
    "effectiveness/agents/_acp_client.py": "the plan that its parent wrote",
    "effectiveness/delivery/serve.py": "what its parent wrote for it",
    "effectiveness/sandbox/_inside.py": "a process, as the system shows it",
    "effectiveness/sandbox/_mailbox.py": "what was uploaded for it, and what is left in its own sandbox",
    "effectiveness/sandbox/_resources.py": "a control group, as the system shows it",
    "effectiveness/sandbox/_run.py": "a process, as the system shows it",
    "effectiveness/trial/verify.py": "a file made by us for the trial",
    "effectiveness/workspace/scripts.py": "a module of ours",
    "router/lexicon/embedder.py": "a model that was installed",
}


def is_plain_reading(node: ast.AST) -> bool:
    """Whether a call opens a path to read it, however large or strange what stands there is."""
    if not isinstance(node, ast.Call) or name_called(node) not in {"open", "read_text", "read_bytes"}:
        return False
    name = ast.unparse(node.func)
    modes = [*node.args[1:2], *(each.value for each in node.keywords if each.arg == "mode")]
    mode = ast.unparse(modes[0]) if modes else "r"
    of_distribution = name.startswith(("distribution(", "metadata."))
    return (name == "open" and "r" in mode) or (name.endswith((".read_text", ".read_bytes")) and not of_distribution)


@pytest.mark.slow
def test_files_of_a_repository_are_read_by_one_bounded_reader() -> None:
    """It waits for no pipe, opens no device, and reads no more than it is told to: see core/files.py."""
    texts = ((path, path.read_text(encoding="utf-8")) for path in MODULES)
    likely = ((path, text) for path, text in texts if re.search(r"\bopen\(|\bread_(?:text|bytes)\(", text))
    found = (path for path, text in likely if any(map(is_plain_reading, ast.walk(ast.parse(text)))))
    assert sorted(path.resolve().relative_to(ROOT).as_posix() for path in found) == sorted(OPENED)


@pytest.mark.slow
@pytest.mark.parametrize("package", PACKAGES)
def test_values_travel_as_types(package: str) -> None:
    """Fewer than ten look-ups by a string key in a thousand lines: the rest is at the borders, in foreign data."""
    lines = lookups = 0
    for path in (ROOT / package).rglob("*.py"):
        if not path.is_relative_to(ROOT / package / "router") and not path.is_relative_to(
            ROOT / package / "effectiveness"
        ):
            text = path.read_text(encoding="utf-8")
            lines += sum(bool(line.strip()) and not line.strip().startswith("#") for line in text.splitlines())
            keys = (node.slice for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Subscript))
            lookups += sum(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys)
    assert lines > 5_000 and lookups < lines / 100
