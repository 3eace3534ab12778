"""Broken command: a shell block runs a bundled script that does not exist.

## What
Commands in fenced shell blocks that run `scripts/x.py`, `./scripts/x.sh` and the like, if the skill has other scripts,
but not this one, and the block clearly means the skill's scripts: it runs one that exists, or the missing name is close
to an existing one. Left alone: sections about installing or contributing, blocks that first change the folder, fetch or
write something (`cd`, `git clone`, `cp`) or name project folders that the skill does not have (`tests/`, `src/`,
`k8s/`), patterns, skills without a `scripts` folder and templates.

## Why
The agent copies the command, which fails, and writes a script of its own instead of using the tested one.

## Bad
````markdown
```bash
python scripts/chek.py --all
```
````

## Good
````markdown
```bash
python scripts/check.py --all
```
````

## Fix
Correct the command or add the script. Not fixed automatically.

## Source
SHOULD · Agent Skills specification, "scripts/": relative paths from the skill root, agentskills.io (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._intent import is_specimen
from skill_health.rules.links._mentions import bundled_path, state_of
from skill_health.rules.links._suggest import GUESSES, meant_path, remedy
from skill_health.rules.links._targets import index_of
from skill_health.skill.model import CodeBlock, Skill, Span
from skill_health.text.patterns import lazy

CODE = "LI004"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = False

_SHELLS = frozenset(("bash", "sh", "shell", "zsh", "console", "shell-session", "terminal"))
_RUNNERS = frozenset(
    "python python3 py uv run bash sh zsh node deno bun ruby perl rscript npx tsx source time sudo $".split()
)
_MOVES = lazy(r"(?:^|[;&|(]\s?)\s?(?:\$ )?(?:cd|pushd|git clone|git checkout|curl|wget|cp|mv|touch|mkdir)\b", re.M)
_PROJECT = lazy(
    r"(?<![\w./-])(?:\./)?(tests?|src|k8s|charts?|app|apps|lib|packages|docker|terraform|infra|cmd|internal|deploy)/"
)
_ELSEWHERE = lazy(r"install|set-?up|setting up|contribut|develop|any tool", re.I)


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each missing script once, where a command first runs it."""
    folders = index_of(skill).folders
    if "scripts" not in folders or is_specimen(skill):
        return
    seen: set[str] = set()
    for block in skill.body.blocks:
        if block.info.lower() not in _SHELLS or "scripts/" not in block.text or _MOVES.search(block.text):
            continue
        section = skill.body.section_at(block.line)
        if section is not None and _ELSEWHERE.search(section.heading.title):
            continue
        if any(folder not in folders for folder in _PROJECT.findall(block.text)):
            continue
        runs = list(_runs(block, skill.folder_name))
        ours = any(path in index_of(skill).files for path, *_ in runs)
        for path, word, line in runs:
            if path in seen or state_of(path, skill, context)[0] != "missing" or f"> {word}" in block.text:
                continue
            seen.add(path)
            meant = meant_path(path, skill, context) if len(seen) < GUESSES else ""
            if not ours and not meant:
                continue
            col = skill.lines[line - 1].find(word) + 1
            yield Hit(
                Span(line, col, line, col + len(word)),
                f"the command runs {path}, which does not exist in this skill",
                f"did you mean {meant}?" if meant else remedy(path, skill, context, guess=False),
            )


def _runs(block: CodeBlock, folder_name: str) -> Iterator[tuple[str, str, int]]:
    """The scripts that the lines of a block run: (path, as written, line)."""
    lines = block.text.split("\n")
    # If some lines have a prompt, the others are output.
    prompted = any(line.lstrip().startswith("$ ") for line in lines)
    for nth, text in enumerate(lines):
        if "scripts/" not in text or (prompted and not text.lstrip().startswith("$ ")):
            continue
        for word in text.split():
            if word.lower() in _RUNNERS or word.startswith("-"):
                continue
            path = bundled_path(word, folder_name)[0]
            if path.startswith("scripts/"):
                yield path, word, block.line + nth + block.fenced
            # Only the first word that is neither a runner nor a flag can be the script.
            break
