"""markdown-it-py's block rules, tried only where the first character of a line lets them match.

The rules and their order are the library's own; a test holds the tokens against those of the plain parser.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.ruler import Ruler
from markdown_it.rules_block import StateBlock

from skill_health.core.patterns import lazy

BlockRule = Callable[[Any, int, int, bool], bool]

# The characters that a line must start with for a rule to match (CommonMark 0.31, sections 4 and 5).
_STARTS = {
    "fence": "`~", "blockquote": ">", "hr": "*-_", "list": "*-+0123456789", "reference": "[",
    "html_block": "<", "heading": "#",
}  # fmt: skip
_SECOND_LINE_OF_TABLE = "|-:"
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
        """The names of the rules that are on."""
        return self.ruler.get_active_rules()


class LightToken:
    """The part of the library's token that block rules and their readers use."""

    map: list[int] | None = None
    content = info = markup = ""
    level = 0
    hidden = block = False
    children: list[Any] | None = None
    attrs: dict[str, Any] = {}  # noqa: RUF012 - rules replace it, none writes into it

    def __init__(self, kind: str, tag: str, nesting: int) -> None:
        self.type, self.tag, self.nesting = kind, tag, nesting


class LightState(StateBlock):
    """The library's state with light tokens, which knows whether any line can underline a heading."""

    def __init__(self, src: str, md: MarkdownIt) -> None:
        super().__init__(src, md, {}, [])
        # Only a line of = or - below a line of text can make a heading of it (CommonMark 0.31, section 4.3).
        self.underlined = any(
            src[src.rfind("\n", 0, m.start() - 1) + 1 : m.start()].strip() for m in _LINES.finditer(src)
        )

    def push(self, ttype: str, tag: str, nesting: Any) -> Any:
        """As the library's, with a light token."""
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
            by_start[start] = (*by_start.get(start, ()), fn)

    def rule(state: Any, line: int, end: int, silent: bool) -> bool:
        if table is not None:
            at = state.bMarks[line + 1] + state.tShift[line + 1]
            if at < len(state.src) and state.src[at] in _SECOND_LINE_OF_TABLE and table(state, line, end, silent):
                return True
        if code is not None and state.sCount[line] - state.blkIndent >= 4 and code(state, line, end, silent):
            return True
        at = state.bMarks[line] + state.tShift[line]
        if at < len(state.src):
            for fn in by_start.get(state.src[at], ()):
                if fn(state, line, end, silent):
                    return True
        if underline is not None and state.underlined and underline(state, line, end, silent):
            return True
        return paragraph is not None and paragraph(state, line, end, silent)

    return rule
