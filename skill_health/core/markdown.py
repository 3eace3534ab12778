"""Markdown text -> Document, through markdown-it-py's block tokens and its inline rules.

The block rules run once over the whole text. Inline rules run only where a character that can start
code, a link, an image or HTML occurs, and only those rules: emphasis and entities say nothing to us.
"""

from __future__ import annotations

from typing import Any

from skill_health.core import inline
from skill_health.core.blocks import LightState
from skill_health.core.document import (
    CodeBlock,
    CodeSpan,
    Comment,
    Document,
    Heading,
    Link,
    ListItem,
    MarkdownTable,
    Prose,
    sections_of,
)
from skill_health.core.patterns import lazy

_PREFIX = lazy(r"[ \t>]*")
_NOT_SLUG = lazy(r"[^\w\- ]")
_ANCHOR = lazy(r"""<[a-zA-Z][^<>]{0,200}?\b(?:id|name)=["']([^"'<>]{1,200})["']""")


def parse_document(lines: tuple[str, ...], first_line: int = 1) -> Document:
    """Parse the Markdown that starts at `first_line` of `lines`. Positions are those of the whole file."""
    md = inline.parser()
    source = "\n".join(lines[first_line - 1 :]).replace("\0", "\ufffd")
    if not source.strip():
        return Document(lines, first_line)
    state = LightState(source, md)
    md.block.tokenize(state, state.line, state.lineMax)
    builder = _Builder(lines, first_line, dict(state.env))
    handlers = {name: getattr(builder, f"on_{name}") for name in _HANDLED}
    for token in state.tokens:
        handler = handlers.get(token.type)
        if handler is not None:
            handler(token)
    return builder.document()


