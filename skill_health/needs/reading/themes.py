"""What a text is about, by how many different subjects of a field its sentences name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import is_negated
from skill_health.needs.reading.read import SkillReading

_LEAST = 0.3

Theme = tuple[tuple[str, str], ...]
"""The subjects of a field, each with the words for it, as a pattern in lower case."""

CODE: Theme = (
    ("a code base", r"code ?bases?|monorepos?"),
    ("a repository", r"(?:git )?repositor(?:y|ies)|repos?|working tree"),
    ("source files", r"source (?:files?|tree)|project files?"),
    ("existing code", r"existing (?:code|project|application|app|tests?|patterns|files)"),
    (
        "tests",
        r"test suites?|unit tests?|regression tests?|failing tests?|tests? (?:pass|fail)\w*|run (?:the |all )?tests",
    ),
    ("a pull request", r"pull requests?|prs?|code reviews?"),
    ("refactoring", r"refactor\w*|call ?sites?|dead code"),
    (
        "the project",
        r"(?:your|user's|this|target|current|whole|entire) (?:code|project|app|application|solution)|project (?:root|director(?:y|ies))",
    ),
)


@cache
def _pattern(theme: Theme) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(f"({words})" for _, words in theme) + r")\b")


def theme_signs(reading: SkillReading, theme: Theme, weight: float) -> Iterator[Sign]:
    """A sign for each place that names a subject of a field: different subjects add up, the same one hardly does."""
    for statement in reading.statements:
        if statement.weight < _LEAST:
            continue
        for match in _pattern(theme).finditer(statement.text):
            if not is_negated(statement.text, match.start(), match.end()):
                subject = theme[(match.lastindex or 1) - 1][0]
                strength = weight * min(1.0, statement.weight)
                yield reading.sign(strength, EvidenceKind.SENTENCE, subject, statement.line, statement.shown)
