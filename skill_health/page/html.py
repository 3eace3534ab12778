"""The page as one HTML document that needs nothing else, and in which all that others wrote is text.

What the page's script makes when it is looked at is JSON within the page: rows and parts, their pieces kept once. They
are HTML that the templates made and escaped, as on a page without a script. Lines and tags that occur again and again
are kept in one list, and an origin below a skill names its place by a mark, so that the same figure of two skills is
the same text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape, unescape
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from skill_health.core.errors import UsageError
from skill_health.core.extras import tell_missing
from skill_health.core.files import blake2b
from skill_health.documents._record import record_values
from skill_health.documents.caveats import Caveat
from skill_health.page import sections
from skill_health.page.cells import cell_html, table_html
from skill_health.page.drawing import palette
from skill_health.page.drawing.drawn import Drawn, Pair, draw_page
from skill_health.page.figures import escape_text
from skill_health.page.model import QUESTIONS, TOPICS, Page, anchor
from skill_health.page.trials.address import FOLDER as TRIALS
from skill_health.page.trials.address import link_trials
from skill_health.page.verdict.headline import first_screen

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from skill_health.page.sections._load import PageMode, RenderedSection
    from skill_health.page.sections.overview import OverviewRow, SkillTable
    from skill_health.page.sections.skills import SkillPart

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


DATA = "skill-health-data"
_SKILL_LINK = re.compile(r'href="#(skill-[0-9a-f]{16})"')


class KeptHtml:
    """The HTML of rows and parts of skills, by what they were made of: another page makes only those that differ.

    A template is pure, so that what is kept is what it would make. `made` counts those that the last page made.
    """

    def __init__(self) -> None:
        self._before: dict[bytes, str] = {}
        self._now: dict[bytes, str] = {}
        self.made = 0

    def begin(self) -> None:
        """Begin with another page: what is not on it, nor on the one before, is forgotten."""
        self._before, self._now, self.made = self._now, {}, 0

    def get(self, basis: object, make: Callable[[], str]) -> str:
        """What `make` makes of the `basis`, all of which its `repr` has to tell."""
        key = blake2b(repr(basis).encode("utf-8", "surrogatepass")).digest()
        html = self._before.get(key)
        if html is None:
            html, self.made = make(), self.made + 1
        self._now[key] = html
        return html


def render(page: Page, live: bool = False, kept: KeptHtml | None = None) -> str:
    """The whole document. Pure but for the templates that are read: the same page gives the same bytes.

    Its script makes rows and skills when they are looked at. A `live` page loads itself anew when the server that it
    comes from has rebuilt it. What is `kept` of the last page is not made again. Raises UsageError where the extra that
    it needs is not installed.
    """
    if kept:
        kept.begin()
    environment = page_environment()
    found = _sections(page, environment, "script")
    table, own = found["overview"].context["table"], found["skills"].context
    rows, parts = _rows(page, environment, table, kept), list(_parts(page, environment, own, kept=kept))
    if live:
        parts = [link_trials(part, _TRIALS) for part in parts]
    tables = _long_tables(own["drawn"])
    listed, packed = pack([*rows, *parts, *tables.values()])
    data = _data(page, table, listed, packed[: len(rows)], packed[len(rows) + len(parts) :], tables)
    data |= {"parts": packed[len(rows) : len(rows) + len(parts)], "few": own["few"]}
    document = _document(page, environment, found, data, live)
    return link_trials(document, _TRIALS) if live else document


def render_plain(page: Page) -> str:
    """The same with everything in its HTML, for whoever reads it without a script."""
    environment = page_environment()
    return _document(page, environment, _sections(page, environment, "plain"), None, False)


def render_site(page: Page) -> Iterator[tuple[str, str]]:
    """The page, one page for each skill, and pages of trials: the paths of the files, with slashes, and their texts."""
    from skill_health.page.trials.pages import TrialPages, chosen_pages, write_pages

    environment = page_environment()
    runs = [report.run_id for report in page.effects]
    chosen = chosen_pages(page.runs, runs)
    found = _sections(page, environment, "site")
    table, own = found["overview"].context["table"], found["skills"].context
    rows, tables = [_to_files(row) for row in _rows(page, environment, table)], _long_tables(own["drawn"])
    listed, packed = pack([*rows, *tables.values()])
    data = _data(page, table, listed, packed[: len(rows)], packed[len(rows) :], tables)
    document = _to_files(_document(page, environment, found, data, False))
    yield "index.html", link_trials(document, _TRIALS, ".html", chosen.__contains__)
    style, script = _style(found), read_asset("page.js")
    template = environment.get_template("skill_page.html")
    for skill, part in zip(page.status.skills, _parts(page, environment, own, marked=False), strict=True):
        document = template.render(
            page=page, style=style, script=script, policy=policy(style, script), name=skill.name,
            part=_RELATIVE.sub('href="../', part).replace('<details class="skill"', '<details open class="skill"', 1),
        )  # fmt: skip
        yield (
            f"{FOLDER}/{anchor(skill.path)}.html",
            link_trials(document, f"../{_TRIALS}", ".html", chosen.__contains__),
        )
    yield from write_pages(TrialPages(page.runs, page.title, "../../index.html", ".html"), runs, chosen)


FOLDER, _TRIALS = "skills", f"{TRIALS}/"
"""Where the pages of the skills stand beside the page of a site."""


_RELATIVE = re.compile(r'href="(?![a-z]+:|/|#|\.\./index\.html)')


def _to_files(html: str) -> str:
    """The HTML with its links to skills leading to the files of a site."""
    return _SKILL_LINK.sub(rf'href="{FOLDER}/\1.html"', html)


def _sections(page: Page, environment: Environment, mode: PageMode) -> dict[str, RenderedSection]:
    from skill_health.page.sections._load import build_sections

    return {each.name: each for each in build_sections(page, draw_page(page), environment, mode)}


def _rows(page: Page, environment: Environment, table: SkillTable, kept: KeptHtml | None = None) -> list[str]:
    """The rows of the table in the order of the paths."""
    template = environment.get_template("skill_row.html")
    rows = {row.path: row for row in table.rows}

    def make(row: OverviewRow, at: int) -> str:
        return with_marks(template.render(row=row, columns=table.columns), at, row.path)

    def one(row: OverviewRow, at: int) -> str:
        return kept.get((row, table.columns, at), lambda: make(row, at)) if kept else make(row, at)

    return [one(rows[skill.path], at) for at, skill in enumerate(page.status.skills)]


def _parts(
    page: Page, environment: Environment, own: Mapping[str, Any], marked: bool = True, kept: KeptHtml | None = None
) -> Iterator[str]:
    """The parts of the skills in the order of the paths."""
    template = environment.get_template("skill_part.html")

    def make(part: SkillPart, pictures: Sequence[Pair], at: int) -> str:
        html = template.render(part=part, pictures=pictures, mode="script" if marked else "site")
        return with_marks(html, at, part.path) if marked else html

    def one(part: SkillPart, pictures: Sequence[Pair], at: int) -> str:
        return kept.get((part, pictures, at), lambda: make(part, pictures, at)) if kept else make(part, pictures, at)

    for at, part in enumerate(own["parts"]):
        yield one(part, own["drawn"].own.get(part.path, ()), at)


LONG_TABLE = 40
"""Rows of the data table of a picture from which on a script makes it when it is opened."""


def _long_tables(drawn: Drawn) -> dict[str, str]:
    """The long data tables of the pictures of the collection, by the picture's name."""
    pictures = [picture for picture, _ in drawn.whole if len(picture.table.rows) > LONG_TABLE]
    return {picture.name: with_row_marks(table_html(picture.table, 400)) for picture in pictures}


