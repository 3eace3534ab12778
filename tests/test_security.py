"""Each promise of docs/security.md is held by a test that exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs/security.md").read_text(encoding="utf-8")


def test_each_promise_is_held_by_tests_that_exist() -> None:
    rows = TEXT.partition("## What it promises")[2].partition("\n## ")[0].splitlines()
    promises = [row for row in rows if row.startswith("| ")][1:]
    assert len(promises) >= 15
    for promise in promises:
        held = re.findall(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`", promise.rpartition("| ")[0] + promise)
        assert held, promise
        for file, name in held:
            assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8") if name else (ROOT / file).exists(), (
                promise
            )
