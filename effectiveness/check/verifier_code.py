"""What can be said of a verifier by reading it: how many tests it has, what it installs, and whose code it runs.

Nothing here fails a task. A warning is a fact that can change a verdict; what is a matter of opinion is information.
"""

from __future__ import annotations

import ast
import posixpath
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from skill_health.documents.effect_check import VerifierFinding
from skill_health.effectiveness.check.installs import shell_commands, unpinned_installs
from skill_health.effectiveness.tasks._api import Script, Task
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


def verifier_findings(task: Task) -> Iterator[VerifierFinding]:
    """What there is to say of a task's verifier, in the order of its files."""
    if task.verifier is None:
        return
    yield from _installs(task.verifier)
    modules = [found for file in task.verifier.files if (found := _module(file.path, file.data, text_of(file)))]
    tests = sum(_tests(each.tree) for each in modules)
    if 0 < tests <= FEW:
        yield VerifierFinding("few-tests", "info", f"the verifier has {count(tests, 'test')}")
    own = frozenset(posixpath.basename(file.path) for file in task.verifier.files)
    places = tuple(path for path, role in task.places if role == WORKSPACE)
    for file in task.verifier.files:
        text = text_of(file) if file.path.endswith(_SHELL) and len(file.data) <= _MOST_CODE else None
        yield from _started(file.path, text or "", own, places)
    for module in modules:
        yield from _agents_code(module, own, places)


def _started(script: str, text: str, own: frozenset[str], places: Sequence[str]) -> Iterator[VerifierFinding]:
    """Programs of the workspace that a shell script starts."""
    told: set[str] = set()
    for line, words in shell_commands(text):
        path = words[0] if "/" in words[0] else next((word for word in words[1:] if not word.startswith("-")), "")
        started = path == words[0] or words[0].rpartition("/")[2].rstrip("0123456789.") in _INTERPRETERS
        if started and path not in told and path.endswith(_SCRIPTS) and _is_agents(path, own, places):
            told.add(path)
            message = f"{script}:{line}: the verifier starts {path}, which the agent can write, as a program"
            yield VerifierFinding("runs-agents-code", "info", message)


def _installs(verifier: Script) -> Iterator[VerifierFinding]:
    for file in verifier.files:
        text = text_of(file) if file.path.endswith(_SHELL) and len(file.data) <= _MOST_CODE else None
        for found in unpinned_installs(text) if text else ():
            level: Level = "info" if found.distribution else "warning"
            message = f"{file.path}:{found.line}: {found.program} without a version: {list_some(found.packages, 6)}"
            yield VerifierFinding("unpinned-install", level, message)


@dataclass(frozen=True, slots=True)
class _Module:
    """A file of Python. `texts` are what its names can stand for, `names` what its imports mean."""

    path: str
    tree: ast.Module
    texts: Mapping[str, Sequence[ast.expr]]
    names: Mapping[str, str]


def _module(path: str, data: bytes, text: str | None) -> _Module | None:
    if not path.endswith(".py") or text is None or len(data) > _MOST_CODE:
        return None
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


def _agents_code(module: _Module, own: frozenset[str], places: Sequence[str]) -> Iterator[VerifierFinding]:
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
                yield VerifierFinding("runs-agents-code", level, message)


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
