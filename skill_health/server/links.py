"""The links and the paths in inline code of an open file that lead to another file."""

from __future__ import annotations

import os
from collections.abc import Iterator

from skill_health.lint.check import FileContext
from skill_health.registries.records import Registries
from skill_health.rules.links._targets import locate, read_target
from skill_health.server.session import OpenFile
from skill_health.skill.decode import decode
from skill_health.skill.markdown import parse_document
from skill_health.skill.model import Document, Skill, Span

_TEXTS = (".md", ".mdx", ".markdown")


def list_links(file: OpenFile) -> Iterator[tuple[Span, str]]:
    """Where each stands and the absolute path of what it leads to, which is a file inside the repository."""
    skill, _ = file.skill()
    boundary = file.boundary()
    context = FileContext(boundary.root, file.collection.config, Registries(), boundary)
    document, base = skill.body, ""
    if file.place(file.entry.path) != os.path.realpath(file.path):
        data = boundary.read_small(file.path)
        if data is None or not file.path.lower().endswith(_TEXTS):
            return
        document = parse_document(tuple(decode(data)[0].split("\n")))
        base = os.path.relpath(os.path.dirname(file.path), os.path.join(boundary.root, file.own_folder))
        base = "" if base == os.curdir else base.replace(os.sep, "/")
    for span, path in _mentioned(document):
        place = _find(path, base, skill, context)
        if place:
            yield span, file.place(place)


def _mentioned(document: Document) -> Iterator[tuple[Span, str]]:
    for link in document.links:
        target = read_target(link.target)
        if target.kind == "file":
            yield Span(link.line, link.col, link.line, link.end_col), target.path
    for code in document.codes:
        text = code.text.strip()
        if text and not any(char.isspace() for char in text) and ("/" in text or "." in text[1:]):
            at = code.col
            yield Span(code.line, at, code.line, at + len(code.text)), text.removeprefix("./")


def _find(path: str, base: str, skill: Skill, context: FileContext) -> str:
    """The path, relative to the root, of the file that one leads to; "" where there is none.

    In a bundled file, what is not beside it may be meant from the skill's folder.
    """
    for start in dict.fromkeys((base, "")):
        found = locate(path, skill, context, start)
        if found.state == "spelled" and found.inside and found.actual:
            place = skill.path_of(found.actual)
        elif found.state == "ok":
            place = found.path
        else:
            continue
        if os.path.isfile(os.path.join(context.root, place)) and not context.leads_out(place):
            return place
    return ""