class _Builder:
    def __init__(self, lines: tuple[str, ...], first_line: int, env: dict[str, Any]) -> None:
        self.lines, self.first, self.env = lines, first_line, env
        self.at = Document(lines, first_line)
        self.headings: list[Heading] = []
        self.links: list[Link] = []
        self.codes: list[CodeSpan] = []
        self.blocks: list[CodeBlock] = []
        self.comments: list[Comment] = []
        self.prose: list[Prose] = []
        self.items: list[ListItem] = []
        self.tables: list[MarkdownTable] = []
        self.anchors: list[str] = []
        self.slugs: dict[str, int] = {}
        self.lists: list[bool] = []
        self.open_items: list[int] = []
        self.unit = 0
        self.row = self.row_col = 0
        self.rows = 0
        self.kind, self.level = "paragraph", 0

    def line_of(self, token: Any) -> int:
        return int(token.map[0]) + self.first

    def on_bullet_list_open(self, token: Any) -> None:
        self.lists.append(False)

    def on_ordered_list_open(self, token: Any) -> None:
        self.lists.append(True)

    def on_bullet_list_close(self, token: Any) -> None:
        self.lists.pop()

    on_ordered_list_close = on_bullet_list_close

    def on_list_item_open(self, token: Any) -> None:
        self.unit += 1
        self.open_items.append(self.unit)
        end = int(token.map[1]) + self.first - 1
        self.items.append(ListItem(self.line_of(token), end, len(self.lists), self.lists[-1]))

    def on_list_item_close(self, token: Any) -> None:
        self.open_items.pop()

    def on_heading_open(self, token: Any) -> None:
        self.kind, self.level = "heading", int(token.tag[1])

    def on_paragraph_open(self, token: Any) -> None:
        self.kind = "paragraph"

    def on_table_open(self, token: Any) -> None:
        self.rows = 0

    def on_tr_open(self, token: Any) -> None:
        self.unit += 1
        self.rows += 1
        self.row, self.row_col, self.kind = self.line_of(token), 0, "cell"

    def on_table_close(self, token: Any) -> None:
        # The header row is followed by the delimiter row, which is no token.
        first = self.row - self.rows if self.rows > 1 else self.row
        self.tables.append(MarkdownTable(first, max(self.row, first + 1), self.rows - 1))

    def on_fence(self, token: Any) -> None:
        line, end = self.line_of(token), int(token.map[1]) + self.first - 1
        last = self.lines[end - 1] if end <= len(self.lines) else ""
        marker = last[_PREFIX.match(last).end() :].rstrip()  # type: ignore[union-attr]
        closed = end > line and len(marker) >= len(token.markup) and not marker.strip(token.markup[0])
        info = token.info.split(None, 1)[0] if token.info.strip() else ""
        self.blocks.append(CodeBlock(info, token.content, line, end, True, closed))

    def on_code_block(self, token: Any) -> None:
        line = self.line_of(token)
        end = line + token.content.rstrip("\n").count("\n")
        self.blocks.append(CodeBlock("", token.content, line, end, False))

    def on_html_block(self, token: Any) -> None:
        self.html(token.content, self.line_of(token), None, 0)

    def html(self, text: str, line: int, prose: Prose | None, offset: int) -> None:
        if "=" in text:
            self.anchors += _ANCHOR.findall(text)
        at = text.find("<!--")
        while at >= 0:
            end = text.find("-->", at + 4)
            content = text[at + 4 : end if end >= 0 else len(text)]
            if prose is not None:
                start, col = self.position(prose, offset + at)
            else:
                start = line + text.count("\n", 0, at)
                col = max(0, self.lines[start - 1].find("<!--")) + 1
            self.comments.append(Comment(content, start, col, start + content.count("\n")))
            at = text.find("<!--", end + 3) if end >= 0 else -1

    def position(self, prose: Prose, offset: int) -> tuple[int, int]:
        line, col = self.at.position(prose, offset)
        if prose.kind == "cell":
            at = self.lines[line - 1].find(prose.text, self.row_col)
            col = (at if at >= 0 else self.row_col) + offset + 1
        return line, col

    def on_inline(self, token: Any) -> None:
        text, in_item = token.content, bool(self.open_items)
        line = self.row if self.kind == "cell" else self.line_of(token)
        if self.kind != "cell" and not in_item:
            self.unit += 1
        unit = self.open_items[-1] if in_item and self.kind != "cell" else self.unit
        spans = inline.scan(text, self.env)
        plain = inline.blank(text, spans) if spans else text
        prose = Prose(self.kind, text, plain, line, unit, in_item)
        self.prose.append(prose)
        for span in spans:
            self.markup(span, prose)
        if self.kind == "heading":
            self.heading(prose, spans)
        if self.kind == "cell":
            at = self.lines[line - 1].find(text, self.row_col) if line <= len(self.lines) else -1
            self.row_col = at + len(text) if at >= 0 else self.row_col

    def markup(self, span: inline.InlineMarkup, prose: Prose) -> None:
        if span.kind == "code":
            line, col = self.position(prose, span.start)
            self.codes.append(CodeSpan(span.text, line, col + span.width))
        elif span.kind == "html":
            self.html(span.text, prose.line, prose, span.start)
        else:
            line, col = self.position(prose, span.start)
            self.links.append(Link(span.kind, span.target, span.text, line, col, col + span.end - span.start))

    def heading(self, prose: Prose, spans: list[inline.InlineMarkup]) -> None:
        title = prose.text.strip()
        slug = _NOT_SLUG.sub("", inline.visible(prose.text, spans).strip().lower()).replace(" ", "-")
        seen = self.slugs.get(slug, 0)
        self.slugs[slug] = seen + 1
        source = self.lines[prose.line - 1] if prose.line <= len(self.lines) else ""
        col = len(source) - len(source.lstrip()) + 1
        self.headings.append(Heading(self.level, title, f"{slug}-{seen}" if seen else slug, prose.line, col))

    def document(self) -> Document:
        return Document(
            self.lines, self.first, tuple(self.headings), tuple(sections_of(self.headings, len(self.lines))),
            tuple(self.links), tuple(self.codes), tuple(self.blocks), tuple(self.comments), tuple(self.prose),
            tuple(self.items), tuple(self.tables), tuple(self.anchors),
        )  # fmt: skip


_HANDLED = tuple(name[3:] for name in vars(_Builder) if name.startswith("on_"))
