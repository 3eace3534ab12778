"""Parses Markdown text to a Document, with markdown-it-py's block tokens and its inline rules.

The block rules run once over the whole text. Inline rules run only where a character that can start code, a link, an
image or HTML occurs, and only those rules: we do not need emphasis and entities.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from markdown_it import MarkdownIt, rules_inline
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from skill_health.skill.decode import MAX_LINE
from skill_health.skill.model import (
    CodeBlock,
    CodeSpan,
    Comment,
    Document,
    Heading,
    Link,
    ListItem,
    MarkdownTable,
    Prose,
    make_slug,
    sections_of,
)
from skill_health.text.patterns import lazy

BlockRule = Callable[[Any, int, int, bool], bool]

# The characters that a line must start with for a rule to match (CommonMark 0.31, sections 4 and 5).
_STARTS = {
    "fence": "`~", "blockquote": ">", "hr": "*-_", "list": "*-+0123456789", "reference": "[",
    "html_block": "<", "heading": "#",
}  # fmt: skip
_SECOND_LINE_OF_TABLE = "|-:"
_INDENTS = " \t"
_LINES = lazy(r"(?m)(?<=\n)[ \t>]*(?:=+|-+)[ \t]*$")


class _Chains:
    """Stands in for the ruler of the block parser: each chain of rules is one dispatching rule."""

    def __init__(self, ruler: Ruler[Any]) -> None:
        self.ruler = ruler
        self.chains: dict[str, list[BlockRule]] = {}

    def getRules(self, chain: str) -> list[BlockRule]:
        """The rules of a chain, as the library asks for them."""
        if chain not in self.chains:
            names = {rule.fn: rule.name for rule in self.ruler.__rules__}
            self.chains[chain] = [_dispatcher({names[fn]: fn for fn in self.ruler.getRules(chain)})]
        return self.chains[chain]

    def get_active_rules(self) -> list[str]:
        """The names of the enabled rules."""
        return self.ruler.get_active_rules()


class LightToken:
    """The parts of the library's token that block rules and our readers use."""

    map: list[int] | None = None
    content = info = markup = ""
    level = 0
    hidden = block = False
    children: list[Any] | None = None
    attrs: dict[str, Any] = {}  # noqa: RUF012 - rules replace it, none mutates it

    def __init__(self, kind: str, tag: str, nesting: int) -> None:
        self.type, self.tag, self.nesting = kind, tag, nesting


class LightState(StateBlock):
    """The library's state with light tokens, plus which lines can underline a heading."""

    def __init__(self, src: str, md: MarkdownIt) -> None:
        super().__init__("", md, {}, [])
        self.src = src
        self._mark_lines(src)
        # Only a line of = or - below a line of text can make a heading of it (CommonMark 0.31, section 4.3).
        self.underlines = [
            bisect_right(self.bMarks, m.start()) - 1
            for m in _LINES.finditer(src)
            if src[src.rfind("\n", 0, m.start() - 1) + 1 : m.start()].strip()
        ]

    def _mark_lines(self, src: str) -> None:
        """Where lines begin, end and are indented to, as the library counts that, but not a character at a time."""
        begins, ends, shifts, columns = self.bMarks, self.eMarks, self.tShift, self.sCount
        for marks in (begins, ends, shifts, columns, self.bsCount):
            marks.clear()
        lines = src.split("\n")
        if not lines[-1].strip(" \t"):
            # What follows the last line break, if anything, is no line of its own.
            lines.pop()
        at = 0
        for line in lines:
            begins.append(at)
            at += len(line)
            ends.append(at)
            at += 1
            if line and line[0] in _INDENTS:
                text = line.lstrip(_INDENTS)
                shifts.append(len(line) - len(text))
                columns.append(len(line[: len(line) - len(text)].expandtabs(4)))
            else:
                shifts.append(0)
                columns.append(0)
        for marks, last in ((begins, len(src)), (ends, len(src)), (shifts, 0), (columns, 0)):
            marks.append(last)
        self.bsCount += [0] * len(begins)
        self.lineMax = len(lines)

    def is_underlined(self, line: int) -> bool:
        """Whether the paragraph that begins with this line goes on to one that can underline it."""
        at = bisect_right(self.underlines, line)
        return at < len(self.underlines) and not any(map(self.isEmpty, range(line + 1, self.underlines[at])))

    def push(self, ttype: str, tag: str, nesting: Any) -> Any:
        """Like the library's, but with a light token."""
        token = LightToken(ttype, tag, nesting)
        if nesting < 0:
            self.level -= 1
        token.level = self.level
        if nesting > 0:
            self.level += 1
        self.tokens.append(token)  # type: ignore[arg-type]
        return token


