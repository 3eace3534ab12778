"""What a reader sees of a picture: the data of its marks, and its texts and shapes by their place on the canvas."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple
from xml.etree import ElementTree

from skill_health.page.model import Page, Picture
from skill_health.page.pictures._load import collection_pictures, skill_pictures

_PLACE = re.compile(r"translate\((-?[\d.]+),(-?[\d.]+)\)")
_CORNER = re.compile(r"[ML](-?[\d.]+),(-?[\d.]+)")
Values = list[dict[str, Any]]


class Shape(NamedTuple):
    """An element of a picture with the place that it begins at, in pixels from the upper left; `text` is a text's."""

    element: ElementTree.Element
    x: float
    y: float
    text: str = ""
    anchor: str = "start"

    @property
    def width(self) -> float:
        """About the width of a text, rather less than more."""
        return 4.5 * len(self.text)

    @property
    def left(self) -> float:
        """Where it begins."""
        return self.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * self.width


def marks(spec: Mapping[str, Any], kind: str) -> Values:
    """The data of all marks of a kind, those that a layer leaves out excepted."""
    return [value for mark, values in _layers(spec, []) if mark == kind for value in values]


def _layers(spec: Mapping[str, Any], data: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Values]]:
    own = [*spec.get("data", {}).get("values", data)]
    for step in spec.get("transform", ()):
        field = re.sub(r"isValid\((.*)\)", r"\1", step["filter"]).removeprefix("datum.")
        own = [value for value in own if value.get(field) not in (None, False, "", 0)]
    if "mark" in spec:
        yield spec["mark"]["type"], own
    for each in (*spec.get("layer", ()), *spec.get("hconcat", ()), *([spec["spec"]] if "spec" in spec else ())):
        yield from _layers(each, own)


def shape(value: Any) -> Any:
    """A specification without what may be the texts of others."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items() if key not in ("data", "height", "domain", "title")}
    return [shape(each) for each in value] if isinstance(value, list) else value


def every(page: Page) -> list[Picture]:
    """All pictures of a page, with those of its skills."""
    found = list(collection_pictures(page))
    for skill in page.status.skills:
        found += skill_pictures(page, skill.path)
    return found


def size(svg: str) -> tuple[float, float]:
    """Width and height of the canvas."""
    _, _, width, height = ElementTree.fromstring(svg).attrib["viewBox"].split()
    return float(width), float(height)


def shapes(svg: str) -> list[Shape]:
    """All that is drawn."""
    return [*_shapes(ElementTree.fromstring(svg), 0, 0, "start")]


def _shapes(element: ElementTree.Element, x: float, y: float, anchor: str) -> Iterator[Shape]:
    for child in element:
        found = _PLACE.match(child.get("transform", ""))
        at_x, at_y = (x + float(found[1]), y + float(found[2])) if found else (x, y)
        own = child.get("text-anchor", anchor)
        if child.tag == "text":
            turned = "rotate" in child.get("transform", "")
            yield Shape(child, at_x, at_y, "" if turned else "".join(child.itertext()), own)
        elif child.tag == "path":
            corners = [(float(a), float(b)) for a, b in _CORNER.findall(child.get("d", ""))]
            yield from (Shape(child, at_x + a, at_y + b) for a, b in corners)
        elif child.tag == "line":
            ends = (float(child.get("x2", 0)), float(child.get("y2", 0)))
            yield from (Shape(child, at_x + a, at_y + b) for a, b in ((0.0, 0.0), ends))
        yield from _shapes(child, at_x, at_y, own)


def beyond(svg: str) -> list[Shape]:
    """What does not lie on the canvas."""
    width, height = size(svg)
    return [
        each for each in shapes(svg) if each.left < 0 or each.left + each.width > width or not 0 <= each.y <= height
    ]


def crossing(found: Iterable[Shape], apart: float = 9) -> list[tuple[str, str]]:
    """Texts that lie over each other: not so many pixels apart, nor side by side."""
    told = [each for each in found if each.text]
    return [
        (one.text, two.text)
        for one, two in combinations(told, 2)
        if abs(one.y - two.y) < apart and one.left + one.width > two.left and two.left + two.width > one.left
    ]


def texts(svg: str) -> list[str]:
    """All texts that are drawn, in their order."""
    return ["".join(each.itertext()) for each in ElementTree.fromstring(svg).iter("text")]
