"""Descriptions that are left over from YAML or from a template."""

from __future__ import annotations

_LEFTOVERS = frozenset(
    "> | >- |- >+ |+ ~ null none nil undefined nan todo tbd fixme xxx n/a na - -- ... … [] {} \"\" '' "
    "description placeholder string text".split()
)
_PLACEHOLDERS = tuple("todo: [todo <todo {todo {{todo [description <description {description {{description".split())


def is_leftover(description: str) -> bool:
    """Whether the whole description is a block marker, a word such as null, or a placeholder."""
    text = description.strip().lower()
    return text.rstrip(".!") in _LEFTOVERS or text in _LEFTOVERS or text.startswith(_PLACEHOLDERS)
