"""The page as one HTML document that needs nothing else, and in which all that others wrote is text."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Any

from skill_health.core.errors import UsageError
from skill_health.core.extras import installation
from skill_health.documents._record import record_values
from skill_health.documents.caveats import Caveat
from skill_health.page import sections
from skill_health.page.cells import cell_html, table_html
from skill_health.page.drawing import palette
from skill_health.page.drawing.drawn import draw_page
from skill_health.page.figures import escape_text
from skill_health.page.model import QUESTIONS, Page, anchor

if TYPE_CHECKING:
    from jinja2 import Environment

ORIGINS = "skill-health-origins"
_FROM = re.compile(r' data-from="([^"]*)"')
_LONG, _MARK = 8, 5


def shortened(document: str) -> tuple[str, list[str]]:
    """The document with its origins written short, and the list of the parts that were taken out of them."""
    counts = Counter(part for origin in _FROM.findall(document) for part in origin.split("/") if len(part) >= _LONG)
    worth = [part for part, n in counts.items() if (len(part) - _MARK) * n > len(part)]
    worth.sort(key=lambda part: (-counts[part], part))
    marks = {part: f"~:{at}" for at, part in enumerate(worth)}

    def short(found: re.Match[str]) -> str:
        return f' data-from="{"/".join(marks.get(part, part) for part in found[1].split("/"))}"'

    return _FROM.sub(short, document), [unescape(part) for part in worth]


def whole(origin: str, parts: Sequence[str]) -> str:
    """An origin as it was before it was shortened."""
    return "/".join(parts[int(part[2:])] if part.startswith("~:") else part for part in origin.split("/"))


def source(text: str) -> str:
    """The source expression that allows an inlined style sheet or script of exactly this text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def policy(style: str, script: str, live: bool = False) -> str:
    """The Content-Security-Policy of a page with this style sheet and this script.

    A `live` page may ask the server that it came from whether it was rebuilt; any other reaches nothing at all.
    """
    parts = (
        "default-src 'none'",
        f"style-src {source(style)}",
        f"script-src {source(script)}",
        "img-src data:",
        *(("connect-src 'self'",) if live else ()),
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(parts)


_HERE = os.path.dirname(__file__)
_SIGNS = {"good": "✓", "warn": "▲", "bad": "✕", "unknown": "○"}


def render(page: Page, live: bool = False) -> str:
    """The whole document. Pure but for the templates that are read: the same page gives the same bytes.

    A `live` page loads itself anew when the server that it comes from has rebuilt it. Raises UsageError where the
    extra that it needs is not installed.
    """
    environment = _environment()
    from skill_health.page.sections._load import build_sections

    found = build_sections(page, draw_page(page), environment)
    style = palette.style() + _asset("page.css") + "".join(each.style for each in found)
    script = _asset("page.js") + (_asset("live.js") if live else "")
    document = environment.get_template("page.html").render(
        page=page,
        style=style,
        script=script,
        policy=policy(style, script, live),
        state=embedded(record_values(page.own.state)),
        sections=found,
        links=[link for each in found for link in each.links],
    )
    document, origins = shortened(document)
    listed = f'<script type="application/json" id="{ORIGINS}">{embedded(origins)}</script>'
    return document.replace("</body>\n</html>", f"{listed}\n</body>\n</html>")


def embedded(value: Any) -> str:
    """A JSON value as the content of a script element: no character of it can end the element."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _environment() -> Environment:
    try:
        import vl_convert  # noqa: F401
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise UsageError(f"the page needs {error.name}: {installation('report')}") from error
    environment = Environment(
        loader=FileSystemLoader([*sections.__path__, os.path.join(_HERE, "templates")]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        auto_reload=False,
    )
    environment.filters.update(
        shown=escape_text,
        anchor=anchor,
        cell=lambda cell, tag="td", limit=None: Markup(cell_html(cell, tag, limit)),
        table=lambda table, limit=None: Markup(table_html(table, limit)),
        markup=Markup,
    )
    environment.globals.update(SIGNS=_SIGNS, QUESTIONS=QUESTIONS, CAVEATS=[caveat.value for caveat in Caveat])
    return environment


def _asset(name: str) -> str:
    with open(os.path.join(_HERE, "assets", name), encoding="utf-8") as stream:
        return stream.read()
