"""The page as one HTML document that needs nothing else, and in which all that others wrote is text."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import TYPE_CHECKING, Any

from skill_health.core.errors import UsageError
from skill_health.core.extras import installation
from skill_health.page.anchors import anchor
from skill_health.page.cells import cell_html, table_html
from skill_health.page.changed import changes, tasks
from skill_health.page.drawing import palette
from skill_health.page.drawing.drawn import drawn
from skill_health.page.marks import LEGEND
from skill_health.page.model import QUESTIONS, Page
from skill_health.page.origins import ORIGINS, shortened
from skill_health.page.overview import rows
from skill_health.page.policy import policy
from skill_health.page.text import escape_text

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = os.path.dirname(__file__)
_SIGNS = {"good": "✓", "warn": "▲", "bad": "✕", "unknown": "○"}


def render(page: Page, live: bool = False) -> str:
    """The whole document. Pure but for the templates that are read: the same page gives the same bytes.

    A `live` page loads itself anew when the server that it comes from has rebuilt it. Raises UsageError where the
    extra that it needs is not installed.
    """
    environment = _environment()
    from skill_health.page.skill.skill_part import parts

    ranked = rows(page)
    pictures = drawn(page, [row.path for row in ranked])
    style = palette.style() + _asset("page.css") + _asset("skill.css")
    script = _asset("page.js") + (_asset("live.js") if live else "")
    document = environment.get_template("page.html").render(
        page=page,
        style=style,
        script=script,
        policy=policy(style, script, live),
        state=embedded(page.own.get("state").value),
        rows=ranked,
        changes=changes(page),
        tasks=tasks(page),
        drawn=pictures,
        parts=parts(page),
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
        loader=FileSystemLoader(os.path.join(_HERE, "templates")),
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
    environment.globals.update(SIGNS=_SIGNS, QUESTIONS=QUESTIONS, LEGEND=LEGEND)
    return environment


def _asset(name: str) -> str:
    with open(os.path.join(_HERE, "assets", name), encoding="utf-8") as stream:
        return stream.read()
