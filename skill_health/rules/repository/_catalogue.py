"""Lists and tables of skills in the READMEs of a repository."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from skill_health.core.boundary import upward
from skill_health.rules.repository._repository import Repository, above, join
from skill_health.skill.model import Document
from skill_health.text.patterns import lazy

_NAME = lazy(r"[\w.-]{2,64}")
_BOLD = lazy(r"^[\s|]*(?:\d+\.\s*|[-*+]\s+)?\*\*(?P<name>[\w.-]{2,64})\*\*")
_FEWEST = 4


class CatalogueRow(NamedTuple):
    """A row of a table, or an item of a list: what it calls a skill, and where. `target` is a link's, from the root."""

    name: str
    line: int
    col: int
    target: str


class SkillCatalogue(NamedTuple):
    """Neighbouring rows of one file, most of which name skills; `known` are the folders of these."""

    path: str
    rows: tuple[CatalogueRow, ...]
    known: tuple[str, ...]


@lru_cache(maxsize=1)
def find_catalogues(repository: Repository) -> tuple[SkillCatalogue, ...]:
    """The lists of skills in every README outside of the skills."""
    return tuple(_catalogues(repository))


def _catalogues(repository: Repository) -> Iterator[SkillCatalogue]:
    homes = {above(skill, 1) for skill in repository.skills}
    skills = set(repository.skills)
    below: dict[str, dict[str, str]] = {}
    for skill in repository.skills:
        for folder in upward(above(skill, 1)):
            below.setdefault(folder, {})[posixpath.basename(skill)] = skill
    for path in repository.named("README.md"):
        folder = above(path, 1)
        names = below.get(folder, {})
        if len(names) < _FEWEST or not skills.isdisjoint(upward(folder)):
            continue
        text = repository.context.read(path)
        if not text or sum(name in text for name in names) < _FEWEST:
            continue
        document = repository.context.document(path)
        for rows in _groups(document, folder) if document else ():
            known = [skill for row in rows if (skill := _skill_of(row, names, homes))]
            if len(set(known)) >= _FEWEST and len(known) >= 0.75 * len(rows):
                yield SkillCatalogue(path, tuple(rows), tuple(known))


def _skill_of(row: CatalogueRow, names: dict[str, str], homes: set[str]) -> str:
    """The folder of the skill that a row is about; "" for none."""
    target = row.target.removesuffix("/SKILL.md")
    if posixpath.basename(target) in names and above(target, 1) in homes:
        return target
    return names.get(row.name, "")


def _groups(document: Document, folder: str) -> Iterator[list[CatalogueRow]]:
    """Rows on neighbouring lines that begin with a name in a link, in code or in bold."""
    first: dict[int, CatalogueRow] = {}
    for link in document.links:
        target = unquote(link.target.split("#", 1)[0])
        if target and "://" not in target and not target.startswith(("/", "mailto:")):
            name = link.text.strip("`* ")
            row = CatalogueRow(name, link.line, link.col, join(folder, target))
            if _begins(document, link.line, link.col):
                first.setdefault(link.line, row)
    for code in document.codes:
        if _NAME.fullmatch(code.text) and _begins(document, code.line, code.col):
            first.setdefault(code.line, CatalogueRow(code.text, code.line, code.col, ""))
    fenced = {n for block in document.blocks for n in range(block.line, block.end_line + 1)}
    for n, line in enumerate(document.lines, 1):
        if (match := _BOLD.match(line)) and n not in fenced:
            first.setdefault(n, CatalogueRow(match["name"], n, match.start("name") + 1, ""))
    rows: list[CatalogueRow] = []
    for n in sorted(first):
        if rows and any(
            document.lines[between - 1].strip() and not document.lines[between - 1].startswith((" ", "\t"))
            for between in range(rows[-1].line + 1, n)
        ):
            yield rows
            rows = []
        if (
            document.lines[n - 1].lstrip().startswith(("|", "-", "*", "+"))
            or document.lines[n - 1].lstrip()[:1].isdigit()
        ):
            rows.append(first[n])
    if rows:
        yield rows


def _begins(document: Document, line: int, col: int) -> bool:
    """Whether nothing but signs of a list or table stands before a place."""
    before = document.lines[line - 1][: col - 1] if line <= len(document.lines) else "x"
    return re.fullmatch(r"\s*(?:\|\s*(?:\d+\s*\|\s*)?|[-*+]\s+|\d+\.\s+)(?:[*_`\[]|[^\w\s|]\s)*", before) is not None