def _data(
    page: Page, table: SkillTable, listed: list[str], rows: list[Packed], long: list[Packed], names: Iterable[str]
) -> dict[str, Any]:
    """What the script needs: pieces, rows and tables, what rows are sorted and chosen by, the places of the skills."""
    from skill_health.page.sections.overview import sort_keys

    paths = [skill.path for skill in page.status.skills]
    grades = {row.path: row.verdict.grade.value for row in table.rows}
    return {
        "list": listed, "rows": rows, "tables": dict(zip(names, long, strict=True)), "keys": sort_keys(table, page), "facets": table.facets,
        "grades": [grades[path] for path in paths], "paths": [unescape(pointer_part(path)) for path in paths],
        "places": [anchor(path) for path in paths],
    }  # fmt: skip


def _style(found: Mapping[str, RenderedSection]) -> str:
    return palette.style() + read_asset("page.css") + "".join(each.style for each in found.values())


def _document(
    page: Page,
    environment: Environment,
    found: Mapping[str, RenderedSection],
    data: Mapping[str, Any] | None,
    live: bool,
) -> str:
    style, script = _style(found), read_asset("page.js") + (read_asset("live.js") if live else "")
    document = environment.get_template("page.html").render(
        page=page,
        first=first_screen(page),
        source=page.own.source,
        style=style,
        script=script,
        policy=policy(style, script, live),
        page_state=embedded(record_values(page.own.state)),
        sections=found.values(),
        links=[link for each in found.values() for link in each.links],
    )
    return with_data(document, data)


