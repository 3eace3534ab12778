"""Missing module: a bundled script imports a module of the skill that does not exist.

## What
Imports in bundled Python scripts that can only mean a file of the skill, if that file does not exist: relative ones
(`from .parsing import ...`) and those from a folder of the skill or beside the script (`from scripts.parsing import
...`). Left alone: imports whose failure is caught, tests, examples, templates and invalid Python. The scripts are read,
never run.

## Why
The script stops at its first line with an ImportError, and the agent rewrites it from memory or gives up.

## Bad
```python
# scripts/check.py, beside which there is no parsing.py
from .parsing import read_table
```

## Good
```python
# scripts/check.py, beside scripts/parsing.py
from .parsing import read_table
```

## Fix
Add the module to the skill, or correct its name. Not fixed automatically.

## Source
SHOULD · Agent Skills specification, "scripts/": scripts are self-contained or document their needs (2026-11).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from posixpath import dirname

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._python import Import, imports_of, scripts_of
from skill_health.rules.links._targets import index_of
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "LI014"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

_WORD = lazy(r"import\b")
# What may be an import; one of Python begins a line or a statement in it.
_IMPORTS = lazy(r"(?:^|[;:])[ \t\f]*(?:from\b[ \t]*([. \t]*)([\w.]*)[ \t]*\bimport\b([^\n]*)|import[ \t]+([^\n;#]*))")


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each missing module once per script."""
    packages = {part for file in skill.files if file.endswith(".py") for part in file.split("/")[:-1]}
    for file, full, text in scripts_of(skill, context):
        if not _may_lack(text, file, packages, skill):
            continue
        seen: set[str] = set()
        for entry in imports_of(text):
            wanted = _missing(entry, file, skill)
            if wanted and wanted not in seen and not entry.guarded:
                seen.add(wanted)
                span = Span(entry.line, entry.col)
                yield Hit(span, f"imports {wanted}, which does not exist", "add the module, or correct its name", full)


def _may_lack(text: str, file: str, packages: set[str], skill: Skill) -> bool:
    """Whether what reads like an import, and may stand in a text or comment, names what is missing: parsing is slow."""
    for line in _lines_of_imports(text):
        if line.endswith("\\"):
            return True
        for dots, module, names, several in _IMPORTS.findall(line):
            level = dots.count(".")
            if level and not module and "(" in names:
                return True
            given = tuple(_first_word(name) for name in names.partition("#")[0].partition(";")[0].split(","))
            for each in map(_first_word, several.split(",")) if several else (module,):
                known = level or each.partition(".")[0] in packages
                if known and _missing(Import(each, level, given, 0, 0, False), file, skill):
                    return True
    return False


def _lines_of_imports(text: str) -> Iterator[str]:
    """The lines with an import; one that goes on, or is begun above, ends in a backslash."""
    end = -1
    for found in _WORD.finditer(text):
        if found.start() < end:
            continue
        start = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", found.start())
        end = len(text) if end < 0 else end
        begun = text.endswith(("\\\n", "\\\r\n"), 0, start)
        yield "\\" if begun else text[start:end].rstrip()


def _first_word(text: str) -> str:
    return text.strip().partition(" ")[0]


def _missing(entry: Import, file: str, skill: Skill) -> str:
    """The file that an import needs and the skill lacks, without suffix; "" if nothing is known to be missing."""
    parts = entry.module.split(".") if entry.module else []
    if entry.level:
        base = dirname(file)
        for _ in range(entry.level - 1):
            if not base:
                return ""
            base = dirname(base)
    elif not parts or parts[0] in sys.stdlib_module_names:
        return ""
    elif len(parts) > 1 and f"{dirname(file)}/{parts[0]}" in index_of(skill).folders:
        base = dirname(file)
    elif len(parts) > 1 and parts[0] in index_of(skill).folders:
        base = ""
    else:
        return ""
    if not parts:
        known = index_of(skill).files
        if f"{base}/__init__.py".lstrip("/") in known:
            return ""
        lacking = [name for name in entry.names if name != "*" and not _exists(f"{base}/{name}".lstrip("/"), skill)]
        return f"{base}/{lacking[0]}".lstrip("/") if lacking else ""
    for upto in range(1, len(parts)):
        if f"{base}/{'/'.join(parts[:upto])}.py".lstrip("/") in index_of(skill).files:
            # A module can provide further modules as attributes, as six does.
            return ""
    path = "/".join((base, *parts)).lstrip("/")
    return "" if _exists(path, skill) else path


def _exists(path: str, skill: Skill) -> bool:
    index = index_of(skill)
    if path in index.folders or any(f"{path}{suffix}" in index.files for suffix in (".py", ".pyi", ".so", ".pyd")):
        return True
    stem = path.rpartition("/")[2] + "."
    return any(file.startswith(path + ".") for file in index.files if stem in file)
