"""One skill as a check of a configuration sees it: its texts, each with the places of its characters."""

from __future__ import annotations

import posixpath
import re
import warnings
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from skill_health.discovery.ignores import Patterns, compile_patterns, ignored_within
from skill_health.rules._api import Context
from skill_health.skill.model import Document, Skill, Span
from skill_health.text.patterns import lazy

START = Span(1, 1)
_NAME = lazy(r"\{(folder|parent|name)\}")
_NAME_OR_GROUP = lazy(r"\{(folder|parent|name|\d)\}")


class CheckedText(NamedTuple):
    """A text that a check looks at. `path` is None for SKILL.md; `line` is where it begins, 0 where `span` is all.

    `name` says which text it is.
    """

    text: str
    name: str
    path: str | None = None
    line: int = 1
    span: Span = START

    def place(self, start: int, end: int) -> Span:
        """Where characters of the text stand in the file, as far as they are in one line."""
        if not self.line:
            return self.span
        first = self.text.rfind("\n", 0, start) + 1
        line = self.line + self.text.count("\n", 0, start)
        last = self.text.find("\n", start)
        end = min(end, last if last >= 0 else len(self.text))
        return Span(line, start - first + 1, line, max(end, start) - first + 1)

    def line_around(self, at: int) -> tuple[int, int]:
        """Where the line that a character stands in begins and ends."""
        end = self.text.find("\n", at)
        return self.text.rfind("\n", 0, at) + 1, end if end >= 0 else len(self.text)


class Subject:
    """A skill with what its checks may ask of the files around it."""

    def __init__(self, skill: Skill, context: Context) -> None:
        self.skill, self.context = skill, context

    @property
    def placeholders(self) -> dict[str, str]:
        """What stands for {folder}, {parent} and {name}."""
        parent = self.skill.folder.rpartition("/")[0].rpartition("/")[2]
        return {"folder": self.skill.folder_name, "parent": parent, "name": self.skill.name}

    def compiled(self, pattern: str) -> re.Pattern[str]:
        """An expression of the configuration, with the placeholders in it taken literally."""
        known = self.placeholders
        return compile_pattern(_NAME.sub(lambda found: re.escape(known[found[1]]), pattern))

    def filled(self, template: str, match: re.Match[str] | None = None) -> str:
        """A template with its placeholders, and the numbers of groups, replaced by what they stand for."""
        known = self.placeholders
        if match is not None:
            known |= {str(n): match[n] or "" for n in range(min(10, 1 + len(match.groups())))}
        return _NAME_OR_GROUP.sub(lambda found: known.get(found[1], found[0]), template)

    def path(self, inner: str) -> str:
        """A path relative to the skill's folder, or with a leading slash to the root, as one relative to the root."""
        return posixpath.normpath(
            inner.lstrip("/") if inner.startswith("/") else posixpath.join(self.skill.folder, inner)
        )

    def texts(self, within: str, section: str, files: Sequence[str], skip_code: bool = False) -> Iterator[CheckedText]:
        """The texts that a check looks at."""
        skill = self.skill
        lines: Sequence[str] = self._without_code(skill.lines, skill.body) if skip_code else skill.lines
        matter = skill.frontmatter
        match within:
            case "file":
                yield CheckedText("\n".join(lines) if skip_code else skill.text, "SKILL.md")
            case "frontmatter" if matter is not None:
                inner = skill.lines[matter.span.line - 1 : skill.body.first_line - 2]
                yield CheckedText("\n".join(inner), "the frontmatter", line=matter.span.line)
            case "body":
                first = skill.body.first_line
                yield CheckedText("\n".join(lines[first - 1 :]), "the body", line=first)
            case "description" if (entry := skill.field("description")) is not None:
                yield CheckedText(skill.description.strip(), "the description", line=0, span=entry.span)
            case "section":
                wanted = self.compiled(section)
                for each in skill.body.sections:
                    if wanted.fullmatch(each.heading.title.strip()):
                        text = "\n".join(lines[each.line : each.end_line])
                        yield CheckedText(text, f'the section "{each.heading.title}"', line=each.line + 1)
            case "paths":
                yield CheckedText("\n".join(skill.files), "the list of its files", line=0)
            case "bundled":
                for path, document in self.documents(files, skip_code):
                    left = self._without_code(document.lines, document) if skip_code else document.lines
                    yield CheckedText("\n".join(left), path, path)
            case "repository":
                for file in files:
                    found = self.context.read(self.path("/" + self.filled(file)))
                    if found is not None:
                        yield CheckedText(found, file, line=0)

    def documents(self, files: Sequence[str], parsed: bool = True) -> Iterator[tuple[str, Document]]:
        """The bundled texts that globs name, as Markdown where that is asked for."""
        patterns = compile_globs(tuple(files))
        for inner in self.skill.files:
            if patterns is None or not ignored_within((patterns,), inner, False):
                continue
            path = self.path(inner)
            text = self.context.read(path)
            if text is None:
                continue
            document = self.context.document(path) if parsed else None
            yield path, document or Document(tuple(text.split("\n")))

    def _without_code(self, lines: Sequence[str], document: Document) -> list[str]:
        left = list(lines)
        for block in document.blocks:
            for at in range(block.line - 1, min(block.end_line, len(left))):
                left[at] = ""
        return left


@lru_cache(1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """An expression of the configuration; ^ and $ stand for the ends of lines. What it warns of is its author's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(pattern, re.MULTILINE)


@cache
def compile_globs(globs: tuple[str, ...]) -> Patterns | None:
    """Globs as in a .gitignore; None where there are none."""
    return compile_patterns(globs)


def is_named(path: str, globs: tuple[str, ...]) -> bool:
    """Whether one of the globs means this file."""
    patterns = compile_globs(globs)
    return patterns is not None and ignored_within((patterns,), path, False)
