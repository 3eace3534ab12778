"""What the page's script makes when it is looked at, as JSON within the page: rows and parts, their pieces kept once.

Rows and parts are HTML that the templates made and escaped, as on a page without a script. Lines and tags that occur
again and again are kept in one list, and an origin below a skill names its place by a mark, so that the same figure of
two skills is the same text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import takewhile
from typing import Any

from skill_health.page.figures import escape_text

_TAG = re.compile(r"(<[^>]*>)")
_LEAST = 6
"""Characters of a piece that is worth a place in the list."""
Packed = list[int | str]


def embedded(value: Any) -> str:
    """A JSON value as the content of a script element: no character of it can end the element."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def pointer_part(path: str) -> str:
    """A path as it stands in the origin of a figure, in an attribute."""
    return escape(escape_text(path.replace("~", "~0").replace("/", "~1")))


def with_marks(html: str, at: int, path: str) -> str:
    """The HTML of a skill with its own place in origins as marks: ~s and ~l for its records, ~p for its path."""
    for mark, place in (("~s", f"status#/skills/{at}/"), ("~l", f"lint#/skills/{at}/")):
        html = html.replace(f'data-from="{place}', f'data-from="{mark}/')
    part = re.escape(pointer_part(path))
    return re.sub(rf'(data-from="page#/[a-z_/]*)/{part}(?=["/])', r"\1/~p", html)


def without_marks(html: str, at: int, path: str) -> str:
    """The HTML as it was; the page's script does the same for a tooltip."""
    html = html.replace('data-from="~s/', f'data-from="status#/skills/{at}/')
    html = html.replace('data-from="~l/', f'data-from="lint#/skills/{at}/')
    return re.sub(r'(data-from="page#/[a-z_/]*)/~p(?=["/])', lambda found: f"{found[1]}/{pointer_part(path)}", html)


_ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
_MARKED = re.compile(r'<tr data-base="([^"]*)">(.*?)</tr>', re.DOTALL)
_FROM = re.compile(r'data-from="([^"]*)"')


def with_row_marks(html: str) -> str:
    """The HTML of a table in which each row says where its figures are, and marks that as ~b in their origins."""

    def row(found: re.Match[str]) -> str:
        origins = _FROM.findall(found[1])
        # The least and the greatest share what all share.
        pairs = zip(min(origins, default=""), max(origins, default=""), strict=False)
        base = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)).rpartition("/")[0]
        if not base:
            return found[0]
        inner = found[1].replace(f'data-from="{base}/', 'data-from="~b/')
        return f'<tr data-base="{base}">{inner}</tr>'

    return _ROW.sub(row, html)


def without_row_marks(html: str) -> str:
    """The HTML as it was."""

    def row(found: re.Match[str]) -> str:
        inner = found[2].replace('data-from="~b/', f'data-from="{found[1]}/')
        return f"<tr>{inner}</tr>"

    return _MARKED.sub(row, html)


def pack(texts: Iterable[str]) -> tuple[list[str], list[Packed]]:
    """The pieces that are worth it, once, and each text as what it is made of: places in that list, and other text."""
    lined = [text.splitlines(keepends=True) for text in texts]
    lines = Counter(line for own in lined for line in own)
    rare = {line: _TAG.split(line) for line, times in lines.items() if times == 1}
    pieces = Counter(piece for own in rare.values() for piece in own)
    kept = {line: times for line, times in lines.items() if times > 1 and len(line) >= _LEAST}
    for piece, times in pieces.items():
        if times > 1 and len(piece) >= _LEAST:
            kept[piece] = kept.get(piece, 0) + times
    listed = sorted(kept, key=lambda piece: (-kept[piece], piece))
    places = {piece: at for at, piece in enumerate(listed)}
    return listed, [_packed(own, places, rare) for own in lined]


def _packed(lines: Sequence[str], places: Mapping[str, int], rare: Mapping[str, Sequence[str]]) -> Packed:
    found: Packed = []
    for line in lines:
        for piece in (line,) if line in places else rare.get(line, (line,)):
            place = places.get(piece)
            if place is not None:
                found.append(place)
            elif found and isinstance(found[-1], str):
                found[-1] += piece
            elif piece:
                found.append(piece)
    return found


def unpack(listed: Sequence[str], packed: Packed) -> str:
    """A text as it was."""
    return "".join(listed[each] if isinstance(each, int) else each for each in packed)