def dispatch(md: MarkdownIt) -> MarkdownIt:
    """Make a parser try its block rules by the first character of a line."""
    md.block.ruler = _Chains(md.block.ruler)  # type: ignore[assignment]
    return md


def _dispatcher(rules: dict[str, BlockRule]) -> BlockRule:
    table, code = rules.get("table"), rules.get("code")
    underline, paragraph = rules.get("lheading"), rules.get("paragraph")
    by_start: dict[str, tuple[BlockRule, ...]] = {}
    for name, fn in rules.items():
        for start in _STARTS.get(name, ""):
            by_start[start] = (*by_start.get(start, ()), _of_marks(fn) if name == "hr" else fn)

    def rule(state: Any, line: int, end: int, silent: bool) -> bool:
        if table is not None:
            at, src = state.bMarks[line + 1] + state.tShift[line + 1], state.src
            if at < len(src) and src[at] in _SECOND_LINE_OF_TABLE:
                only = not src[at : state.eMarks[line + 1]].strip(_SECOND_LINE_OF_TABLE + " \t")
                if only and table(state, line, end, silent):
                    return True
        if code is not None and state.sCount[line] - state.blkIndent >= 4 and code(state, line, end, silent):
            return True
        at = state.bMarks[line] + state.tShift[line]
        if at < len(state.src):
            for fn in by_start.get(state.src[at], ()):
                if fn(state, line, end, silent):
                    return True
        if underline is not None and state.is_underlined(line) and underline(state, line, end, silent):
            return True
        return paragraph is not None and paragraph(state, line, end, silent)

    return rule


def _of_marks(fn: BlockRule) -> BlockRule:
    """The rule of lines that are made of one mark and spaces: most lines with such a mark first are items of lists."""

    def rule(state: Any, line: int, end: int, silent: bool) -> bool:
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
        return not text.strip(text[0] + " \t") and fn(state, line, end, silent)

    return rule


_LINK = lazy(r"\](?:[(:\[]|$|[^\w\s])|\[[^\]\n]{1,200}\]")
_STOP = lazy(r"[!\\\[\]`<]")
_EMPHASIS = lazy(r"(?<!\w)_{1,2}(?=\S)|(?<=\S)_{1,2}(?!\w)")


class InlineMarkup(NamedTuple):
    """A piece of inline markup: kind is code, link, image, autolink or html.

    It covers text[start:end] of its paragraph; `label_end` is where the visible label of a link ends and `width` is the
    number of markup characters before the content of code.
    """

    kind: str
    start: int
    end: int
    text: str
    target: str = ""
    label_end: int = 0
    width: int = 0


class _State(StateInline):
    found: list[InlineMarkup] | None = None


class _Markdown(MarkdownIt):
    def normalizeLink(self, url: str) -> str:
        return url

    def validateLink(self, url: str) -> bool:
        return True


def _recorded(rule: Callable[[StateInline, bool], bool], kind: str) -> Callable[[StateInline, bool], bool]:
    def wrapped(state: StateInline, silent: bool) -> bool:
        found = getattr(state, "found", None)
        if silent or found is None:
            return rule(state, silent)
        start, first = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        token = next((t for t in state.tokens[first : first + 2] if t.type != "text"), None)
        if token is not None:
            found.append(_found(kind, start, state, token))
        return True

    return wrapped


def _found(kind: str, start: int, state: StateInline, token: Any) -> InlineMarkup:
    end = state.pos
    if kind == "link":
        label_end = state.md.helpers.parseLinkLabel(state, start, True)
        return InlineMarkup(kind, start, end, state.src[start + 1 : label_end], str(token.attrs["href"]), label_end)
    if kind == "image":
        return InlineMarkup(kind, start, end, token.content, str(token.attrs["src"]))
    if kind == "autolink":
        return InlineMarkup(kind, start, end, state.src[start + 1 : end - 1], str(token.attrs["href"]))
    if kind == "code":
        width = len(token.markup)
        inside = state.src[start + width : end - width]
        stripped = len(inside) - len(token.content) == 2 and inside[:1] == " "
        return InlineMarkup(kind, start, end, token.content, width=width + stripped)
    return InlineMarkup(kind, start, end, token.content)


