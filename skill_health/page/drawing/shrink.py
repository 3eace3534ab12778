"""The SVG of the charting library made safe and small: the same to look at, a third of the bytes.

What is left is on a list; anything else that could run, load or style is an error. Marks are hidden from screen
readers one by one, since the picture as a whole has a name and its numbers stand in a table.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_ELEMENTS = frozenset("svg g path line rect text tspan circle defs clipPath linearGradient stop".split())
_NUMBERS = frozenset("transform d x y x1 x2 y1 y2 cx cy r rx ry width height points offset".split())
_SAME = frozenset(
    "fill stroke stroke-width stroke-dasharray stroke-opacity fill-opacity stroke-linecap stroke-linejoin "
    "stroke-miterlimit font-size font-weight font-style text-anchor".split()
)
"""What an element has from its parent where it has none of its own, so that a group can say it once for all."""
_KEPT = _NUMBERS | _SAME | {"id", "clip-path", "opacity", "stop-color", "font-family"}
_IDLE = {
    "opacity": "1", "stroke-width": "1", "fill-opacity": "1", "stroke-opacity": "1", "transform": "translate(0,0)",
    "text-anchor": "start",
}  # fmt: skip
"""Values that are the default, and are so unless an ancestor says otherwise (only groups that we make do)."""
_NUMBER = re.compile(r"(?:-|(?<!\d))\d+(?:\.\d{3,}(?:e-?\d+)?|e-\d+)")
_PLACE = re.compile(r"translate\((-?[\d.]+,-?[\d.]+)\)")
_CIRCLE = re.compile(r"M([\d.]+),0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0Z?")
_ID = re.compile(r"url\(#([^)]+)\)")


SIZE = "11"
"""The size of text that a picture has laid out itself and told the library to be of no size."""


def shrunk(svg: str, name: str, font: str) -> tuple[str, str, str]:
    """Width, height and the inner elements as text, of a whole SVG that the charting library drew.

    `name` begins all ids, `font` is the font family that the outermost element will say. Raises ValueError where the
    SVG holds an element that no picture needs.
    """
    root = ElementTree.fromstring(svg.replace(' xmlns="http://www.w3.org/2000/svg"', "", 1))
    width, height = _short(root.get("width", "0")), _short(root.get("height", "0"))
    ids: dict[str, str] = {}
    for element in root.iter():
        if element.tag not in _ELEMENTS:
            raise ValueError(f"it holds an element that is not allowed: {element.tag}")
        _clean(element, ids, name, font)
    for child in root:
        _tidy(child)
    return width, height, "".join(_text(child) for child in root if not _empty(child))


def _clean(element: Element, ids: dict[str, str], name: str, font: str) -> None:
    """Keep the attributes that are seen, with short numbers and with ids of our own."""
    seen = {key: value for key, value in element.attrib.items() if key in _KEPT and value != _IDLE.get(key)}
    if element.get("display") == "none":
        element.tag, element.text, element[:] = "g", None, []
    for key, value in seen.items():
        if key in _NUMBERS:
            seen[key] = _NUMBER.sub(lambda found: _short(found.group()), value)
        elif key == "id":
            seen[key] = _own(ids, value, name)
        elif "url(" in value:
            seen[key] = _ID.sub(lambda found: f"url(#{_own(ids, found.group(1), name)})", value)
        elif key == "font-size":
            seen[key] = value.removesuffix("px") if value != "0px" else SIZE
    if seen.get("font-family") == font:
        del seen["font-family"]
    if element.tag == "line":
        for key in ("x2", "y2"):
            if seen.get(key) in ("0", "-0"):
                del seen[key]
    element.attrib.clear()
    element.attrib.update(_simple(element, seen))


def _simple(element: Element, seen: dict[str, str]) -> dict[str, str]:
    """The same in fewer words: a text by its place, a round mark as a circle."""
    place = _PLACE.fullmatch(seen.get("transform", ""))
    if place is None:
        return seen
    rest = {key: value for key, value in seen.items() if key != "transform"}
    x, y = place.group(1).split(",")
    if element.tag == "text" and not {"x", "y"} & set(rest):
        return {"x": x, "y": y, **rest}
    round_mark = _CIRCLE.fullmatch(rest.get("d", "")) if element.tag == "path" else None
    if round_mark is None:
        return seen
    element.tag = "circle"
    del rest["d"]
    return {"cx": x, "cy": y, "r": round_mark.group(1), **rest}


def _own(ids: dict[str, str], old: str, name: str) -> str:
    return ids.setdefault(old, f"{name}.{len(ids) + 1}")


def _short(number: str) -> str:
    text = f"{float(number):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _tidy(element: Element) -> None:
    """Take out what is not seen, take groups apart that say nothing, and say once what all of a group have."""
    if element.tag == "defs":
        return
    children: list[Element] = []
    for child in list(element):
        _tidy(child)
        if not _empty(child):
            children.extend(child if child.tag == "g" and not child.attrib else (child,))
    element[:] = children
    if element.tag == "g":
        if len(children) == 1 and children[0].tag == "g" and not set(element.attrib) & set(children[0].attrib):
            inner = children[0]
            element.attrib.update(inner.attrib)
            element[:] = list(inner)
        _share(element)


def _empty(element: Element) -> bool:
    if element.tag in ("g", "defs"):
        return not len(element)
    if element.tag == "path":
        return not element.get("d") or not {"fill", "stroke"} & set(element.attrib)
    return element.tag == "text" and not element.text and not len(element)


def _share(group: Element) -> None:
    children = list(group)
    if len(children) < 2:
        return
    for key in [key for key in children[0].attrib if key in _SAME]:
        values = {child.get(key) for child in children}
        if len(values) == 1 and (key != "fill" or "fill" not in group.attrib):
            group.set(key, children[0].attrib[key])
            for child in children:
                del child.attrib[key]
    _join(group, children)


def _join(group: Element, lines: list[Element]) -> None:
    """Lines that have nothing of their own but their place as one path: the grid, the ticks, the intervals."""
    parts = []
    for line in lines:
        place = _PLACE.fullmatch(line.get("transform", "translate(0,0)"))
        if line.tag != "line" or place is None or not set(line.attrib) <= {"transform", "x2", "y2"}:
            return
        parts.append(f"M{place.group(1)}l{line.get('x2', '0')},{line.get('y2', '0')}")
    group[:] = [Element("path", {"d": "".join(parts)})]


def _text(element: Element) -> str:
    return ElementTree.tostring(element, encoding="unicode").replace(" />", "/>")
