"""What can be said of a verifier by reading it: how many tests it has, what it installs, and whose code it runs.

Nothing here fails a task. A warning is a fact that can change a verdict; what is a matter of opinion is information.
"""

from __future__ import annotations

import ast
import posixpath
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from skill_health.documents.effect_check import TaskFinding
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.tasks._scripts import WORKSPACE, text_of
from skill_health.text.near import list_some
from skill_health.text.numbers import count

Level = Literal["warning", "info"]
FEW = 2
"""So few tests or less are few: their passed share has hardly any steps."""
_MOST_CODE = 256 << 10
_INTERPRETERS = frozenset(("bash", "sh", "python", "node", "ruby", "perl"))
_SHELL = (".sh", ".bash")
_SCRIPTS = (".py", ".sh", ".bash", ".js", ".mjs", ".rb", ".pl")
_LOADERS = {
    "importlib.util.spec_from_file_location": "imports", "runpy.run_path": "runs", "pickle.load": "unpickles",
    "pickle.loads": "unpickles", "joblib.load": "unpickles", "dill.load": "unpickles", "exec": "executes", "eval": "executes",
    "imp.load_source": "imports",
    "sys.path.insert": "imports from", "sys.path.append": "imports from", "site.addsitedir": "imports from",
}  # fmt: skip
_STARTERS = frozenset(
    f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen", "getoutput", "getstatusoutput")
) | {"os.system", "os.popen"}  # fmt: skip
_FOLLOWED = 4


def verifier_findings(task: Task) -> Iterator[TaskFinding]:
    """What there is to say of a task's verifier, in the order of its files."""
    if task.verifier is None:
        return
    files = task.verifier.files
    scripts = [(file.path, text) for file in files if (text := _code(file, _SHELL)) is not None]
    for path, text in scripts:
        yield from _installs(path, text)
    modules = _modules(files)
    tests = sum(_tests(each.tree) for each in modules)
    if 0 < tests <= FEW:
        yield TaskFinding("few-tests", "info", f"the verifier has {count(tests, 'test')}")
    own = frozenset(posixpath.basename(file.path) for file in files)
    places = tuple(path for path, role in task.places if role == WORKSPACE)
    for path, text in scripts:
        yield from _started(path, text, own, places)
    for module in modules:
        yield from _agents_code(module, own, places)


def count_tests(task: Task) -> int | None:
    """How many test functions of Python the verifier has, each once however often it is parametrised.

    None where it has none, or where there is no verifier: what it tests is then not known.
    """
    modules = _modules(task.verifier.files) if task.verifier else []
    return sum(_tests(each.tree) for each in modules) or None


def _modules(files: Iterable[File]) -> list[_Module]:
    programs = [(file.path, text) for file in files if (text := _code(file, (".py",))) is not None]
    return [found for path, text in programs if (found := _module(path, text))]


def _code(file: File, endings: tuple[str, ...]) -> str | None:
    """The text of a program by the ending of its name; None for any other file, and for one that is too long."""
    return text_of(file) if file.path.endswith(endings) and len(file.data) <= _MOST_CODE else None


def _started(script: str, text: str, own: frozenset[str], places: Sequence[str]) -> Iterator[TaskFinding]:
    """Programs of the workspace that a shell script starts."""
    told: set[str] = set()
    for line, words in shell_commands(text):
        path = words[0] if "/" in words[0] else next((word for word in words[1:] if not word.startswith("-")), "")
        started = path == words[0] or words[0].rpartition("/")[2].rstrip("0123456789.") in _INTERPRETERS
        if started and path not in told and path.endswith(_SCRIPTS) and _is_agents(path, own, places):
            told.add(path)
            message = f"{script}:{line}: the verifier starts {path}, which the agent can write, as a program"
            yield TaskFinding("runs-agents-code", "info", message)


def _installs(path: str, text: str) -> Iterator[TaskFinding]:
    for found in unpinned_installs(text):
        level: Level = "info" if found.distribution else "warning"
        message = f"{path}:{found.line}: {found.program} without a version: {list_some(found.packages, 6)}"
        yield TaskFinding("unpinned-install", level, message)


@dataclass(frozen=True, slots=True)
class _Module:
    """A file of Python. `texts` are what its names can stand for, `names` what its imports mean."""

    path: str
    tree: ast.Module
    texts: Mapping[str, Sequence[ast.expr]]
    names: Mapping[str, str]


