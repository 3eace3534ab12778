"""From a picture to SVG and PNG.

What the library draws is made safe and small before anyone sees it: only known elements and attributes are left, ids
are the picture's own, and what is the same all over is written once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any
from xml.sax.saxutils import escape

from skill_health.page.drawing import compiled, theme
from skill_health.page.figures import escape_text
from skill_health.page.model import Picture

NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
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


def draw(picture: Picture) -> str:
    """The picture as one <svg> element for an HTML page: it scales, has a name for screen readers, and runs nothing.

    Its `width` is its natural width in pixels; there is no height, so that a style sheet needs only `max-width`.
    Raises ValueError, naming the picture, where its specification cannot be drawn.
    """
    return _element(picture, *compiled.compiled(picture.name, _spec(picture)))


def draw_all(pictures: Iterable[Picture]) -> dict[str, str]:
    """Every picture as SVG, by its name. What was drawn before in this process is not drawn again.

    One that the library cannot draw is a line that says so: its numbers are in its table still.
    """
    every = tuple(pictures)
    specs = {}
    for picture in every:
        with suppress(ValueError):
            specs[picture.name] = _spec(picture)
    found = compiled.prepare(specs)
    return {picture.name: _drawn_or_told(picture, found.get(picture.name)) for picture in every}


def _drawn_or_told(picture: Picture, found: compiled.Compiled | str | None) -> str:
    if isinstance(found, tuple):
        return _element(picture, *found)
    return _element(picture, "400", "24", f'<text x="0" y="16" font-size="12" fill="{theme.INK}">{_UNDRAWN}</text>')


def _element(picture: Picture, width: str, height: str, inner: str) -> str:
    return f'<svg class="picture" {_head(picture, width, height)} width="{width}">{_told(picture)}{inner}</svg>'


def svg_file(picture: Picture, dark: bool = False) -> str:
    """The picture as an SVG file of its own, with a ground in the colour of the theme."""
    width, height, inner = compiled.compiled(picture.name, _spec(picture))
    ground = f'<rect width="{width}" height="{height}" fill="{theme.GROUND}"/>'
    size = f'width="{width}" height="{height}"'
    svg = f"<svg {NAMESPACE} {_head(picture, width, height)} {size}>{_told(picture)}{ground}{inner}</svg>\n"
    return _darkened(svg) if dark else svg


def png(picture: Picture, scale: float = 2.0, dark: bool = False) -> bytes:
    """The picture as PNG, `scale` pixels for each of its own, with a ground. Raises ValueError as `draw` does."""
    import vl_convert

    return bytes(vl_convert.svg_to_png(svg_file(picture, dark), scale=scale))


def _head(picture: Picture, width: str, height: str) -> str:
    return (
        f'role="img" aria-labelledby="{picture.name}.title {picture.name}.desc" viewBox="0 0 {width} {height}" '
        f'font-family="{theme.FONT}"'
    )


def _told(picture: Picture) -> str:
    title, alt = (escape(_visible(text)) for text in (picture.title, picture.alt))
    return f'<title id="{picture.name}.title">{title}</title><desc id="{picture.name}.desc">{alt}</desc>'


def _darkened(svg: str) -> str:
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
        told = " ".join(escape_text(value, limit).split("\n")).replace("\t", " ")
        return f"{told} " if told in _INHERITED else told
    if isinstance(value, Mapping):
        return {str(key): _visible(each, _TEXT if key == "values" else limit) for key, each in value.items()}
    return [_visible(each, limit) for each in value] if isinstance(value, (list, tuple)) else value
