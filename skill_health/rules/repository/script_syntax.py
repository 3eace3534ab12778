"""A bundled script cannot be parsed

## What
Python scripts in the folders of skills, and those of plugins in `hooks`, `scripts`, `bin`, `commands`, `agents` and
`servers`, that Python cannot parse. They are read and never run. Not judged are templates, notebooks with `%` and `!`
lines, Python 2, syntax that only a later Python than the running one may know, tests and examples, and files beyond
400,000 characters.

## Why
The script stops before its first line, and the agent rewrites it from memory or gives up.

## Bad
```python
def total(rows:
    return sum(rows)
```

## Good
```python
def total(rows):
    return sum(rows)
```

## Fix
Correct the line. There is no automatic fix.

## Source
MUST · Python Language Reference, "Full Grammar specification" (2026-11).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.repository._repository import Repository, RepositoryFiles
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "RP017"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True


_LEFT = lazy(
    r"(?:\A|/)(?:tests?|fixtures|testdata|templates?|examples?|evals?|bad|broken|invalid|node_modules|\.[^/]*)/|template",
    re.I,
)
_HOMES = frozenset("hooks hooks-handlers scripts bin commands agents servers server mcp".split())
_LONGEST = 400_000
_TEMPLATE = lazy(r"\{\{|\{%|<%|\{#|^[ \t]*\.\.\.[ \t]*$|<[A-Z_]{3,}>")
_NOTEBOOK = lazy(r"(?m)^[ \t]*(?:%%?[a-z]|![a-z])")
_OLD = lazy(
    r"(?m)^[ \t]*(?:print[ \t]+[\"'\w%]|print[ \t]*$|exec[ \t]+[\"'\w]|raise[ \t]+\w+[ \t]*,[ \t]*[\"'\w])"
    r"|^[ \t]*except[ \t]+[\w.()]+[ \t]*,[ \t]*\w+[ \t]*:"
    r"|<>|\bur[\"']|^#!.*python2"
)
_OLD_WORDS = (
    "Missing parentheses in call",
    "leading zeros in decimal",
    "multiple exception types",
    "too many nested",
)
# What later versions of Python read: by the version, what shows it.
_NEW = (
    ((3, 12), lazy(r"(?m)^[ \t]*type[ \t]+\w+[ \t]*[\[=]|\b(?:def|class)[ \t]+\w+[ \t]*\[|\b[rR]?[fF][rR]?(?:\"|')")),
    ((3, 14), lazy(r"\b[rR]?[tT][rR]?(?:\"|')|(?m:^[ \t]*except[ \t]+\w[\w.]*[ \t]*,)")),
)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each script of the skill that cannot be parsed."""
    for file in skill.files:
        path = skill.path_of(file)
        if file.endswith((".py", ".sh", ".bash")) and not _LEFT.search(file):
            yield from _problem(path, context) if file.endswith(".py") else _first_line(path, context)


def check_repository(repository: Repository) -> Iterator[Hit]:
    """Report each script of a plugin that cannot be parsed."""
    folders = {plugin.folder for plugin in repository.plugins}
    skills = set(repository.skills)
    for path in repository.files:
        if not path.endswith(".py") or _LEFT.search(path):
            continue
        parts = path.split("/")[:-1]
        for n, part in enumerate(parts):
            if part in _HOMES and "/".join(parts[:n]) in folders:
                if not any("/".join(parts[:m]) in skills for m in range(1, len(parts) + 1)):
                    yield from _problem(path, repository.context)
                break


def _first_line(path: str, context: RepositoryFiles | Context) -> Iterator[Hit]:
    first = (context.content(path) or b"").partition(b"\n")[0]
    if first.startswith(b"#!") and first.endswith(b"\r"):
        message = "the first line ends with a carriage return: there is no such interpreter"
        yield Hit(Span(1, 1), message, "save the script with Unix line ends", path)


def _problem(path: str, context: RepositoryFiles | Context) -> Iterator[Hit]:
    text = context.read(path)
    found = python_problem(text) if text else None
    if found:
        yield Hit(
            Span(found.line, found.col), f"Python cannot parse this script: {found.message}", "correct the line", path
        )


class ScriptProblem(NamedTuple):
    """Where a script cannot be parsed, and why."""

    line: int
    col: int
    message: str


def python_problem(text: str) -> ScriptProblem | None:
    """Why Python cannot parse a text; None where it can, and where that cannot be told here.

    Not told are templates, notebooks, Python 2, what only a later Python may read, and what is too large or too deep.
    """
    # The table of symbols needs no tree of objects, which would cost half as much again, and knows of more mistakes.
    import symtable
    import warnings

    if len(text) > _LONGEST:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            symtable.symtable(text, "<script>", "exec")
        except SyntaxError as error:
            return _explain(error, text)
        except (ValueError, RecursionError, MemoryError):
            return None
    return None


def _explain(error: SyntaxError, text: str) -> ScriptProblem | None:
    line = min(error.lineno or 1, text.count("\n") + 1)
    lines = text.split("\n")
    around = "\n".join(lines[max(0, line - 3) : line + 2])
    if _TEMPLATE.search(around) or _NOTEBOOK.search(around) or _OLD.search(text):
        return None
    if any(word in error.msg for word in _OLD_WORDS):
        return None
    if any(sys.version_info < since and shows.search(around) for since, shows in _NEW):
        return None
    return ScriptProblem(line, max(1, error.offset or 1), error.msg)
