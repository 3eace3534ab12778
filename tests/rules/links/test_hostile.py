"""Input that is made to be slow or to break things: the links family answers in time, and does not raise."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from skill_health.core.config import config_with, load_config
from skill_health.core.corpus import discover
from skill_health.engine import run
from skill_health.rules.links import (
    _bundle,
    _hidden,
    _intent,
    broken_command,
    dead_url,
    undefined_reference,
    unknown_skill,
)

N = 20_000
TEXTS = {
    "missing-links": "".join(f"[a](references/{n}.md) " for n in range(N // 4)),
    "missing-links-on-lines": "".join(f"[a](references/{n}.md)\n" for n in range(N // 4)),
    "missing-skills": "".join(f"[a](../s{n}/SKILL.md)\n" for n in range(N // 4)),
    "missing-anchors": "# A\n\n" + "".join(f"[a](#x{n})\n" for n in range(N // 4)),
    "missing-paths": "".join(f"`references/{n}.md`\n" for n in range(N // 4)),
    "paths-in-one-span": "`" + "scripts/a.py " * N + "`",
    "one-word": "`references/" + "a" * 10 * N + ".md`",
    "climbing": "[a](" + "../" * N + "x.md)",
    "dots": "[a](" + "./" * N + "x.md)",
    "hyphens": "## Related skills\n\n- " + "a-" * N + "\n",
    "brackets": "[" * N + "](" * N,
    "references": "[a][" * N,
    "percent": "[a](references/" + "%zz" * N + ".md)",
    "nul": "[a](references/\0.md) `scripts/\0.py`",
    "surrogates": "[a](references/%ED%A0%80.md) [b](references/\u202e.md) [c](#%ED%A0%80)",
    "fences": "```\n" * N + "[a](b.md)",
    "comments": "<!--" * N + "[a](b.md)",
    "backticks": "`" * N + " [a](b.md) " + "`" * N,
    "addresses": "https://" * N,
    "headings": "# a\n" * (N // 4) + "[a](#a-99999)",
}


@pytest.mark.parametrize("name", TEXTS)
def test_in_time(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "hostile"
    (folder / "references").mkdir(parents=True)
    (folder / "scripts").mkdir()
    (folder / "SKILL.md").write_text("---\nname: hostile\ndescription: x\n---\n" + TEXTS[name], "utf-8")
    (folder / "references" / "same.md").write_text(TEXTS[name], "utf-8")
    (folder / "scripts" / "a.py").write_text("from . import x\n" + "(" * 300 + TEXTS[name], "utf-8")
    config = config_with(load_config(str(tmp_path)), select=("LI",))
    discovery = discover([str(tmp_path)], config, str(tmp_path))
    began = time.process_time()
    run(discovery, config, date(2026, 11, 21), jobs=1, use_cache=False)
    assert time.process_time() - began < 8


@pytest.mark.parametrize(
    ("look", "piece"),
    [
        (_bundle._TARGET.findall, "]("), (_bundle._TARGET.findall, "](<"), (_bundle._DEFINITION.findall, "\n[a"),
        (_hidden._FENCE.findall, "\n> "), (_hidden._FENCE.findall, "\n```"), (_intent._KEBAB.findall, "a"),
        (_hidden._RUN_OR_BLOCK.findall, "\n> "), (_hidden._RUN_OR_BLOCK.findall, "`"), (lambda t: _hidden.Hidden(t).covers(len(t) - 1), "``` `` ` "),
        (lambda t: _hidden.Hidden(t).covers(len(t) - 1), "<!--"), (_intent._MAKES_LISTED.search, "create"), (broken_command._PROJECT.findall, "./"),
        (_intent._KEBAB.findall, "a-"), (_intent._OTHER.search, "skill's "), (_intent._SENTENCE.split, ".  "),
        (undefined_reference._REFERENCE.findall, "[a]["), (undefined_reference._REFERENCE.findall, "[aa"),
        (unknown_skill._HEAD.match, "a-"), (unknown_skill._TITLE.match, " "), (dead_url._BARE.findall, "http://"),
        (dead_url._STAND_IN.search, "//a."), (dead_url._STAND_IN.search, "my"),
    ],
)  # fmt: skip
def test_patterns_are_linear(look: Callable[[str], object], piece: str) -> None:
    def seconds(repeats: int) -> float:
        text, best = piece * repeats, 9.0
        for _ in range(3):
            began = time.perf_counter()
            look(text)
            best = min(best, time.perf_counter() - began)
        return best

    assert seconds(32_000) < 8 * 4 * seconds(4_000) + 0.02
