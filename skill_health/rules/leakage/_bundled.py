"""The text of a skill: its SKILL.md and the small text files that it bundles."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context
from skill_health.skill.model import Skill, Span

MAX_FILES = 200

_TEXT = frozenset(
    "md mdx txt rst py pyi sh bash zsh fish ps1 bat js mjs cjs ts tsx jsx json jsonl yaml yml toml ini cfg conf env "
    "properties xml html css sql rb go rs java kt php csv tsv tf tfvars ipynb pem key example tmpl j2".split()
)
_NAMES = frozenset({"Dockerfile", "Makefile", ".env", ".npmrc", ".netrc", ".pypirc", ".envrc"})


def bundled_texts(skill: Skill, context: Context) -> Iterator[tuple[str, str]]:
    """The bundled text files as (path relative to the root, text), at most MAX_FILES of them."""
    named = (file for file in skill.files if _is_text(file))
    for file, _ in zip(named, range(MAX_FILES), strict=False):
        path = f"{skill.folder}/{file}" if skill.folder else file
        text = context.read(path)
        if text:
            yield path, text


def all_texts(skill: Skill, context: Context) -> Iterator[tuple[str | None, str]]:
    """SKILL.md, with None for its path as in a Hit, then the bundled text files."""
    yield None, skill.text
    yield from bundled_texts(skill, context)


def span_of(text: str, start: int, end: int) -> Span:
    """The lines and columns of characters `start` to `end` of a text."""
    line, col = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    end_line, end_col = text.count("\n", 0, end) + 1, end - text.rfind("\n", 0, end)
    return Span(line, col, end_line, end_col)


def _is_text(file: str) -> bool:
    name = file.rpartition("/")[2]
    return name.rpartition(".")[2].lower() in _TEXT if "." in name[1:] else name in _NAMES
