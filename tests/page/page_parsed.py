"""A page read as a browser reads it: elements with their attributes and texts, and nothing that a page would hide."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from urllib.parse import unquote

from skill_health.page.html import ORIGINS, whole

_VOID = frozenset("meta link br hr img input wbr col".split())


@dataclass
class Element:
    tag: str
    attrs: dict[str, str | None]
    parts: list[str] = field(default_factory=list, repr=False)
    up: Element | None = field(default=None, repr=False)

    @cached_property
    def text(self) -> str:
        """All text in it, which is known once the page is read."""
        return "".join(self.parts)

    def within(self, tag: str) -> bool:
        above = self.up
        while above is not None and above.tag != tag:
            above = above.up
        return above is not None


@dataclass
class Parsed(HTMLParser):
    """All elements in their order. `text` of an element is its whole text."""

    document: str = field(repr=False)
    elements: list[Element] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []
        self.feed(self.document)
        self.close()
        assert not self._open, f"left open: {[each.tag for each in self._open]}"
        listed = [each for each in self.elements if each.attrs.get("id") == ORIGINS]
        parts = json.loads(listed[0].text) if listed else []
        for each in self.elements:
            if place := each.attrs.get("data-from"):
                each.attrs["data-from"] = whole(place, parts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice on {tag}"
        own = Element(tag, dict(attrs), up=self._open[-1] if self._open else None)
        self.elements.append(own)
        if tag not in _VOID:
            self._open.append(own)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open[-1].tag == tag, (
            f"</{tag}> in {self._open[-1].tag if self._open else 'nothing'}"
        )
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for each in self._open:
            each.parts.append(data)

    def all(self, tag: str = "", **attrs: str) -> list[Element]:
        wanted = {name.strip("_").replace("_", "-"): value for name, value in attrs.items()}.items()
        tagged = (each for each in self.elements if tag in ("", each.tag))
        return [each for each in tagged if all(each.attrs.get(name) == value for name, value in wanted)]

    def figures(self, *parts: str) -> list[Element]:
        """Those that name an origin with one of these parts."""
        return [each for each in self.elements if any(part in (each.attrs.get("data-from") or "") for part in parts)]

    def one(self, tag: str = "", **attrs: str) -> Element:
        found = self.all(tag, **attrs)
        assert len(found) == 1, f"{len(found)} of {tag} {attrs}"
        return found[0]

    def links(self) -> list[str]:
        return [unquote(each.attrs.get("href") or "") for each in self.all("a")]
