"""From a picture to SVG and PNG: the only place that calls the charting library, in as many processes as pay off.

What the library draws is checked before anyone sees it: only known elements and attributes are left.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from skill_health.core.forks import map_forked, processors
from skill_health.page.drawing import theme
from skill_health.page.figures import escape_text
from skill_health.page.model import Picture

NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
Compiled = tuple[str, str, str]
"""Width, height and inner elements of a picture."""
_ELEMENTS = frozenset("svg g path line rect text tspan".split())
_ATTRIBUTES = frozenset(
    "transform d x y x1 x2 y1 y2 dx dy width height fill stroke stroke-width stroke-dasharray stroke-opacity fill-opacity "
    "opacity font-size text-anchor".split()
)
_SHARED = {"fill", "stroke", "stroke-width", "stroke-dasharray", "text-anchor"}
_IDLE = {
    ("font-size", "11px"),
    ("opacity", "1"),
    ("stroke-width", "1"),
    ("x2", "0"),
    ("y2", "0"),
    ("transform", "translate(0,0)"),
}
_NUMBER = re.compile(r"-?(?<!\d)(?:\d+\.\d{3,}(?:e-?\d+)?|\d+e-\d+)")
_TAG = re.compile(r"<[^<>]*>")
_COLOR = re.compile(r'(?<=")#[0-9a-f]{6}(?=")')
_NAME = re.compile(r"[a-z0-9-]+")
_INHERITED = frozenset(
    "__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ __proto__ constructor hasOwnProperty "
    "isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf".split()
)
"""What every object of the library's language has: as the name of a group, it would find that and draw nothing."""
_UNDRAWN = "This picture cannot be drawn; its numbers are in the table."
_TEXT = 300
"""Longer texts among the data are cut before they are drawn: nobody could read them, and to measure them takes long."""
_MANY, _CHUNK = 40, 8
"""From so many pictures on, starting the library in several processes costs less than it saves."""
_WIDE = 600
"""Pixels beyond which a picture that were made to fit a telephone could not be read there: it scrolls."""
_KEPT = 1024
_kept: dict[str, Compiled | str] = {}
_HERE = os.path.dirname(__file__)
_FONTS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")


def draw(picture: Picture) -> str:
    """The picture as one <svg> element for an HTML page: it scales, has a name for screen readers, and runs nothing.

    Its `width` is its natural width in pixels; there is no height, so that a style sheet needs only its width.
    Raises ValueError, naming the picture, where its specification cannot be drawn.
    """
    return _element(picture, *_compiled(picture))


def draw_all(pictures: Iterable[Picture]) -> dict[str, str]:
    """Every picture as SVG, by its name. What was drawn before in this process is not drawn again.

    One that the library cannot draw is a line that says so: its numbers are in its table still.
    """
    every, specs = tuple(pictures), {}
    for picture in every:
        with suppress(ValueError):
            specs[picture.name] = _spec(picture)
    found = compile_all(specs.values())
    return {picture.name: _element_or_apology(picture, found.get(specs.get(picture.name, ""))) for picture in every}


def svg_file(picture: Picture, dark: bool = False) -> str:
    """The picture as an SVG file of its own, with a ground in the colour of the theme."""
    width, height, inner = _compiled(picture)
    ground = f'<rect width="{width}" height="{height}" fill="{theme.GROUND}"/>'
    size = f'width="{width}" height="{height}"'
    svg = f"<svg {NAMESPACE} {_head(picture, width, height)} {size}>{_description(picture)}{ground}{inner}</svg>\n"
    return _darken(svg) if dark else svg


def png(picture: Picture, scale: float = 2.0, dark: bool = False) -> bytes:
    """The picture as PNG, `scale` pixels for each of its own, with a ground. Raises ValueError as `draw` does."""
    svg, library = svg_file(picture, dark), _library()
    # Names in other scripts are drawn in the fonts of the machine.
    for folder in filter(os.path.isdir, map(os.path.expanduser, _FONTS)):
        library.register_font_directory(folder)
    return bytes(library.svg_to_png(svg, scale=scale))


def compile_all(specs: Iterable[str]) -> dict[str, Compiled | str]:
    """What is drawn of specifications, or why one cannot be drawn; nothing is drawn twice in a process."""
    every = list(dict.fromkeys(specs))
    new = [spec for spec in every if spec not in _kept]
    _kept.update(zip(new, _compile_apart(new) if _may_fork(len(new)) else map(_compile, new), strict=True))
    found = {spec: _kept[spec] for spec in every}
    while len(_kept) > max(_KEPT, len(every)):
        del _kept[next(iter(_kept))]
    return found


def _may_fork(pictures: int) -> bool:
    """Whether other processes may draw: not where threads run or the library does, which a fork would cut in two."""
    alone = threading.active_count() == 1 and not _library.cache_info().currsize and hasattr(os, "fork")
    return pictures >= _MANY and alone and processors() > 1


def _compile_apart(specs: Sequence[str]) -> list[Compiled | str]:
    from concurrent.futures.process import BrokenProcessPool

    try:
        return list(map_forked(_compile, specs, min(processors(), 4), _CHUNK))
    except BrokenProcessPool:
        # For lack of memory, perhaps: one process needs the least.
        return list(map(_compile, specs))


