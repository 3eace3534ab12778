"""Structure rules and measurements over long repeats: no expression and no loop of theirs may be superlinear."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from growth import is_linear, lines_run

from skill_health.config.settings import Config
from skill_health.lint.check import FileContext
from skill_health.registries.records import Registries
from skill_health.rules._load import all_rules
from skill_health.rules.structure import retired_model
from skill_health.skill.measure import measure
from skill_health.skill.parse import parse_skill

REPEATS = [
    ": ", "[TODO ", "TODO\n\n", "- TBD\n", "as of ", "as of may ", "before january ", "latest version is ", "currently in ",
    "recently ", "gpt-", "o1-", "claude-3-opus-20240229 ", "replace with your ", "<your ", "your text ", "## Gotchas\n",
    "## A\n", "# A\n\n", "- a\n", "1. a\n", "> ```\n", "[a](a/b/c/d.md) ", "| TODO ", "**a** b\n\n", "\u3042", "<!-- a -->",
]  # fmt: skip
RULES = [rule for rule in all_rules() if rule.family in ("structure", "authoring") and rule.check]


@pytest.mark.parametrize("repeat", REPEATS)
def test_long_repeats(repeat: str, tmp_path: Path) -> None:
    context = FileContext(str(tmp_path), Config(), Registries())

    def lines(times: int) -> int:
        text = "---\nname: a\ndescription: b\n---\n" + repeat * times
        skill = parse_skill(text.encode(), "skills/a/SKILL.md", "a", ("references/x.md", "references/y.md"))
        return lines_run(lambda: [measure(skill), *(list(rule.check(skill, context)) for rule in RULES)])

    assert is_linear(lines)


def test_a_line_full_of_retired_models_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of the whole line for each of them made minutes of 300 KB."""
    searched = Counter[str]()

    class Counting:
        def __init__(self, name: str) -> None:
            self.name, self.pattern = name, getattr(retired_model, name)

        def search(self, *given: Any) -> Any:
            searched[self.name] += 1
            return self.pattern.search(*given)

    for name in ("_HISTORY", "_HANDED"):
        monkeypatch.setattr(retired_model, name, Counting(name))
    skill = parse_skill(
        ("---\nname: a\ndescription: b\n---\n" + "gpt-3.5-turbo-0301 " * 50).encode(), "skills/a/SKILL.md"
    )
    context = FileContext("/nonexistent", Config(), Registries())
    assert len(list(retired_model.check(skill, context))) == 1
    assert searched == {"_HISTORY": 1, "_HANDED": 1}
