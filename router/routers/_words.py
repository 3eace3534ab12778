"""The words that a prompt shares with a skill, for the rationale of the routers that go by words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

_MOST = 8


def shared_words(
    split: Callable[[str], Iterable[str]], words: Mapping[str, Collection[str]]
) -> Callable[[str, str], str]:
    """How to name what a text has in common with the `words` of a skill; `split` cuts a text into words."""

    def explain(text: str, name: str) -> str:
        held = words.get(name, ())
        common = [word for word in dict.fromkeys(split(text)) if word in held]
        return f"shares {', '.join(common[:_MOST])}{' ...' if len(common) > _MOST else ''}" if common else ""

    return explain


def by_name(names: Sequence[str], texts: Sequence[Iterable[str]]) -> dict[str, frozenset[str]]:
    """The words of each name: those of all texts that bear it."""
    found: dict[str, frozenset[str]] = {}
    for name, words in zip(names, texts, strict=True):
        found[name] = found.get(name, frozenset()).union(words)
    return found
