"""The inline rules of markdown-it-py that matter to us, with the positions that its tokens lack."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from markdown_it import MarkdownIt, rules_inline
from markdown_it.rules_inline import StateInline

from skill_health.core.blocks import dispatch
from skill_health.core.decode import MAX_LINE
from skill_health.core.patterns import lazy

_LINK = lazy(r"\](?:[(:\[]|$|[^\w\s])|\[[^\]\n]{1,200}\]")
_STOP = lazy(r"[!\\\[\]`<]")
_EMPHASIS = lazy(r"(?<!\w)_{1,2}(?=\S)|(?<=\S)_{1,2}(?!\w)")


class InlineMarkup(NamedTuple):
    """A piece of inline markup: kind is code, link, image, autolink or html.

    It covers text[start:end] of its paragraph; `label_end` is where the visible label of a link ends and
    `width` how many characters of markup stand before the content of code.
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
    """The one Markdown parser: CommonMark and tables, with inline rules that record positions."""
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


def scan(text: str, env: dict[str, Any]) -> list[InlineMarkup]:
    """The inline code, links, images and HTML of a paragraph; what stands inside a link comes before it."""
    if "`" not in text and "<" not in text and ("[" not in text or not _LINK.search(text)):
        return []
    if len(text) > MAX_LINE:
        return []
    md = parser()
    state = _State(text, md, env, [])
    state.found = []
    md.inline.tokenize(state)
    return state.found


def blank(text: str, spans: list[InlineMarkup]) -> str:
    """The text with code, HTML, images and the targets of links overwritten by spaces; lengths stay."""
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
