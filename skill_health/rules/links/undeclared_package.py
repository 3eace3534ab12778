"""Undeclared package: a bundled script needs a third-party package that the skill never mentions.

## What
Top-level imports of bundled Python scripts that belong neither to the standard library nor to the skill, and whose name
occurs in no Markdown, requirements or project file of the skill; once per package. Left alone: imports whose failure is
caught, scripts with inline metadata (`# /// script`), tests, examples and templates.

## Why
The script fails on any machine that happens not to have the package, and the agent has to guess what to install; import
names and package names often differ (`yaml` is PyYAML).

## Bad
```markdown
Run `python scripts/fill.py form.pdf`.
```

## Good
```markdown
Run `python scripts/fill.py form.pdf` (needs `pypdf`).
```

## Fix
Name the package in SKILL.md or in the `compatibility` field, or declare it in the script. Not fixed automatically.

## Source
SHOULD · Agent Skills specification, "scripts/": scripts clearly document their dependencies, agentskills.io (2026-11).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._python import imports_of, scripts_of
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "LI015"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True

_IMPORT = lazy(r"^(?:from[ \t]+([A-Za-z_]\w*)|import[ \t]+([A-Za-z_][^\n#]*))", re.M)
_MENTIONS = (".md", ".mdx", ".txt", ".toml", ".cfg", ".yaml", ".yml", ".sh", ".in", ".lock")
# Import names that differ from the name of their package; the packages' own documentation, read 2026-11.
_PACKAGES = {
    "bs4": "beautifulsoup4", "cv2": "opencv", "dateutil": "python-dateutil", "docx": "python-docx",
    "dotenv": "python-dotenv", "fitz": "pymupdf", "git": "gitpython", "google": "google-", "jwt": "pyjwt",
    "OpenSSL": "pyopenssl", "PIL": "pillow", "pptx": "python-pptx", "serial": "pyserial", "sklearn": "scikit-learn",
    "skimage": "scikit-image", "yaml": "pyyaml", "Crypto": "pycryptodome", "psycopg2": "psycopg2",
}  # fmt: skip


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each package once, where a script first imports it."""
    own: set[str] | None = None
    words: str | None = None
    reported: set[str] = set()
    for _, full, text in scripts_of(skill, context):
        suspects = _top_level(text) - sys.stdlib_module_names - reported
        if not suspects or "# /// script" in text:
            continue
        own = _own_modules(skill) if own is None else own
        suspects -= own
        if suspects and words is None:
            words = _mentioned(skill, context)
        suspects = {name for name in suspects if not _said(name, words or "")}
        for entry in imports_of(text) if suspects else ():
            name = entry.module.partition(".")[0]
            if name in suspects and not entry.guarded and not entry.level and name not in reported:
                reported.add(name)
                package = _PACKAGES.get(name, name).rstrip("-")
                yield Hit(
                    Span(entry.line, entry.col),
                    f"imports {name}, which is not in the standard library and is mentioned nowhere in the skill",
                    f"say in SKILL.md that the script needs {package}, or add {name}.py where it is the skill's own",
                    full,
                )


def _top_level(text: str) -> set[str]:
    names: set[str] = set()
    for one, several in _IMPORT.findall(text):
        names |= {one} if one else {name.strip().partition(" ")[0].partition(".")[0] for name in several.split(",")}
    return {name for name in names if name.isidentifier()}


def _own_modules(skill: Skill) -> set[str]:
    parts = {part for file in skill.files if file.endswith((".py", ".pyi", ".so")) for part in file.split("/")}
    return {part.partition(".")[0] for part in parts}


def _mentioned(skill: Skill, context: Context) -> str:
    texts = [skill.text]
    for file in skill.files:
        if file.lower().endswith(_MENTIONS):
            texts.append(context.read(skill.path_of(file)) or "")
    return "\n".join(texts).lower()


def _said(name: str, words: str) -> bool:
    forms = {name.lower(), name.lower().replace("_", "-"), _PACKAGES.get(name, name).lower()}
    return any(form in words for form in forms)