@cache
def parser() -> MarkdownIt:
    """The only Markdown parser: CommonMark and tables, with inline rules that record positions."""
    md = _Markdown("commonmark").enable("table")
    rules = md.inline.ruler
    rules.at("backticks", _recorded(rules_inline.backtick, "code"))
    rules.at("link", _recorded(rules_inline.link, "link"))
    rules.at("image", _recorded(rules_inline.image, "image"))
    rules.at("autolink", _recorded(rules_inline.autolink, "autolink"))
    rules.at("html_inline", _recorded(rules_inline.html_inline, "html"))
    rules.enableOnly(["text", "escape", "backticks", "link", "image", "autolink", "html_inline"])
    md.inline.terminator_re = _STOP
    return dispatch(md)


MAX_BRACKETS = 100
_BRACKET = lazy(r"\\.|[\[\]]")


def is_deep(text: str) -> bool:
    """Whether brackets are nested deeper than anybody's: matching them would take square time."""
    depth = 0
    for found in _BRACKET.finditer(text) if text.count("[") > MAX_BRACKETS else ():
        depth += (found.group() == "[") - (found.group() == "]" and depth > 0)
        if depth > MAX_BRACKETS:
            return True
    return False


def scan(text: str, env: dict[str, Any]) -> list[InlineMarkup]:
    """The inline code, links, images and HTML of a paragraph; what is inside a link precedes it."""
    if "`" not in text and "<" not in text and ("[" not in text or not _LINK.search(text)):
        return []
    if len(text) > MAX_LINE or is_deep(text):
        return []
    md = parser()
    state = _State(text, md, env, [])
    state.found = []
    md.inline.tokenize(state)
    return state.found


def blank(text: str, spans: list[InlineMarkup]) -> str:
    """The text with code, HTML, images and the targets of links overwritten by spaces; lengths are kept."""
    chars = list(text)
    for span in spans:
        if span.kind == "link":
            _wipe(chars, span.start, span.start + 1)
            _wipe(chars, span.label_end, span.end)
        else:
            _wipe(chars, span.start, span.end)
    return "".join(chars)


def _wipe(chars: list[str], start: int, end: int) -> None:
    for i in range(start, end):
        if chars[i] != "\n":
            chars[i] = " "


def visible(text: str, spans: list[InlineMarkup]) -> str:
    """What a reader sees of a heading: code without back-ticks, links without targets, no HTML, no emphasis."""
    if not spans and "_" not in text:
        return text
    keep = [True] * len(text)
    code = [False] * len(text)
    for span in spans:
        outer, inner = (span.start, span.end), (0, 0)
        if span.kind == "link":
            inner = (span.start + 1, span.label_end)
        elif span.kind == "code":
            inner = (span.start + span.width, span.end - span.width)
            code[inner[0] : inner[1]] = [True] * (inner[1] - inner[0])
        for i in range(*outer):
            keep[i] = keep[i] and inner[0] <= i < inner[1]
    for match in _EMPHASIS.finditer(text):
        for i in range(*match.span()):
            keep[i] = keep[i] and code[i]
    return "".join(char for char, kept in zip(text, keep, strict=True) if kept)


_PREFIX = lazy(r"[ \t>]*")
_ANCHOR = lazy(r"""<[a-zA-Z][^<>]{0,200}?\b(?:id|name)=["']([^"'<>]{1,200})["']""")


def parse_document(lines: tuple[str, ...], first_line: int = 1) -> Document:
    """Parse the Markdown that starts at `first_line` of `lines`. Positions are those of the whole file."""
    md = parser()
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
        # The header row is followed by the delimiter row, which has no token.
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
        spans = scan(text, self.env)
        plain = blank(text, spans) if spans else text
        prose = Prose(self.kind, text, plain, line, unit, in_item)
        self.prose.append(prose)
        for span in spans:
            self.markup(span, prose)
        if self.kind == "heading":
            self.heading(prose, spans)
        if self.kind == "cell":
            at = self.lines[line - 1].find(text, self.row_col) if line <= len(self.lines) else -1
            self.row_col = at + len(text) if at >= 0 else self.row_col

    def markup(self, span: InlineMarkup, prose: Prose) -> None:
        if span.kind == "code":
            line, col = self.position(prose, span.start)
            self.codes.append(CodeSpan(span.text, line, col + span.width))
        elif span.kind == "html":
            self.html(span.text, prose.line, prose, span.start)
        else:
            line, col = self.position(prose, span.start)
            self.links.append(Link(span.kind, span.target, span.text, line, col, col + span.end - span.start))

    def heading(self, prose: Prose, spans: list[InlineMarkup]) -> None:
        title = prose.text.strip()
        slug = make_slug(visible(prose.text, spans))
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
