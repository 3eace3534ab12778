"""What a text is about, by how many different words of a field its sentences use."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import is_negated
from skill_health.needs.reading.read import Phrase, SkillReading, phrase
from skill_health.text.patterns import lazy

_LEAST = 0.3

CODE_WORDS = phrase(
    "code|repo|source|working tree|test|pull request|pr|refactor|call site|callsite|project|app|solution",
    r"\b(code ?bases?|(?:git )?repositor(?:y|ies)|repos?|monorepos?|source (?:files?|tree)|working tree|"
    r"existing (?:code|project|application|app|tests?|patterns)|test suites?|pull requests?|prs?|refactor\w*|call ?sites?|"
    r"(?:your|user's|this|target|current|whole|entire) (?:code|project|app|application|solution)|"
    r"project (?:root|files?|director(?:y|ies))|unit tests?|regression tests?|failing tests?|tests? (?:pass|fail)\w*|"
    r"run (?:the |all )?tests)\b",
)
"""Words of work on a code base."""


def theme_signs(reading: SkillReading, words: Phrase, weight: float) -> Iterator[Sign]:
    """A sign for each place that uses a word of a field; different words add up, the same one hardly does."""
    for statement in reading.statements_with(words.anchors):
        if statement.weight < _LEAST:
            continue
        for match in words.pattern.finditer(statement.text):
            if not is_negated(statement.text, match.start(), match.end()):
                subject = _PLURAL.sub("", " ".join(match[1].split()))
                yield reading.sign(
                    weight * min(1.0, statement.weight), EvidenceKind.SENTENCE, subject, statement.line, statement.shown
                )


_PLURAL = lazy(r"(?<=[a-z]{2})s$")
