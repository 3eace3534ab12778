"""No pattern of ours takes more than linear time on adversarial repeats, of general pieces and of its own words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest
from counted import Counted, TooManySteps
from growth import is_linear

import skill_health

PIECES = [
    "a", "-", "a-", "A1", "0", "9.", "1,000", "a.", "@a", "a@a.", "://", "http://a.", "/home/a/", "C:\\Users\\", "\\Users\\a",
    "10.", "a_b-c.csv", "deadbeef1", '"\\', '"a": ', "- a", "* ", "# ", "`", "``", "[", "](", "[a](b", "<", "<a ", "<!--",
    "{", "$", "%", "10 % ", "up to 3", "3x ", "1. ", "|", "a|", "~", "_", "__a", "\\", "\u200d", "\ufe0f", "\U0001f3f4",
    "\U000e0061", " ", "\n", "\r", "ab\n", "\t", "(", ")\"'", "é", "東", "’s ", "...", "a/b/", "../",
]  # fmt: skip
SOON = ["\n", "0", "a", "A1", "a.", "[a](b", "<!--", "`", " ", "(", "/home/a/", "1,000"]
"""What patterns that once were slow were slow on, and one of each sort of the others."""


class Ours:
    """A pattern of ours: where it is, and whether it is only ever held against the start of a text."""

    def __init__(self, name: str, pattern: Any, anchored: bool) -> None:
        self.name, self.source, self.flags, self.anchored = name, pattern.pattern, pattern.flags, anchored
        self.counted = Counted(self.source, self.flags)

    def text(self, piece: str, times: int) -> str | bytes:
        whole = piece * times + "\x00"
        return whole.encode() if isinstance(self.source, bytes) else whole

    def spans(self, piece: str, times: int) -> list[Any]:
        text = self.text(piece, times)
        if self.anchored:
            return [self.counted.match(text), self.counted.match(text, to_the_end=True)]
        return list(self.counted.finditer(text))

    def steps(self, piece: str, times: int) -> int:
        self.counted.steps = 0
        self.spans(piece, times)
        return self.counted.steps

    def is_linear(self, piece: str) -> bool:
        """Whether each further repeat costs the same; a bounded repetition may need a longer text until it does."""
        try:
            return is_linear(lambda times: self.steps(piece, times))
        except TooManySteps:
            return False

    def words(self) -> list[str]:
        """Pieces of the words of the pattern itself."""
        source = self.source if isinstance(self.source, str) else self.source.decode("latin-1")
        own = [word + " " for word in re.findall(r"[A-Za-z]{2,12}", source)[:12]]
        return own + ["".join(own[:3])] * bool(own)


@cache
def ours() -> list[Ours]:
    found: dict[tuple[Any, int, bool], Ours] = {}
    for info in walk_packages(skill_health.__path__, "skill_health."):
        if info.name.endswith("__main__"):
            continue
        module = import_module(info.name)
        source = inspect.getsource(module)
        for name, value in sorted(vars(module).items()):
            if not (patterns := list(found_in(value))):
                continue
            # One that is only ever held against the start of a text is not tried at every place of it.
            used = set(re.findall(rf"\b{name}\.(\w+)", source))
            anchored = bool(used) and used <= {"match", "fullmatch", "pattern"}
            for pattern in patterns:
                key = pattern.pattern, pattern.flags, anchored
                if key not in found:
                    found[key] = Ours(f"{info.name}.{name}", pattern, anchored)
    return list(found.values())


def found_in(value: Any) -> Iterator[Any]:
    if hasattr(value, "finditer") and hasattr(value, "pattern"):
        yield value
    elif isinstance(value, tuple | list) and len(value) < 100:
        for inner in value:
            yield from found_in(inner)


@pytest.mark.parametrize(
    "piece",
    [pytest.param(each, marks=getattr(pytest.mark, "slow" if each in SOON else "exhaustive")) for each in PIECES],
)
def test_patterns_are_linear(piece: str) -> None:
    assert len(ours()) > 150
    assert [each.name for each in ours() if not each.is_linear(piece)] == []


@pytest.mark.exhaustive
def test_patterns_are_linear_on_their_own_words() -> None:
    assert [(each.name, word) for each in ours() for word in each.words() if not each.is_linear(word)] == []


@pytest.mark.slow
def test_matches_are_counted_where_python_finds_them() -> None:
    pieces = PIECES[::8]
    for each in ours()[::4]:
        pattern = re.compile(each.source, each.flags)
        for piece in [*pieces, *each.words()[:2]]:
            text = each.text(piece, 5)
            if each.anchored:
                found = [found and found.span() for found in (pattern.match(text), pattern.fullmatch(text))]
            else:
                found = [found.span() for found in pattern.finditer(text)]
            assert each.spans(piece, 5) == found, (each.name, piece)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "flags", "anchored", "piece"),
    [
        (r"(?:^|x)\s*(?:curl)", re.MULTILINE, False, "\n"), (r"\[([^\]]+)\]\((https?://[^)]+)\)", 0, False, "["),
        (r"^\s*```", re.MULTILINE, False, "\n"), (r"\s*\(at end\)$", 0, False, " "), (r"<[^>]*>", 0, False, "<!--"),
        (r"-?\d+\.\d{3,}|-?\d+e-\d+", 0, False, "0"), (rb"\s+$", 0, False, "\t"),
        (r"[0-9]+\.?[0-9]*\Z", 0, True, "0"), (r"[^\s]*SKILL\.md", 0, False, "a"), (r"(?:a|b|ab)*c", 0, True, "ab"),
        (r"<!--.*?-->", re.DOTALL, False, "<!--"), (r"(\w+) \1!", 0, False, "a"), (r"(?=\w+!)a", 0, False, "a"),
    ],
)  # fmt: skip
def test_patterns_that_are_not_linear_are_found_out(source: Any, flags: int, anchored: bool, piece: str) -> None:
    assert not Ours("slow", re.compile(source, flags), anchored).is_linear(piece)


@pytest.mark.parametrize(
    ("source", "anchored", "piece"),
    [(r"\d+(?!\d)", False, "0"), (r"[0-9]++\Z", True, "0"), (r"(?<!\s)\s*x", False, " "), (r"\w{1,40}x", False, "a")],
)
def test_patterns_that_are_linear_pass(source: str, anchored: bool, piece: str) -> None:
    assert Ours("quick", re.compile(source), anchored).is_linear(piece)