def with_data(document: str, data: Mapping[str, Any] | None) -> str:
    """The document with its origins written short, and what its script makes rows and parts from (None: nothing)."""
    document, origins = shortened(document)
    listed = f'<script type="application/json" id="{ORIGINS}">{embedded(origins)}</script>'
    if data is not None:
        listed += f'\n<script type="application/json" id="{DATA}">{embedded(data)}</script>'
    return document.replace("</body>\n</html>", f"{listed}\n</body>\n</html>")


_COMMAND = re.compile(r"`([^`]{1,200})`")


def _told(text: str, limit: int | None = None) -> Markup:
    """A sentence made for a terminal, whose commands stand between backticks there."""
    from markupsafe import Markup

    return Markup(_COMMAND.sub(r"<code>\1</code>", escape(escape_text(text, limit))))


@cache
def page_environment() -> Environment:
    """What renders the templates of the page. Raises UsageError where the extra that it needs is not installed."""
    return open_environment(sections.__path__)


def open_environment(folders: Iterable[str]) -> Environment:
    """What renders the templates in these folders, and those of the page.

    Raises UsageError where the extra that it needs is not installed.
    """
    try:
        import vl_convert  # noqa: F401
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise UsageError(tell_missing("the page", "report", error.name or "")) from error
    environment = Environment(
        loader=FileSystemLoader([*folders, os.path.join(_HERE, "templates")]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        auto_reload=False,
    )
    environment.filters.update(
        shown=escape_text,
        told=_told,
        anchor=anchor,
        cell=lambda cell, tag="td", limit=None: Markup(cell_html(cell, tag, limit)),
        table=lambda table, limit=None: Markup(table_html(table, limit)),
        markup=Markup,
    )
    environment.globals.update(
        SIGNS=_SIGNS,
        QUESTIONS=QUESTIONS,
        TOPICS=TOPICS,
        CAVEATS=[caveat.value for caveat in Caveat],
        LONG_TABLE=LONG_TABLE,
        mode="plain",
    )
    return environment


def read_asset(name: str) -> str:
    """A style sheet or a script of the page."""
    with open(os.path.join(_HERE, "assets", name), encoding="utf-8") as stream:
        return stream.read()


_TAG = re.compile(r"(<[^<>]*>)")
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
_ORIGIN = re.compile(r'data-from="([^"]*)"')


def with_row_marks(html: str) -> str:
    """The HTML of a table in which each row says where its figures are, and marks that as ~b in their origins."""

    def row(found: re.Match[str]) -> str:
        origins = _ORIGIN.findall(found[1])
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
