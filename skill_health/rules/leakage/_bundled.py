"""The text of a skill: its SKILL.md and the small text files that it bundles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

MAX_FILES = 200

_TEXT = frozenset(
    "md mdx txt rst py pyi sh bash zsh fish ps1 bat js mjs cjs ts tsx jsx json jsonl yaml yml toml ini cfg conf env "
    "properties xml html css sql rb go rs java kt php csv tsv tf tfvars ipynb pem key example tmpl j2".split()
)
_NEAR = 400  # characters of a line, before and after, in which it may say that this is a sample
_TEST_DATA = frozenset(
    "test tests __tests__ testdata test-data fixture fixtures __fixtures__ eval evals results".split()
)
_SHOWN = lazy(
    r"\b(?:examples?|samples?|e\.g|such as|fake|dummy|mock|placeholder|redact\w*|bad|wrong|incorrect|insecure|vulnerable|unsafe"
    r"|leak\w*|hard-?coded|instead of|avoid|do not|don['\u2019]t)\b|\u274c|\u2717|\u2718",
    re.IGNORECASE,
)
_NAMES = frozenset({"Dockerfile", "Makefile", ".env", ".npmrc", ".netrc", ".pypirc", ".envrc"})


def bundled_texts(skill: Skill, context: Context) -> Iterator[tuple[str, str]]:
    """The bundled text files as (path relative to the root, text), at most MAX_FILES of them."""
    named = (file for file in skill.files if _is_text(file))
    for file, _ in zip(named, range(MAX_FILES), strict=False):
        path = skill.path_of(file)
        text = context.read(path)
        if text:
            yield path, text


def all_texts(skill: Skill, context: Context) -> Iterator[tuple[str | None, str]]:
    """SKILL.md, with None for its path as in a Hit, then the bundled text files."""
    yield None, skill.text
    yield from bundled_texts(skill, context)


def span_of(text: str, start: int, end: int) -> Span:
    """The lines and columns of characters `start` to `end` of a text."""
    line, col = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    end_line, end_col = text.count("\n", 0, end) + 1, end - text.rfind("\n", 0, end)
    return Span(line, col, end_line, end_col)


def is_sample(text: str, start: int, path: str | None) -> bool:
    """Whether what begins at `start` is test data, or shown as a sample by its line or the one above."""
    if path is not None and not _TEST_DATA.isdisjoint(path.lower().split("/")[:-1]):
        return True
    above = text.rfind("\n", 0, max(text.rfind("\n", 0, start), 0)) + 1
    if text.startswith(("```", "~~~"), above):
        above = text.rfind("\n", 0, max(above - 1, 0)) + 1
    end = text.find("\n", start)
    return _SHOWN.search(text, max(above, start - _NEAR), min(len(text) if end < 0 else end, start + _NEAR)) is not None


def is_data(path: str | None) -> bool:
    """Whether a bundled file holds data, which nobody reads as instructions."""
    return path is not None and path.lower().endswith((".json", ".jsonl", ".csv", ".tsv", ".ipynb", ".log"))


def _is_text(file: str) -> bool:
    name = file.rpartition("/")[2]
    return name.rpartition(".")[2].lower() in _TEXT if "." in name[1:] else name in _NAMES
