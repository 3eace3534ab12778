"""The anchors of a Markdown text, and whether a fragment is one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from skill_health.core.skill import Document, Link, Skill
from skill_health.rules._api import Context
from skill_health.rules.links._memo import remembered
from skill_health.rules.links._targets import locate, read_target

_HEADING = re.compile(r"\n {0,3}#{1,6}[ \t]+([^\n]*)")
_NOT_SLUG = re.compile(r"[^\w\- ]")
_LINES = re.compile(r"L\d+(?:-L?\d+)?\Z")
_HYPHENS = re.compile(r"-{2,}")
MARKDOWN = (".md", ".markdown", ".mdx")


def is_checkable(fragment: str) -> bool:
    """Whether a fragment names a heading; not so for the top of a page, line numbers and text fragments."""
    return bool(fragment) and fragment != "top" and not fragment.startswith(":~:") and not _LINES.match(fragment)


def anchors_of(document: Document) -> frozenset[str]:
    """Every anchor of a document, in lower case: the slugs of its headings and the explicit ones."""
    return frozenset(
        (*(heading.slug for heading in document.headings), *(anchor.lower() for anchor in document.anchors))
    )


def has_anchor(fragment: str, anchors: frozenset[str], text: str) -> bool:
    """Whether a fragment is among the anchors, or is declared by `{#fragment}` or an attribute in `text`.

    Letter case is left alone: hosts of Markdown fold it.
    """
    name = fragment.lower().removeprefix("user-content-")
    if name in anchors:
        return True
    return any(form in text for form in (f"{{#{fragment}", f'id="{fragment}"', f"id='{fragment}'", f'name="{fragment}"'))


def nearest(fragment: str, anchors: frozenset[str]) -> str:
    """The anchor that was probably meant, or ""."""
    plain = _HYPHENS.sub("-", fragment.lower()).strip("-")
    for anchor in sorted(anchors):
        known = _HYPHENS.sub("-", anchor).strip("-")
        if known == plain or known.startswith(plain + "-"):
            return anchor
    # Imported here because the module is slow to load and broken anchors are rare.
    from difflib import get_close_matches

    return next(iter(get_close_matches(fragment.lower(), sorted(anchors), 1, 0.7)), "")


def likely_anchors(text: str) -> frozenset[str]:
    """The slugs of all lines that look like headings: a cheap reading that spares the parser.

    Headings inside code are among them, and neither the numbering of repeated ones nor Setext headings: a fragment
    that is in here exists for all we care, of any other only the parser knows.
    """
    titles = _HEADING.findall("\n" + text) if "#" in text else ()
    return frozenset([_NOT_SLUG.sub("", title.strip().lower()).replace(" ", "-") for title in titles])


class Files:
    """The anchors of other files, each read once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._likely: dict[str, frozenset[str]] = {}

    def lacks(self, path: str, fragment: str) -> frozenset[str] | None:
        """All anchors of a file where this one is not among them; None where it is, or cannot be known."""
        text = self._context.read(path)
        if text is None:
            return None
        if path not in self._likely:
            self._likely[path] = likely_anchors(text)
        if fragment.lower() in self._likely[path]:
            return None
        document = self._context.document(path)
        if document is None:
            return None
        anchors = anchors_of(document)
        return None if has_anchor(fragment, anchors, text) else anchors


@dataclass(frozen=True, slots=True)
class BrokenAnchor:
    """A link whose fragment is not among the `anchors` of `file` ("" is the file of the link itself)."""

    link: Link
    fragment: str
    file: str
    anchors: frozenset[str]


@remembered
def anchors_checked(skill: Skill, context: Context) -> tuple[int, tuple[BrokenAnchor, ...]]:
    """How many links of SKILL.md carry a fragment that can be checked, and those that lead nowhere."""
    total = 0
    broken: list[BrokenAnchor] = []
    own: frozenset[str] | None = None
    files = Files(context)
    for link in skill.body.links:
        if "#" not in link.target:
            continue
        target = read_target(link.target)
        if not is_checkable(target.fragment):
            continue
        lacking: frozenset[str] | None = None
        if target.kind == "anchor":
            own = anchors_of(skill.body) if own is None else own
            lacking = None if has_anchor(target.fragment, own, skill.text) else own
        elif target.kind == "file" and target.path.lower().endswith(MARKDOWN):
            place = locate(target.path, skill, context)
            if place.state != "ok":
                continue
            lacking = files.lacks(place.path, target.fragment)
        else:
            continue
        total += 1
        if lacking is not None:
            broken.append(BrokenAnchor(link, target.fragment, target.path, lacking))
    return total, tuple(broken)
