"""No pattern of the leakage and routing families takes more than linear time on adversarial repeats."""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path

import pytest

import skill_health.rules.leakage as leakage
import skill_health.rules.routing as routing
from skill_health.core import fingerprints, secrets, tfidf

MODULES = [
    *(import_module(f"{package.__name__}.{path.stem}") for package in (leakage, routing)
      for path in sorted(Path(package.__path__[0]).glob("*.py")) if path.stem != "__init__"),
    fingerprints, secrets, tfidf,
]  # fmt: skip
PATTERNS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": value
    for module in MODULES
    for name, value in vars(module).items()
    if hasattr(value, "finditer") and hasattr(value, "pattern")
} | {f"secrets.{n}.{entry[0]}": entry[2] for n, entry in enumerate(secrets._FORMATS)}
PIECES = [
    "a", "-", "a-", "A1", "0", "1,000", "a.", "@a", "a@a.", "://", "http://a.", "/home/a/", "C:\\Users\\", "\\Users\\a", "10.",
    "ignore all ", "do not tell ", "agent: ", "[//]: # (", "use for any ", "helps with all ", "always use this skill ",
    "takes precedence over ", "use this skill for every of the ", "must be used for ", "a_b-c.csv", "deadbeef1", '"\\', '"a": ',
    "- a", "\u200d", "\ufe0f", "\U0001f3f4", "\U000e0061", " ", "\n", "ab\n", "(", ")\"'", "é", "東",
]  # fmt: skip


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern_is_linear(name: str) -> None:
    pattern = PATTERNS[name]

    def seconds(piece: str, times: int) -> float:
        text: str | bytes = piece * times + "\x00"
        if isinstance(pattern.pattern, bytes):
            text = str(text).encode()
        start = time.process_time()
        for _ in pattern.finditer(text):
            pass
        return time.process_time() - start

    for piece in PIECES:
        if seconds(piece, 2_000) > 0.02 and min(seconds(piece, 2_000) for _ in range(3)) > 0.02:
            assert min(seconds(piece, 8_000) for _ in range(2)) < 8 * max(seconds(piece, 2_000) for _ in range(3)), (
                piece
            )
