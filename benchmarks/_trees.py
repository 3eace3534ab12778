"""The measured trees: copies in a scratch folder, so that nothing of the user's is ever changed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import NamedTuple

from benchmarks._generate import generate
from benchmarks._measure import Failed, Options

_LEFT_OUT = shutil.ignore_patterns(".git", "node_modules", "__pycache__")
_HEAD = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_LONG_WORD = re.compile(r"(?<![\w-])[a-z]{5,}(?![\w:-])")
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"


class Tree(NamedTuple):
    """A collection to measure: its folder, its SKILL.md (relative, sorted) and what a table calls it."""

    root: Path
    skills: tuple[str, ...]
    name: str

    def append(self, number: int) -> None:
        """Add a line to one SKILL.md; each number selects another skill."""
        skill = self.skills[number * 7919 % len(self.skills)]
        with (self.root / skill).open("a", encoding="utf-8") as file:
            file.write(f"\nEdit number {number}.\n")


def prepare(options: Options, times: int = 1) -> Tree:
    """Make the collection, `times` as large as asked for. Raises Failed if a given tree has no skill.

    A generated collection is simply made larger. A real one is copied with different names, descriptions and one line
    of text, so that it does not grow by copies or look-alikes alone.
    """
    root = options.scratch / f"{times}x"
    if options.tree is None:
        generate(root, options.skills * times, options.seed)
    else:
        for number in range(times):
            _copy(options.tree, root / f"part-{number}", number)
    skills = _skills(root)
    if not skills:
        raise Failed("the tree has no SKILL.md")
    kind = "skills" if options.tree else "generated skills"
    return Tree(root, skills, f"{len(skills):,} {kind}")


def _skills(root: Path) -> tuple[str, ...]:
    return tuple(sorted(str(path.relative_to(root)) for path in root.rglob("SKILL.md") if path.is_file()))


def _copy(source: Path, target: Path, number: int) -> None:
    shutil.copytree(source, target, symlinks=True, ignore=_LEFT_OUT)
    if number == 0:
        return
    # The deepest first: a skill may be inside another one.
    for skill in sorted(_skills(target), key=lambda path: -path.count("/")):
        path = target / skill
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        text = _HEAD.sub(lambda found: _other_head(found[0], number), text, count=1)
        path.write_bytes(f"{text}\nPart {number}.\n".encode("utf-8", "surrogateescape"))
        if path.parent != target:
            os.rename(path.parent, path.parent.with_name(_cipher(path.parent.name, number)))


def _other_head(head: str, number: int) -> str:
    # Letter by letter, not through YAML: a copy must be as well or badly formed as its original.
    lines = head.split("\n")
    for i, line in enumerate(lines):
        if line.startswith("name:"):
            lines[i] = line[:5] + _cipher(line[5:], number)
        else:
            lines[i] = _LONG_WORD.sub(lambda found: _cipher(found[0], number), line)
    return "\n".join(lines)


def _cipher(text: str, number: int) -> str:
    """Another text of the same shape: each letter becomes the one `number` places on, a vowel a vowel."""
    for letters in (_VOWELS, _CONSONANTS):
        cut = number % len(letters)
        text = text.translate(str.maketrans(letters, letters[cut:] + letters[:cut]))
    return text
