"""No pattern of ours takes more than linear time on adversarial repeats, of general pieces and of its own words."""

from __future__ import annotations

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
    for module in walk_packages(skill_health.__path__, "skill_health."):
        if not module.name.endswith("__main__"):
            yield from (
                pytest.param(found, id=f"{module.name.removeprefix('skill_health.')}-{name}")
                for name, value in sorted(vars(import_module(module.name)).items())
                for found in found_in(value)
            )


def found_in(value: Any) -> Iterator[Any]:
    if hasattr(value, "finditer") and hasattr(value, "pattern"):
        yield value
    elif isinstance(value, tuple | list) and len(value) < 100:
        for inner in value:
            yield from found_in(inner)


def seconds(pattern: Any, piece: str, times: int) -> float:
    text: str | bytes = piece * times + "\x00"
    if isinstance(pattern.pattern, bytes):
        text = str(text).encode()
    start = time.process_time()
    for _ in pattern.finditer(text):
        pass
    return time.process_time() - start


@pytest.mark.parametrize("pattern", list(patterns()))
def test_pattern_is_linear(pattern: Any) -> None:
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    own = [word + " " for word in re.findall(r"[A-Za-z]{2,12}", source)[:12]]
    for piece in PIECES + own + ["".join(own[:3])] * bool(own):
        if seconds(pattern, piece, 2_000) > 0.02 and min(seconds(pattern, piece, 2_000) for _ in range(3)) > 0.02:
            longer = min(seconds(pattern, piece, 8_000) for _ in range(2))
            assert longer < 8 * max(seconds(pattern, piece, 2_000) for _ in range(3)), piece
