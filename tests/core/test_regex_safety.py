"""Regular expressions of a stranger: what is refused before it runs, and what is not."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skill_health.text.regex_safety import LONGEST_LINE, LONGEST_PATTERN, cut_lines, find_danger

FINE = [
    r"AUTHORIZED USE ONLY", r"^##\s+When to Use", r"\bTODO\b", r"https?://[^\s)]+", r"(?i)do not use", r"x?", r"",
    r'^description: "(.{1025,})"$', r"!\[[^\]\n]*\]\([^)\n]*\)", r"(?<![A-Za-z0-9_-])foo(?![A-Z])", r"^- .*\[skill:",
    r"\{base_path\}/((?:standards|protocols)/[A-Za-z0-9_.-]+\.md)", r"^(?!.*exempt).*(?:/Users/|\bx)", r"^.*foo.*bar",
    r"^[a-z0-9]+(?:-[a-z0-9]+)*$", r"(?s)\A---\n(.*?)\n---", r"\A---\n(?s:.*?)\n---", r"^(?:[^|\n]*\|){3}x",
    r"^README(?:\.[A-Za-z]{2,3}(?:-[A-Za-z]{2,4})?)?\.md$", r"^(?![ \t]|$|#|[a-zA-Z_][a-zA-Z0-9_-]*\s*:)", r"v\d+\.\d+\.\d+",
    r'"(?:[^"\\\n]|\\.)*"', r"\d{4}-\d{2}-\d{2}", r"(?:[0-9a-f]{4}:)*z", r"(?:(?!END).)*END", r"foo\s+bar", r"(?:a|b)*c",
    r"[0-9a-f]{40}", r"(?>a+)b", r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}",
]  # fmt: skip
OFTEN = "match nothing in several ways"
THREE = "three of its repeats"
LINES = "over many lines"
PARTS = "too many optional parts"
EMPTY = "may be empty"
BACK = "refers back"
NO_PATTERN = "is not a regular expression: "

DANGEROUS = {
    r"(a+)+$": "repeats something",
    r"(a|aa)+$": "repeats something",
    r"([A-Za-z]+\s*)+$": "repeats something",
    r"(\s*\n)*x": "repeats something",
    r"(x+x+)+y": "repeats something",
    r"^(a|b|ab)*c": "repeats something",
    r"(?:(?:a{1,50}){1,50}){1,50}b": "repeats something",
    r"(?=(a+)+b)c": "repeats something",
    r"(?:a{2}|a{3})*b": "repeats something",
    r"(a*)*b": EMPTY,
    r"(a?){30}a{30}": EMPTY,
    r"(?:a?b?)*c": EMPTY,
    r"(?:(?:(?:$)*?){50}){3}": EMPTY,
    # Python takes their common "a" out, and leaves a choice of nothing and nothing.
    r"(?:a|a)*b": OFTEN,
    r"(?:(?:a|a))*": OFTEN,
    r"(?:a(?:x*)?)*b": OFTEN,
    r"(?:a(?:|))*b": OFTEN,
    "".join(f"(?:{letter}*)?" for letter in "acdefghijklmnop") + "b": PARTS,
    r".*.*.*x": THREE,
    r"(?:a|b)*(?:a|b)*(?:a|b)*c": THREE,
    r"x.*x.*x.*y": THREE,
    r"\s+x": LINES,
    r"^\s*foo": LINES,
    r"(?s).*x": LINES,
    r"(?s:.*)x": LINES,
    r"![^\]]*\]\(": LINES,
    r"(?:[^|]*\|){3}z": LINES,
    r"[^x]{60000}y": LINES,
    r"(?i:[^A]*)b": LINES,
    r"(.*)\1": BACK,
    r"(a)?(?(1)b|c)": BACK,
    r"(?P<n>a)(?P=n)": BACK,
    "a?" * 30 + "a" * 30: PARTS,
    "(?:|a)" * 30 + "a" * 30: PARTS,
    "(?:[ab]c?|b)" * 30: PARTS,
    r"(?:(?=a*b).)*c": "looks ahead over a repeat within a repeat",
    r"(": NO_PATTERN + "missing ), unterminated subpattern (at character 1)",
    r"[a": NO_PATTERN + "unterminated character set (at character 1)",
    r"a{99999999999}": "is nested too deeply",
    r"(?<=a*)b": NO_PATTERN + "look-behind requires fixed-width pattern",
    "x" * (LONGEST_PATTERN + 1): "is longer than 1,000 characters",
}


@pytest.mark.parametrize("pattern", FINE)
def test_a_usual_expression_is_run(pattern: str) -> None:
    assert find_danger(pattern) == ""


@pytest.mark.parametrize("pattern", DANGEROUS)
def test_a_dangerous_one_is_refused(pattern: str) -> None:
    assert DANGEROUS[pattern] in find_danger(pattern)


@pytest.mark.parametrize("pattern", [r"[a-z0-9]+(?:-[a-z0-9]+)*", r"\s+x", r"(?s).*x"])
def test_what_must_match_a_whole_text_is_not_searched_for(pattern: str) -> None:
    assert find_danger(pattern) and not find_danger(pattern, whole=True)
    assert find_danger(r"(a+)+", whole=True)


ATOMS = st.sampled_from(["a", "b", ".", r"\s", "[ab]", "[^a]", r"\w", "x", "^", "$", r"\b", "(?=a)", "(?!b*a)", "\\n"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2,40}", "{3}", "*?"])).map(lambda p: f"(?:{p[0]}){p[1]}"),
    ),
    max_leaves=12,
)


class _Steps:
    """Counts how often a backtracking matcher looks at a character, without memory of what it has tried."""

    def __init__(self, most: int) -> None:
        self.left = most

    def match(self, items: tuple[object, ...], text: str, at: int) -> bool:
        if not items:
            return True
        (op, value), rest = items[0], items[1:]  # type: ignore[misc]
        match str(op):
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                self.left -= 1
                if self.left < 0:
                    raise TimeoutError
                return at < len(text) and _takes(op, value, text[at]) and self.match(rest, text, at + 1)
            case "SUBPATTERN":
                return self.match((*value[3], *rest), text, at)
            case "BRANCH":
                return any(self.match((*branch, *rest), text, at) for branch in value[1])
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeat(op, value, rest, text, at)
        return self.match(rest, text, at)

    def _repeat(self, op: object, value: tuple[int, int, object], rest: tuple[object, ...], text: str, at: int) -> bool:
        least, most, body = value
        if most:
            again = (op, (max(0, least - 1), min(most, len(text) + 2) - 1, body))
            if self.match((*body, again, *rest), text, at):  # type: ignore[misc]
                return True
        return not least and self.match(rest, text, at)


def _takes(op: object, value: object, char: str) -> bool:
    from skill_health.text.regex_safety import _Shape

    return ord(char) in _Shape(0, char)._set(str(op), value)


PLAIN = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", "x"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=7,
)


@given(PLAIN, st.text("abx", min_size=1, max_size=3))
@example("(?:a|b)*", "ab")
@example("(?:(?:a|a))*", "a")
@example("(?:a(?:x*)?)*", "a")
def test_what_is_accepted_takes_few_steps(pattern: str, word: str) -> None:
    """A text of 40 characters made of one word, then one that fits nothing: 2**20 steps if exponential."""
    from importlib import import_module

    if find_danger(rf"\A{pattern}\Z"):
        return
    tree = tuple(import_module("re._parser").parse(pattern))
    text = (word * 40)[:40] + "!"
    _Steps(200_000).match((*tree, ("LITERAL", ord("#"))), text, 0)


@given(st.one_of(EXPRESSIONS, st.text(max_size=30)))
def test_any_text_has_an_answer(pattern: str) -> None:
    said = find_danger(pattern)
    assert said == find_danger(pattern)
    if not said:
        re.compile(pattern, re.MULTILINE)


def test_long_lines_are_cut_and_others_are_not() -> None:
    text = f"short\n{'x' * (LONGEST_LINE + 7)}\nend\n"
    assert cut_lines(text) == f"short\n{'x' * LONGEST_LINE}\nend\n"
    assert cut_lines("x\n" * LONGEST_LINE) == "x\n" * LONGEST_LINE
