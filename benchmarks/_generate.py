"""A collection of any size, generated from the text of our own fixtures: the same for the same seed and size.

Lengths follow the quantiles of 13,551 public SKILL.md of 69 repositories (2026). The content is nonsense, but the
structure is real: frontmatter, headings, lists, tables, fenced code and links in the proportions of the fixtures.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections.abc import Iterator
from math import exp, log
from pathlib import Path
from typing import NamedTuple

from benchmarks._measure import ROOT
from skill_health.skill.frontmatter import read

# Share of the skills -> lines of SKILL.md; between two points the logarithm is linear. The ends are ours.
LINES = ((0.0, 20), (0.1, 60), (0.5, 146), (0.9, 406), (0.95, 505), (0.99, 824), (1.0, 1500))
_FENCE = ("```", "~~~")
# A word of prose that may be replaced: not part of a path, an identifier or markup.
_WORD = re.compile(r"(?<![\w`/.<(\[#@$-])[a-z]{4,}(?![\w`/.>)\]-])")
_FILE = re.compile(r"\b(?:references|scripts)/[\w-]+\.[a-z]+")
_SWAPPED = 0.3


class Source(NamedTuple):
    """The material from the fixtures: sections of Markdown, bundled files by their relative path, and a vocabulary."""

    sections: tuple[tuple[str, ...], ...]
    files: dict[str, bytes]
    words: tuple[str, ...]


def lines_at(share: float) -> int:
    """How many lines the skill at this quantile (0 to 1) has."""
    i = min(bisect_right([point for point, _ in LINES], share), len(LINES) - 1)
    (low, few), (high, many) = LINES[i - 1], LINES[i]
    return round(exp(log(few) + (share - low) / (high - low) * (log(many) - log(few))))


def read_source(folder: Path = ROOT / "fixtures" / "skills") -> Source:
    """Cut the fixtures into sections (a heading and what follows, up to the next one of any level)."""
    sections: list[tuple[str, ...]] = []
    files: dict[str, bytes] = {}
    words: set[str] = set()
    for path in sorted(folder.glob("*/**/*")):
        if not path.is_file() or "__pycache__" in path.parts:
            continue
        if path.name != "SKILL.md":
            files["/".join(path.parts[-2:])] = path.read_bytes()
        if path.suffix == ".md":
            text = path.read_text(encoding="utf-8")
            body = read(text).content
            sections += _sections(body.split("\n"))
            words.update(_WORD.findall(body))
    return Source(tuple(sections), files, tuple(sorted(words)))


def generate(folder: Path, count: int, seed: int) -> None:
    """Write `count` skills below `folder`/skills."""
    source, rng = read_source(), random.Random(seed)
    lengths = [lines_at((i + 0.5) / count) for i in range(count)]
    rng.shuffle(lengths)
    names: set[str] = set()
    for length in lengths:
        name = "-".join(rng.sample(source.words, 3))
        while name in names or len(name) > 64:
            name = "-".join(rng.sample(source.words, 3))
        names.add(name)
        _write(folder / "skills" / name, "\n".join(_skill(name, length, source, rng)) + "\n", source)


def _write(folder: Path, text: str, source: Source) -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(text, encoding="utf-8", newline="")
    for name in sorted(set(_FILE.findall(text)) & source.files.keys()):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(source.files[name])


def _skill(name: str, length: int, source: Source, rng: random.Random) -> list[str]:
    def say(n: int) -> str:
        return " ".join(rng.choices(source.words, k=n))

    title = name.replace("-", " ").capitalize()
    lines = ["---", f"name: {name}", f'description: "Sorts {say(12)}. Use when {say(10)}, or {say(6)}."', "---", ""]
    lines += [f"# {title}", "", f"What {say(8)}, and {say(6)}.", ""]
    seen: set[str] = set()
    while len(lines) < length:
        for line in _varied(rng.choice(source.sections), source.words, rng):
            # Headings of one file differ, as they do in real ones.
            if line.startswith("#") and line in seen:
                line += f" of {say(2)}"
            seen.add(line)
            lines.append(line)
    del lines[length:]
    if sum(line.startswith(_FENCE) for line in lines) % 2:
        lines[-1] = "```"
    return lines


def _varied(section: tuple[str, ...], words: tuple[str, ...], rng: random.Random) -> Iterator[str]:
    """The section with some words of its prose replaced; code stays."""
    inside = False
    for line in section:
        fence = line.startswith(_FENCE)
        inside ^= fence
        if inside or fence:
            yield line
        else:
            yield _WORD.sub(lambda found: rng.choice(words) if rng.random() < _SWAPPED else found[0], line)


def _sections(lines: list[str]) -> Iterator[tuple[str, ...]]:
    section: list[str] = []
    inside = False
    for line in lines:
        if line.startswith("#") and not inside:
            if len(section) > 2:
                yield tuple(section)
            # There is one title, and it is the skill's.
            section = ["#" + line if line.startswith("# ") else line]
        else:
            inside ^= line.startswith(_FENCE)
            section.append(line)
    if len(section) > 2:
        yield tuple(section)