def _module(path: str, text: str) -> _Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        nodes = list(ast.walk(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    texts: dict[str, list[ast.expr]] = {}
    names: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            texts.setdefault(node.targets[0].id, []).append(node.value)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            texts.setdefault(node.target.id, []).append(node.iter)
        elif isinstance(node, ast.With):
            for item in node.items:
                if isinstance(item.optional_vars, ast.Name):
                    texts.setdefault(item.optional_vars.id, []).append(item.context_expr)
        elif isinstance(node, ast.Import):
            names |= {
                each.asname or each.name.partition(".")[0]: each.name if each.asname else each.name.partition(".")[0]
                for each in node.names
            }
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return _Module(path, tree, texts, names)


def _tests(tree: ast.Module) -> int:
    """The test functions that pytest finds, each once however often it is parametrised."""
    found = 0
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test") else [node]
        found += sum(
            isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name.startswith("test") for each in inner
        )
    return found


def _agents_code(module: _Module, own: frozenset[str], places: Sequence[str]) -> Iterator[TaskFinding]:
    """Calls that run a file of the workspace: in the verifier's own process, or in one of its own."""
    told: set[tuple[str, str]] = set()
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        called = _called(node.func, module.names)
        how = _LOADERS.get(called, "starts" if called in _STARTERS else "")
        if not how:
            continue
        for path in _paths([*node.args, *(each.value for each in node.keywords if each.arg != "cwd")], module):
            if how == "starts" and not path.endswith(_SCRIPTS):
                continue
            if _is_agents(path, own, places) and (how, path) not in told:
                told.add((how, path))
                level: Level = "info" if how == "starts" else "warning"
                where = "as a program" if how == "starts" else "in its own process, where it can change the verdict"
                message = f"{module.path}:{node.lineno}: the verifier {how} {path}, which the agent can write, {where}"
                yield TaskFinding("runs-agents-code", level, message)


def _called(node: ast.expr, names: Mapping[str, str]) -> str:
    """The full name of what is called, "" where that is no plain name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join((names.get(node.id, node.id), *reversed(parts)))


def _paths(nodes: Sequence[ast.expr], module: _Module, depth: int = 0) -> Iterator[str]:
    """The paths that an expression is made of: literals, joined ones, and what names in it were set to."""
    for node in nodes:
        whole = _folded(node, module, depth)
        if whole is not None:
            yield from (word for word in whole.split() if "/" in word or word.endswith(_SCRIPTS))
        elif isinstance(node, ast.Name) and depth < _FOLLOWED:
            yield from _paths(module.texts.get(node.id, ()), module, depth + 1)
        elif isinstance(node, ast.List | ast.Tuple):
            yield from _paths(node.elts, module, depth)
        elif isinstance(node, ast.Call):
            inner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            yield from _paths([*inner, *node.args] if depth < _FOLLOWED else (), module, depth + 1)


def _folded(node: ast.expr, module: _Module, depth: int) -> str | None:
    """An expression as the one text that it comes to; None where that is not certain."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name) and depth < _FOLLOWED and len(found := module.texts.get(node.id, ())) == 1:
        return _folded(found[0], module, depth + 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and depth < 4 * _FOLLOWED:
        sides = [_folded(each, module, depth + 1) for each in (node.left, node.right)]
        return posixpath.join(*sides) if None not in sides else None  # type: ignore[arg-type]
    if isinstance(node, ast.Call) and depth < _FOLLOWED:
        called = _called(node.func, module.names)
        parts = [_folded(each, module, depth + 1) for each in node.args]
        if called in ("str", "pathlib.Path", "os.path.join", "os.fspath") and parts and None not in parts:
            return posixpath.join(*parts)  # type: ignore[arg-type]
    return None


def _is_agents(path: str, own: frozenset[str], places: Sequence[str]) -> bool:
    """Whether a path is in the workspace, and no file of the verifier's own name."""
    plain = posixpath.normpath(path)
    return posixpath.basename(plain) not in own and any(
        plain.startswith(f"{place.rstrip('/')}/") for place in places if place.strip("/")
    )


_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_SEPARATORS = frozenset("();<>|&{}")
_LEADING = frozenset(
    ("if", "then", "else", "elif", "while", "until", "do", "!", "sudo", "time", "exec", "command", "env")
)
_REDIRECTED = re.compile(r"(?:&?>{1,2}[&|]?|<{1,3}-?&?|<>)\Z")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*\+?=")
_VALUED = frozenset(
    "-r --requirement -c --constraint -i --index-url --extra-index-url --default-index --index -t --target -p --python "
    "-f --find-links --root --prefix --cache-dir --timeout --trusted-host --registry --directory --project --retries "
    "--python-version --platform --abi --only-binary --no-binary --group --extra --env-file --torch-backend".split()
)
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)(\[[\w.,\s-]*\])?(.*)\Z", re.DOTALL)
_PYTHON = re.compile(r"python[\d.]*\Z")
_NPM = re.compile(r"(@[\w.-]+/)?[\w.-]+\Z")


@dataclass(frozen=True, slots=True)
class UnpinnedInstall:
    """What a line installs without a version; a `distribution`'s packages are at least those of its release."""

    line: int
    program: str
    packages: tuple[str, ...]
    distribution: bool = False


def unpinned_installs(script: str) -> Iterator[UnpinnedInstall]:
    """Every command of a shell script that installs packages of no certain version: a verdict then depends on the day.

    What stands in variables, files of requirements, quotes or here-documents is not looked at.
    """
    told: set[tuple[str, tuple[str, ...]]] = set()
    for line, words in shell_commands(script):
        for program, reader in _PROGRAMS.items():
            head = program.split()
            if words[: len(head)] == head:
                packages = tuple(dict.fromkeys(reader(words[len(head) :])))
                if packages and (program, packages) not in told:
                    told.add((program, packages))
                    yield UnpinnedInstall(line, program, packages, program in _DISTRIBUTION)
                break


def shell_commands(script: str) -> Iterator[tuple[int, list[str]]]:
    """The simple commands of a script, each with its line; what cannot be split is passed over."""
    lines = iter(enumerate(script.split("\n"), 1))
    for number, line in lines:
        whole = line
        while whole.endswith("\\"):
            whole = whole[:-1] + " " + next(lines, (0, ""))[1]
        marks = [found.group(2) for found in _HEREDOC.finditer(whole)]
        try:
            lexer = shlex.shlex(whole, posix=True, punctuation_chars="();<>|&")
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError:
            words = []
        yield from ((number, command) for command in _split(words))
        for mark in marks:
            while (_next := next(lines, None)) is not None and _next[1].strip() != mark:
                pass


def _split(words: Sequence[str]) -> Iterator[list[str]]:
    command: list[str] = []
    left = iter([*words, ";"])
    for word in left:
        if _REDIRECTED.match(word):
            # What is before it is the number of a handle, and what follows a file.
            if command and command[-1].isdecimal():
                command.pop()
            next(left, None)
        elif word and set(word) <= _SEPARATORS:
            if command:
                yield _bare(command)
            command = []
        elif command or not (word in _LEADING or _ASSIGNED.match(word)):
            command.append(word)


def _bare(command: list[str]) -> list[str]:
    """A command by its plain name: `python3.11 -m pip` is pip."""
    name = command[0].rpartition("/")[2]
    if _PYTHON.match(name) and command[1:2] == ["-m"]:
        return command[2:]
    return ["pip" if re.fullmatch(r"pip[\d.]*", name) else name, *command[1:]]


def _positional(words: Sequence[str]) -> Iterator[str]:
    """The words that are no options and no values of those."""
    passing = False
    for word in words:
        if passing or word.startswith("-"):
            passing = not passing and word in _VALUED
        else:
            yield word


def _python(words: Sequence[str]) -> Iterator[str]:
    """Requirements without `==`; none where files of constraints or requirements may say the versions."""
    if not any(word in ("-c", "--constraint") for word in words):
        yield from (word for word in _positional(words) if _is_open(word))


def _is_open(requirement: str) -> bool:
    """Whether a requirement leaves its version open; a path, an address or a variable is none."""
    found = _REQUIREMENT.match(requirement)
    if not found or any(mark in requirement for mark in ("$", "`", "/", "://", ".whl")) or requirement in (".", ".."):
        return False
    version = found.group(3).strip()
    return not version.startswith("=") and "@" not in version and not re.match(r"\s*;", version)


def _tool(words: Sequence[str]) -> Iterator[str]:
    """`uvx`: what `--with` and `--from` name, and the tool itself, which either may pin."""
    named: list[str] = []
    rest, from_package = list(words), False
    while rest and rest[0].startswith("-"):
        option, _, value = rest.pop(0).partition("=")
        if option in ("--with", "-w", "--from"):
            named += (value or (rest.pop(0) if rest else "")).split(",")
            from_package |= option == "--from"
        elif not value and option in _VALUED and rest:
            rest.pop(0)
    known = {_name(each) for each in named if not _is_open(each)}
    # An interpreter is no package: which one it is, options and surroundings say.
    tool = [] if from_package or any(map(_PYTHON.match, rest[:1])) else rest[:1]
    yield from (each for each in [*named, *tool] if _is_open(each) and _name(each) not in known)


def _name(requirement: str) -> str:
    found = _REQUIREMENT.match(requirement)
    return re.sub(r"[-_.]+", "-", found.group(1)).lower() if found else requirement


def _run_with(words: Sequence[str]) -> Iterator[str]:
    """`uv run`: what `--with` names."""
    yield from (
        each
        for option, value in pairwise(words)
        if option in ("--with", "-w")
        for each in value.split(",")
        if _is_open(each)
    )


def _node(words: Sequence[str]) -> Iterator[str]:
    """Packages of npm without `@` and a number."""
    for word in _positional(words):
        if _NPM.match(word) and word not in (".", ".."):
            yield word


def _plain(words: Sequence[str]) -> Iterator[str]:
    """Packages of a distribution without `=`."""
    yield from (word for word in _positional(words) if re.fullmatch(r"[a-z0-9][a-z0-9.+:-]*", word))


_PROGRAMS: Mapping[str, Callable[[Sequence[str]], Iterator[str]]] = {
    "pip install": _python,
    "uv pip install": _python,
    "uv add": _python,
    "uv tool install": _python,
    "uv tool run": _tool,
    "uv run": _run_with,
    "uvx": _tool,
    "pipx install": _python,
    "npm install": _node,
    "npm i": _node,
    "npm add": _node,
    "apt-get install": _plain,
    "apt install": _plain,
    "apk add": _plain,
}
_DISTRIBUTION = frozenset(("apt-get install", "apt install", "apk add"))
