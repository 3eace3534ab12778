"""Our way of trying the library's block rules gives the tokens that the library gives."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from skill_health.skill.markdown import LightState, dispatch

PLAIN = MarkdownIt("commonmark").enable("table")
FAST = dispatch(MarkdownIt("commonmark").enable("table"))

MARKS = ("src", "bMarks", "eMarks", "tShift", "sCount", "bsCount", "lineMax", "line", "tokens", "env", "_code_enabled")


def tokens(md: MarkdownIt, state: StateBlock) -> list[tuple[Any, ...]]:
    md.block.tokenize(state, state.line, state.lineMax)
    return [(t.type, t.tag, t.nesting, t.level, t.map, t.content, t.info, t.markup, t.hidden) for t in state.tokens]


def compare(text: str) -> None:
    plain, fast = StateBlock(text, PLAIN, {}, []), LightState(text, FAST)
    assert {name: getattr(fast, name) for name in MARKS} == {name: getattr(plain, name) for name in MARKS}
    assert tokens(FAST, fast) == tokens(PLAIN, plain)
    assert fast.env == plain.env


@pytest.mark.parametrize(
    "text",
    [
        "", "a\n", "# h\n", "a\n===\n", "a\n---\n", "a\n- \n", "a\n-\n", "> a\n> ===\n", "> a\n===\n", "- a\n  ===\n",
        "- a\n  ---\n", "| a |\n|---|\n| b |\n", "a | b\n--|--\nc | d\n", "a\n:-:\n", "    code\n", "- \tcode\n",
        "[a]: b\n", "[a]: b\n===\n", "<div>\n</div>\n", "1. a\n2. b\n", "* * *\n", "a\n   ===   \n", "a\n\t===\n",
        "> - a\n> - b\n>   ---\n", "-\n===\n", "a\n= =\n", "a\n>---\n",
    ],
)  # fmt: skip
def test_known_shapes(text: str) -> None:
    compare(text)


LINES = st.sampled_from(
    ["", " ", "a", "b c", "# h", "## h #", "---", "===", "- - -", "- a", "* b", "+ c", "1. d", "2) e", "> q", ">", "```",
     "```py", "~~~", "    x", "\tx", "| a | b |", "|---|---|", "|:-|-:|", "a | b", "-|-", "[r]: u 't'", "<div>", "</div>",
     "<!-- c -->", " \t a", "\t \t- t", "\t ", "- \t c", "* * *", "* *x*",
     "_ _ _", "|:-a", "  ===", "> ===", "  ---", "   - z", "- 1. n", "=", "-", "\\", "&amp;", "`c`", "[l](u)"]
)  # fmt: skip


@given(st.lists(LINES, max_size=12), st.booleans())
def test_any_mix_of_lines(lines: list[str], ends: bool) -> None:
    compare("\n".join(lines) + "\n" * ends)
