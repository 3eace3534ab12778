"""Rules over a collection whose summaries are made at each access: the same findings, and few summaries at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.config.settings import Config
from skill_health.lint.check import CorpusFiles
from skill_health.registries.records import Registries
from skill_health.rules._api import Corpus, Hit, SkillSummary
from skill_health.rules._load import all_rules
from skill_health.skill.model import Span

ROUTING = [rule for rule in all_rules() if rule.check_corpus and rule.family == "routing"]
names = st.sampled_from(
    "code-review code-reviews review-code codereview Code-Review code-revue release-notes notes-release pdf-forms v1 v2".split()
)
words = st.sampled_from("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda code-review".split())
descriptions = st.lists(words, min_size=4, max_size=9).map(" ".join)
homes = st.sampled_from(["skills", "plugins/a/skills", ""])
collections = st.lists(st.tuples(homes, names, descriptions, st.booleans()), max_size=14)


class Rebuilt(Sequence[SkillSummary]):
    """Makes each summary at each access, and notes how many of those made before are still held by others then."""

    def __init__(self, skills: Sequence[SkillSummary]) -> None:
        self.skills, self.most = skills, 0
        self.held: list[SkillSummary] = []
        (self.idle,) = (sys.getrefcount(each) for each in [SkillSummary(*skills[0])]) if skills else (0,)

    def __len__(self) -> int:
        return len(self.skills)

    def __getitem__(self, at: Any) -> Any:
        """A new summary."""
        self.held = [each for each in self.held if sys.getrefcount(each) > self.idle]
        self.held.append(SkillSummary(*self.skills[at]))
        self.most = max(self.most, len(self.held))
        return self.held[-1]


def summary(at: int, home: str, name: str, description: str, hidden: bool = False) -> SkillSummary:
    """A summary of a skill in a folder of its own."""
    folder = f"{home}/s{at:04}" if home else f"s{at:04}"
    span = Span(2, 1, 2, 9)
    return SkillSummary(f"{folder}/SKILL.md", folder, name, description, span, span, "", hidden, {})


def hits(code: str, corpus: Corpus) -> list[Hit]:
    """What one rule says."""
    context = CorpusFiles("/", Config(), Registries(), date(2026, 11, 1))
    rule = next(rule for rule in ROUTING if rule.code == code)
    assert rule.check_corpus is not None
    return list(rule.check_corpus(corpus, context))


@given(collections, st.none() | st.sets(st.integers(0, 13)))
def test_findings_are_those_of_a_tuple(skills: list[Any], shown: set[int] | None) -> None:
    made = sorted((summary(at, *skill) for at, skill in enumerate(skills)), key=lambda skill: skill.path)
    wanted = None if shown is None else frozenset(skill.path for at, skill in enumerate(made) if at in shown)
    for rule in ROUTING:
        expected = hits(rule.code, Corpus(tuple(made), wanted))
        assert hits(rule.code, Corpus(Rebuilt(made), wanted)) == expected


@pytest.mark.parametrize("code", [rule.code for rule in ROUTING])
def test_few_summaries_are_held_at_once(code: str) -> None:
    """However many skills there are; of those reported a bounded number is kept to be looked at again."""
    letters = "abcdefghijklmnopqrst"
    plain = [
        summary(at, "skills", f"skill-{letters[at % 20]}-{letters[at // 20]}", f"Sorts {' '.join(_words(at))}.")
        for at in range(400)
    ]
    alike = [summary(400 + at, "skills", f"twin-{letters[at]}", f"Finds {' '.join(_words(7))}.") for at in range(20)]
    skills = Rebuilt(plain + alike)
    hits(code, Corpus(skills))
    assert skills.most <= 80


def _words(at: int) -> list[str]:
    return [f"word{(at * 37 + n * n * 11) % 997}" for n in range(12)]


def test_counts_of_similar_descriptions() -> None:
    """A pair that is both alike and contained counts once."""
    texts = ["alpha beta gamma delta epsilon zeta eta"] * 3 + ["alpha beta gamma delta epsilon zeta eta theta"]
    found = hits("RT003", Corpus(tuple(summary(at, "skills", f"n{at}", text) for at, text in enumerate(texts))))
    messages = [hit.message for hit in found]
    assert len(messages) == 3
    assert not any("more" in message for message in messages)
    assert "says the same as that of 'n0'" in messages[0]


def test_what_is_held_is_counted() -> None:
    skills = Rebuilt([summary(at, "skills", f"n{at}", "alpha") for at in range(100)])
    assert [skill.name for skill in skills][99] == "n99"
    assert skills.most <= 3
    assert len({id(skill) for skill in list(skills)}) == 100
    assert skills.most >= 99