@cache
def _library() -> Any:
    """The charting library, which measures text in the fonts that it brings along, and in no other.

    So a picture is the same on any machine; and those lie in memory, while of the machine's it opens the file anew for
    each letter, which takes longer than all else.
    """
    import vl_convert

    before = os.environ.get("FONTCONFIG_FILE")
    os.environ["FONTCONFIG_FILE"] = os.path.join(_HERE, "fonts.conf")
    try:
        # The fonts are looked for once, when they are needed first: now.
        vl_convert.register_font_directory(_HERE)
    finally:
        os.environ.pop("FONTCONFIG_FILE")
        if before is not None:
            os.environ["FONTCONFIG_FILE"] = before
    return vl_convert


def _compile(spec: str) -> Compiled | str:
    try:
        return _checked(_library().vegalite_to_svg(spec, config=theme.config(), allowed_base_urls=[]))
    except ValueError as error:
        return str(error) or "no reason given"


def _checked(svg: str) -> Compiled:
    """Width, height and inner elements of an SVG of the library: what is needed of it, without what is not seen.

    Raises ValueError where it holds an element that no picture needs.
    """
    root = ElementTree.fromstring(svg.replace(f" {NAMESPACE}", "", 1))
    size = root.attrib["width"], root.attrib["height"]
    for element in list(root.iter()):
        if element.tag not in _ELEMENTS:
            raise ValueError(f"it holds an element that is not allowed: {element.tag}")
        if told := element.get("aria-label"):
            # A mark with a description tells it where it is pointed at.
            title = ElementTree.Element("title")
            title.text = told
            element.append(title)
        kept = {name: _NUMBER.sub(_shorten, value) for name, value in element.items() if name in _ATTRIBUTES}
        element.attrib = {name: value for name, value in kept.items() if (name, value) not in _IDLE}
    return *size, "".join(ElementTree.tostring(each, "unicode") for each in _seen(root)).replace(" />", "/>")


def _shorten(number: re.Match[str]) -> str:
    return f"{float(number.group()):.2f}".rstrip("0").rstrip(".")


def _seen(element: ElementTree.Element) -> list[ElementTree.Element]:
    """The children that show something, and those of groups that say nothing; what all of a group have, it says."""
    found: list[ElementTree.Element] = []
    for child in element:
        child[:] = _seen(child)
        if child.tag == "g":
            for name, value in list(child[0].items()) if len(child) > 1 else ():
                if name in _SHARED and name not in child.attrib and all(each.get(name) == value for each in child):
                    child.set(name, value)
                    for each in child:
                        del each.attrib[name]
            found += [child] if child.attrib and len(child) else [*child]
        elif child.get("opacity") != "0" and (child.tag != "path" or {"fill", "stroke"} & {*child.attrib}):
            found.append(child)
    return found


def _compiled(picture: Picture) -> Compiled:
    spec = _spec(picture)
    found = compile_all([spec])[spec]
    if isinstance(found, str):
        raise ValueError(f"the picture {picture.name} cannot be drawn: {found}")
    return found


def _element_or_apology(picture: Picture, found: Compiled | str | None) -> str:
    if isinstance(found, tuple):
        return _element(picture, *found)
    return _element(picture, "400", "24", f'<text x="0" y="16" font-size="12" fill="{theme.INK}">{_UNDRAWN}</text>')


def _element(picture: Picture, width: str, height: str, inner: str) -> str:
    kind = "picture wide" if float(width) > _WIDE else "picture"
    return f'<svg class="{kind}" {_head(picture, width, height)} width="{width}">{_description(picture)}{inner}</svg>'


def _head(picture: Picture, width: str, height: str) -> str:
    return (
        f'role="img" aria-labelledby="{picture.name}.title {picture.name}.desc" viewBox="0 0 {width} {height}" '
        f'font-family="{theme.FONT}" font-size="11"'
    )


def _description(picture: Picture) -> str:
    title, alt = (escape(_visible(text)) for text in (picture.title, picture.alt))
    return f'<title id="{picture.name}.title">{title}</title><desc id="{picture.name}.desc">{alt}</desc>'


def _darken(svg: str) -> str:
    """The colours of the theme exchanged where they are the value of an attribute, never in a text."""
    return _TAG.sub(
        lambda tag: _COLOR.sub(lambda found: theme.DARK.get(found.group(), found.group()), tag.group()), svg
    )


def _spec(picture: Picture) -> str:
    """The specification as JSON. Raises ValueError for a name that cannot be an id, and for no number."""
    if not _NAME.fullmatch(picture.name):
        raise ValueError(f"a picture's name is made of a-z, 0-9 and hyphens, not {picture.name!r}")
    return json.dumps(_visible(picture.spec), sort_keys=True, allow_nan=False)


def _visible(value: Any, limit: int | None = None) -> Any:
    """The specification with its texts as they are shown: a control character would end the process of the library."""
    if isinstance(value, str):
        text = " ".join(escape_text(value, limit).split("\n")).replace("\t", " ")
        return f"{text} " if text in _INHERITED else text
    if isinstance(value, Mapping):
        return {str(key): _visible(each, _TEXT if key == "values" else limit) for key, each in value.items()}
    return [_visible(each, limit) for each in value] if isinstance(value, (list, tuple)) else value
