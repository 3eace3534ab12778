"""The modules of the project and who imports whom, for the rules of the house and for the gate."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("skill_health", "router", "effectiveness")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

# A module in such a folder is found by its name, so a reader of one need not know of the others.
PLUGINS = (
    "skill_health/documents",
    "skill_health/commands", "skill_health/needs/categories", "skill_health/formats", "skill_health/hosts", "skill_health/rules",
    "skill_health/bench/providers", "skill_health/activation/commands", "skill_health/activation/reports",
    "skill_health/drafts/commands", "skill_health/drafts/desks", "skill_health/drafts/tasks/templates",
    "skill_health/drafts/transcripts", "skill_health/page/pictures", "skill_health/page/sections",
    "router/commands", "router/prompts", "router/reports", "router/routers",
    "effectiveness/agents", "effectiveness/checks", "effectiveness/commands", "effectiveness/published",
    "effectiveness/reports", "effectiveness/sandbox", "effectiveness/tasks",
)  # fmt: skip


def module_name(path: Path) -> str:
    """Return the dotted name of a module; the benchmarks are folders next to the package, and packages within it."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] in ("skill_health", "simulators", "scripts") else ("skill_health", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_plugin(path: Path) -> bool:
    """Return whether a module lies in a folder whose modules are found by name."""
    folder = path.relative_to(ROOT).parent
    return any(folder.is_relative_to(plugins) for plugins in PLUGINS)


@cache
def imports(path: Path) -> list[str]:
    """Return every name that a module imports, in full: `from a.b import c` is a.b.c."""
    return list(find_imports(path))


def find_imports(path: Path) -> Iterator[str]:
    """Yield the same, one after the other; dynamic imports of a constant count too."""
    package = package_of(path)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        yield from names_imported(node, package)


def package_of(path: Path) -> tuple[str, ...]:
    """Return the package that a module is in, or is."""
    return tuple(module_name(path).split("."))[: None if path.name == "__init__.py" else -1]


def names_imported(node: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """Yield the names that one node of the tree of a module in this package imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = package[: len(package) - node.level + 1] if node.level else ()
        source = ".".join([*base, *filter(None, [node.module])])
        yield from (f"{source}.{alias.name}" for alias in node.names)
    elif (
        isinstance(node, ast.Call)
        and name_called(node) in {"import_module", "__import__"}
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ):
        yield str(node.args[0].value)


def name_called(node: ast.Call) -> str:
    """Return the last part of what is called: `c` of a.b.c(); "" if it has no name."""
    return getattr(node.func, "attr", "") or getattr(node.func, "id", "")


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    """Return whether a dotted name is one of these or below it."""
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)
