"""No pattern of ours takes more than linear time on adversarial repeats, of general pieces and of its own words."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest

import skill_health

PIECES = [
    "a", "-", "a-", "A1", "0", "9.", "1,000", "a.", "@a", "a@a.", "://", "http://a.", "/home/a/", "C:\\Users\\", "\\Users\\a",
    "10.", "a_b-c.csv", "deadbeef1", '"\\', '"a": ', "- a", "* ", "# ", "`", "``", "[", "](", "[a](b", "<", "<a ", "<!--",
    "{", "$", "%", "10 % ", "up to 3", "3x ", "1. ", "|", "a|", "~", "_", "__a", "\\", "\u200d", "\ufe0f", "\U0001f3f4",
    "\U000e0061", " ", "\n", "\r", "ab\n", "\t", "(", ")\"'", "é", "東", "’s ", "...", "a/b/", "../",
]  # fmt: skip


def patterns() -> Iterator[Any]:
    for found in walk_packages(skill_health.__path__, "skill_health."):
        if found.name.endswith("__main__"):
            continue
        module = import_module(found.name)
        source = inspect.getsource(module)
        for name, value in sorted(vars(module).items()):
            # One that is only ever held against the start of a text is not tried at every place of it.
            used = set(re.findall(rf"\b{name}\.(\w+)", source))
            anchored = bool(used) and used <= {"match", "fullmatch", "pattern"}
            for pattern in found_in(value):
                yield pytest.param(pattern, anchored, id=f"{found.name.removeprefix('skill_health.')}-{name}")


def found_in(value: Any) -> Iterator[Any]:
    if hasattr(value, "finditer") and hasattr(value, "pattern"):
        yield value
    elif isinstance(value, tuple | list) and len(value) < 100:
        for inner in value:
            yield from found_in(inner)


def seconds(pattern: Any, anchored: bool, piece: str, times: int) -> float:
    text: str | bytes = piece * times + "\x00"
    if isinstance(pattern.pattern, bytes):
        text = str(text).encode()
    start = time.process_time()
    if anchored:
        pattern.match(text)
        pattern.fullmatch(text)
    else:
        for _ in pattern.finditer(text):
            pass
    return time.process_time() - start


@pytest.mark.parametrize(("pattern", "anchored"), list(patterns()))
def test_pattern_is_linear(pattern: Any, anchored: bool) -> None:
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    own = [word + " " for word in re.findall(r"[A-Za-z]{2,12}", source)[:12]]
    for piece in PIECES + own + ["".join(own[:3])] * bool(own):
        short = seconds(pattern, anchored, piece, 1_500)
        if short > 0.02 and (short := min(seconds(pattern, anchored, piece, 1_500) for _ in range(3))) > 0.02:
            assert min(seconds(pattern, anchored, piece, 6_000) for _ in range(2)) < 8 * short, piece
