"""The imports of bundled Python scripts, which are read and never run."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from skill_health.rules._api import Context
from skill_health.rules.links._targets import own_files
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

if TYPE_CHECKING:
    pass

_SKIPPED = lazy(
    r"(?:\A|/)(?:tests?|eval[^/]*|fixtures|examples?|templates?|assets|node_modules|\.[^/]*)/|(?:\A|/)test_", re.I
)


class Import(NamedTuple):
    """One import of a script: `level` counts the leading dots, `names` are those that `from` imports.

    It is `guarded` if its failure is caught or only type checkers see it.
    """

    module: str
    level: int
    names: tuple[str, ...]
    line: int
    col: int
    guarded: bool


def scripts_of(skill: Skill, context: Context) -> Iterator[tuple[str, str, str]]:
    """The bundled scripts that run in place: path relative to the skill, path relative to the root, text."""
    for file in own_files(skill):
        if file.endswith(".py") and not _SKIPPED.search(file):
            full = skill.path_of(file)
            text = context.read(full)
            if text and "import" in text:
                yield file, full, text


def imports_of(text: str) -> list[Import]:
    """The imports of a Python text, in order; none if it is not valid Python."""
    # Imported here because both are slow to load and few scripts get this far.
    import ast
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return []
    found: list[Import] = []
    pending: list[tuple[ast.AST, bool]] = [(node, False) for node in reversed(tree.body)]
    while pending:
        node, guarded = pending.pop()
        if isinstance(node, ast.Import):
            found += [Import(name.name, 0, (), node.lineno, node.col_offset + 1, guarded) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = tuple(name.name for name in node.names)
            found.append(Import(node.module or "", node.level, names, node.lineno, node.col_offset + 1, guarded))
        elif isinstance(node, ast.stmt):
            inner = guarded or isinstance(node, (ast.Try, ast.If, ast.With))
            pending += [(child, inner) for child in reversed(list(ast.iter_child_nodes(node)))]
        elif isinstance(node, ast.ExceptHandler):
            pending += [(child, True) for child in reversed(node.body)]
    return found
