"""Every defect that reading records is reported, by one rule and no other."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from skill_health.config.settings import Config
from skill_health.rules._load import all_rules
from skill_health.skill.model import Defect, Frontmatter, Skill, Span
from skill_health.skill.parse import DEFECTS

CONTEXT = SimpleNamespace(config=Config(), exists=lambda path: False)

# What no rule of its own reports is FM029's, which reports the others only where they are switched off.
RULES = [rule for rule in all_rules() if rule.family == "frontmatter" and rule.code != "FM029"]


@pytest.mark.parametrize("kind", DEFECTS)
def test_a_defect_has_one_rule(kind: str) -> None:
    defect = Defect(kind, Span(3, 7, 3, 8), "what is wrong")
    lines = ("---", "name: tidy", "description: Tidies lists. Use when needed.", "---")
    skill = Skill(
        "skills/tidy/SKILL.md", "skills/tidy", "tidy", "SKILL.md",
        text="\n".join(lines), lines=lines, frontmatter=Frontmatter(Span(2, 1, 3, 44), ()), defects=(defect,),
    )  # fmt: skip
    hits = {
        rule.code: hit
        for rule in RULES
        if rule.check
        for hit in rule.check(skill, CONTEXT)  # type: ignore[arg-type]
        if hit.message == defect.message
    }
    assert len(hits) == 1, hits
    (hit,) = hits.values()
    assert hit.span == defect.span
    assert hit.help.endswith(".")


def test_the_parser_names_each_kind_once() -> None:
    assert len(set(DEFECTS)) == len(DEFECTS)
