"""Broken command: a shell block runs a bundled script that does not exist.

## What
Commands in fenced shell blocks that run `scripts/x.py`, `./scripts/x.sh` and the like, where this can only mean a
script of the skill: the path begins with a variable for its folder (`{baseDir}/scripts/x.py`), the words before the
block call the script bundled, the commands also run a script that the skill has, the name is that of one or close to
it, or it is run three times and nothing in the commands is of a project. Left alone: sections about installing or
contributing, blocks that first change the folder, fetch or write something (`cd`, `git clone`, `cp`) or name project
folders that the skill does not have (`tests/`, `src/`, `k8s/`), scripts that the text says to create, skills that
clone a repository, patterns, and templates. A path that LI003 reports is not reported again.

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
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.links._intent import broken_paths, is_about_skills, is_in_clone, is_specimen
from skill_health.rules.links._mentions import bundled_path, state_of
from skill_health.rules.links._suggest import GUESSES, meant_path, remedy
from skill_health.rules.links._targets import index_of
from skill_health.skill.model import CodeBlock, Skill, Span
from skill_health.text.patterns import lazy

CODE = "LI004"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

_SHELLS = frozenset(("bash", "sh", "shell", "zsh", "console", "shell-session", "terminal"))
_RUNNERS = frozenset(
    "python python3 py uv run poetry pipenv bash sh zsh node deno bun bunx npx tsx ts-node pnpm yarn exec ruby perl php "
    "rscript pwsh powershell source time sudo $".split()
)
_MOVES = lazy(r"(?:^|[;&|(]\s?)\s?(?:\$ )?(?:cd|pushd|git clone|git checkout|curl|wget|cp|mv|touch|mkdir)\b", re.M)
_PROJECT = lazy(
    r"(?<![\w./-])(?:\./)?(tests?|src|k8s|charts?|app|apps|lib|packages|docker|terraform|infra|cmd|internal|deploy)/"
)
_ELSEWHERE = lazy(r"install|set-?up|setting up|contribut|develop|any tool", re.I)
# The paragraph before the block says that the script comes with the skill.
_BUNDLED = lazy(r"\b(?:bundled|included|provided|helper|skill's|skill\u2019s) (?:[\w`./-]+ ){0,3}scripts?\b", re.I)
_OFTEN = 3
"""How many commands with the same script say that it is one of the skill."""


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each missing script once, where a command first runs it; hundreds have one cause, which a few show."""
    blocks = [b for b in skill.body.blocks if "/" in b.text and b.info.lower() in _SHELLS]
    if not blocks or is_specimen(skill):
        return
    names = frozenset(file[8:] for file in skill.files if file.startswith("scripts/") and file.count("/") == 1)
    runs = [list(_runs(block, names, skill)) for block in blocks]
    known, folders = index_of(skill).files, index_of(skill).folders
    if all(path in known for found in runs for path, *_ in found):
        return
    counts = Counter(path for found in runs for path, *_ in found)
    seen, tried = {mention.path for mention in broken_paths(skill, context)}, 0
    for block, found in zip(blocks, runs, strict=True):
        if _MOVES.search(block.text) or any(folder not in folders for folder in _PROJECT.findall(block.text)):
            continue
        section = skill.body.section_at(block.line)
        if section is not None and _ELSEWHERE.search(section.heading.title):
            continue
        here = not known.isdisjoint(path for path, *_ in found)
        for path, word, line, own in found:
            if path in seen or state_of(path, skill, context)[0] != "missing" or f"> {word}" in block.text:
                continue
            seen.add(path)
            tried += 1
            if tried > GUESSES:
                return
            meant = meant_path(path, skill, context) if "scripts" in folders else ""
            sure = own or here or meant != "" or _is_called_bundled(block, skill)
            if not sure and not _is_of_skill(path, counts, skill):
                continue
            if not own and (_is_foreign(path, skill, context) or (is_about_skills(skill) and not meant)):
                continue
            col = skill.lines[line - 1].find(word) + 1
            yield Hit(
                Span(line, col, line, col + len(word)),
                f"the command runs {path}, which does not exist in this skill",
                f"did you mean {meant}?" if meant else remedy(path, skill, context, guess=False),
            )


def _is_of_skill(path: str, counts: Counter[str], skill: Skill) -> bool:
    """Whether all commands together say that a script is one of the skill.

    It is run often, or beside others that are there; nothing in the commands is of a project; and the text speaks of
    no other skill that bears the name of the script.
    """
    if counts[path] < _OFTEN and index_of(skill).files.isdisjoint(counts):
        return False
    namesake = f"skills/{path.rpartition('/')[2].partition('.')[0]}/"
    return namesake not in skill.text and not _is_of_project(counts, skill)


def _is_of_project(paths: Iterable[str], skill: Skill) -> bool:
    """Whether the commands of a skill run in a project: they change the folder, or name folders of a project."""
    return any(path.count("/") > 1 for path in paths) or any(
        _MOVES.search(block.text) or _PROJECT.search(block.text)
        for block in skill.body.blocks
        if block.info.lower() in _SHELLS
    )


def _is_called_bundled(block: CodeBlock, skill: Skill) -> bool:
    """Whether the paragraph right before a block says that its script comes with the skill."""
    prose = skill.body.prose
    at = bisect_left(prose, block.line, key=lambda entry: entry.line) - 1
    return at >= 0 and block.line - prose[at].line <= 3 and _BUNDLED.search(prose[at].text) is not None


def _is_foreign(path: str, skill: Skill, context: Context) -> bool:
    """Whether the text says to create a file of this name, or to clone what may have it."""
    name = re.escape(path.rpartition("/")[2])
    made = rf"(?:\b(?:creat|writ|sav|generat|put)\w{{0,3}}\b[^\n]{{0,60}}|>\s?\S{{0,60}}){name}"
    return is_in_clone(path, skill, context) or re.search(made, skill.text, re.I) is not None


def _runs(block: CodeBlock, names: frozenset[str], skill: Skill) -> Iterator[tuple[str, str, int, bool]]:
    """The scripts that the lines of a block run: path, as written, line, and whether it names the skill's folder.

    They are below `scripts`, or have one of the `names` of those that are there.
    """
    lines, own_names = block.text.split("\n"), {skill.folder_name, skill.name}
    # If some lines have a prompt, the others are output.
    prompted = any(line.lstrip().startswith("$ ") for line in lines)
    for nth, text in enumerate(lines):
        if "/" not in text or (prompted and not text.lstrip().startswith("$ ")):
            continue
        for word in text.split():
            if word.lower() in _RUNNERS or word.startswith("-"):
                continue
            # Reading a word as a path is slow, and there are many.
            if "scripts/" not in word and word.rpartition("/")[2].rstrip("\"';`") not in names:
                break
            path, own = bundled_path(word, skill)
            folder, _, name = path.rpartition("/")
            if path.startswith("scripts/") or (name in names and own_names.isdisjoint(folder.split("/"))):
                yield path, word, block.line + nth + block.fenced, own
            # Only the first word that is neither a runner nor a flag can be the script.
            break
