"""The anchors of a Markdown text, and whether a fragment is one of them."""

from typing import NamedTuple

from skill_health.rules._api import Context
from skill_health.rules.links._memo import remembered
from skill_health.rules.links._mentions import followed_links
from skill_health.rules.links._targets import read_target
from skill_health.skill.model import Document, Link, Skill, make_slug
from skill_health.text.patterns import lazy

_HEADING = lazy(r"\n {0,3}#{1,6}[ \t]+([^\n]*)")
_LINES = lazy(r"L\d+(?:-L?\d+)?\Z")
_DECLARED = lazy(r"""(?:\{#|\b(?:id|name)=["']?)([^\s"'<>{}]{1,200})""")
_HYPHENS = lazy(r"-{2,}")
MARKDOWN = (".md", ".markdown", ".mdx")


def is_checkable(fragment: str) -> bool:
    """Whether a fragment should name a heading, unlike the top of a page, line numbers and text fragments."""
    return bool(fragment) and fragment != "top" and not fragment.startswith(":~:") and not _LINES.match(fragment)


def anchors_of(document: Document, text: str) -> frozenset[str]:
    """Every anchor of a document, in lower case: slugs of headings, `<a id="...">`, `{#...}` and other attributes."""
    explicit = (anchor.lower() for anchor in (*document.anchors, *_DECLARED.findall(text)))
    return frozenset((*(heading.slug for heading in document.headings), *explicit))


def has_anchor(fragment: str, anchors: frozenset[str]) -> bool:
    """Whether a fragment is among the anchors. Letter case is ignored, as Markdown hosts ignore it."""
    return fragment.lower().removeprefix("user-content-") in anchors


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
    """The slugs of all lines that look like headings: a cheap scan that saves parsing.

    It includes headings inside code, but neither Setext headings nor the numbering of repeated ones: a fragment found
    here is taken to exist; for any other, ask the parser.
    """
    titles = _HEADING.findall("\n" + text) if "#" in text else ()
    return frozenset([make_slug(title) for title in titles])


class Files:
    """The anchors of other files, each read once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._likely: dict[str, frozenset[str]] = {}
        self._known: dict[str, frozenset[str]] = {}

    def lacks(self, path: str, fragment: str) -> frozenset[str] | None:
        """All anchors of a file if this one is not among them; None if it is, or if that is unknown."""
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
        if path not in self._known:
            self._known[path] = anchors_of(document, text)
        return None if has_anchor(fragment, self._known[path]) else self._known[path]


class BrokenAnchor(NamedTuple):
    """A link whose fragment is not among the `anchors` of `file` ("" is the file of the link itself)."""

    link: Link
    fragment: str
    file: str
    anchors: frozenset[str]


@remembered
def anchors_checked(skill: Skill, context: Context) -> tuple[int, tuple[BrokenAnchor, ...]]:
    """How many links of SKILL.md have a checkable fragment, and those that lead nowhere."""
    total = 0
    broken: list[BrokenAnchor] = []
    own: frozenset[str] | None = None
    for link in skill.body.links:
        target = read_target(link.target) if link.target[:1] == "#" else None
        if target is not None and is_checkable(target.fragment):
            total += 1
            own = anchors_of(skill.body, skill.text) if own is None else own
            if not has_anchor(target.fragment, own):
                broken.append(BrokenAnchor(link, target.fragment, "", own))
    files = Files(context)
    for link, target, place, _ in followed_links(skill, context):
        if place.state == "ok" and is_checkable(target.fragment) and place.path.lower().endswith(MARKDOWN):
            total += 1
            lacking = files.lacks(place.path, target.fragment)
            if lacking is not None:
                broken.append(BrokenAnchor(link, target.fragment, target.path, lacking))
    return total, tuple(sorted(broken, key=lambda entry: (entry.link.line, entry.link.col)))
