"""Input that is made to be slow or to break things: the links family answers in time, and does not raise."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest
from counted import Counted
from growth import is_linear, lines_run

from skill_health.config.settings import config_with, load_config
from skill_health.discovery.corpus import discover
from skill_health.lint.pipeline import run
from skill_health.rules.links import _bundle, _intent, broken_command, dead_url, undefined_reference, unknown_skill

SIZES = (1_000, 20_000)


def texts(size: int) -> dict[str, str]:
    """Texts of about so many pieces, by what they are made to break."""
    return {
        "missing-links": "".join(f"[a](references/{n}.md) " for n in range(size // 4)),
        "missing-links-on-lines": "".join(f"[a](references/{n}.md)\n" for n in range(size // 4)),
        "missing-skills": "".join(f"[a](../s{n}/SKILL.md)\n" for n in range(size // 4)),
        "missing-anchors": "# A\n\n" + "".join(f"[a](#x{n})\n" for n in range(size // 4)),
        "missing-paths": "".join(f"`references/{n}.md`\n" for n in range(size // 4)),
        "paths-in-one-span": "`" + "scripts/a.py " * size + "`",
        "one-word": "`references/" + "a" * 10 * size + ".md`",
        "climbing": "[a](" + "../" * size + "x.md)",
        "dots": "[a](" + "./" * size + "x.md)",
        "hyphens": "## Related skills\n\n- " + "a-" * size + "\n",
        "brackets": "[" * size + "](" * size,
        "references": "[a][" * size,
        "percent": "[a](references/" + "%zz" * size + ".md)",
        "nul": "[a](references/\0.md) `scripts/\0.py`",
        "surrogates": "[a](references/%ED%A0%80.md) [b](references/\u202e.md) [c](#%ED%A0%80)",
        "fences": "```\n" * size + "[a](b.md)",
        "comments": "<!--" * size + "[a](b.md)",
        "backticks": "`" * size + " [a](b.md) " + "`" * size,
        "addresses": "https://" * size,
        "headings": "# a\n" * (size // 4) + "[a](#a-99999)",
    }


CASES = [
    pytest.param(name, size, marks=pytest.mark.slow if size == max(SIZES) else [], id=f"{name}-{size}")
    for size in SIZES
    for name in texts(0)
]


@pytest.mark.parametrize(("name", "size"), CASES)
def test_it_comes_to_an_end(name: str, size: int, tmp_path: Path) -> None:
    text = texts(size)[name]
    folder = tmp_path / "skills" / "hostile"
    (folder / "references").mkdir(parents=True)
    (folder / "scripts").mkdir()
    (folder / "SKILL.md").write_text("---\nname: hostile\ndescription: x\n---\n" + text, "utf-8")
    (folder / "references" / "same.md").write_text(text, "utf-8")
    (folder / "scripts" / "a.py").write_text("from . import x\n" + "(" * 300 + text, "utf-8")
    config = config_with(load_config(str(tmp_path)), select=("LI",))
    discovery = discover([str(tmp_path)], config, str(tmp_path))
    run(discovery, config, date(2026, 11, 21), jobs=1, use_cache=False)


class CountingPattern:
    """A pattern that counts the characters it is given to search."""

    def __init__(self, real: re.Pattern[str]) -> None:
        self.real, self.searched = real, 0

    def search(self, text: str) -> re.Match[str] | None:
        self.searched += len(text)
        return self.real.search(text)


@pytest.mark.parametrize("mention", ["`references/{}.md`\n", pytest.param("references/{}.md ", marks=pytest.mark.slow)])
def test_blanks_are_looked_for_once_in_a_text(mention: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many paths one paragraph mentions: each would be held against the whole of it."""
    counting = CountingPattern(re.compile(_intent._GAP.pattern))
    monkeypatch.setattr(_intent, "_GAP", counting)
    config = config_with(load_config(str(tmp_path)), select=("LI",))

    def searched(times: int) -> int:
        body = "".join(map(mention.format, range(times)))
        (tmp_path / "skills/a/references").mkdir(parents=True, exist_ok=True)
        (tmp_path / "skills/a/SKILL.md").write_text(f"---\nname: a\ndescription: x\n---\n{body}", "utf-8")
        before = counting.searched
        run(discover([str(tmp_path)], config, str(tmp_path)), config, date(2026, 11, 21), jobs=1, use_cache=False)
        return counting.searched - before

    assert 0 < searched(80) < 3 * searched(40)


@pytest.mark.parametrize(
    ("pattern", "piece"),
    [
        (_bundle._TARGET, "]("), (_bundle._TARGET, "](<"), (_bundle._DEFINITION, "\n[a"), (_bundle._FENCE, "\n> "),
        (_bundle._FENCE, "\n```"), (_intent._KEBAB, "a"), (_bundle._RUN_OR_BLOCK, "\n> "), (_bundle._RUN_OR_BLOCK, "`"),
        (_intent._MAKES_LISTED, "create"), (broken_command._PROJECT, "./"), (_intent._KEBAB, "a-"),
        (_intent._OTHER, "skill's "), (_intent._SENTENCE, ".  "), (undefined_reference._REFERENCE, "[a]["),
        (undefined_reference._REFERENCE, "[aa"), (dead_url._BARE, "http://"), (dead_url._STAND_IN, "//a."),
        (dead_url._STAND_IN, "my"),
    ],
)  # fmt: skip
def test_patterns_are_linear(pattern: re.Pattern[str], piece: str) -> None:
    def steps(times: int) -> int:
        counted = Counted(pattern.pattern, pattern.flags)
        list(counted.finditer(piece * times))
        return counted.steps

    assert is_linear(steps)


@pytest.mark.parametrize(("pattern", "piece"), [(unknown_skill._HEAD, "a-"), (unknown_skill._TITLE, " ")])
def test_patterns_of_a_start_are_linear(pattern: re.Pattern[str], piece: str) -> None:
    def steps(times: int) -> int:
        counted = Counted(pattern.pattern, pattern.flags)
        counted.match(piece * times)
        return counted.steps

    assert is_linear(steps)


@pytest.mark.parametrize("piece", ["``` `` ` ", "<!--"])
def test_what_is_hidden_is_found_in_linear_time(piece: str) -> None:
    assert is_linear(lambda times: lines_run(lambda: _bundle.Hidden(piece * times).covers(len(piece) * times - 1)))
