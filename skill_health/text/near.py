"""Finds the word that was probably meant, and lists names in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known word most like `word` (difflib's ratio at least `cutoff`); "" if none is, or if it is not a word.

    difflib is imported here because it is slow to load and near misses are rare.
    """
    if len(word) > 128:
        return ""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, sorted(known), 1, cutoff)), "")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a sentence about a word that is not known: "; did you mean 'that'?", "" where none is like it."""
    near = nearest(word, known)
    return f"; did you mean {near!r}?" if near else ""


_SHOWN = 3


def either(names: Sequence[str]) -> str:
    """The first few alternatives, joined by "or", and how many more there are."""
    shown = [*names[:_SHOWN], *([f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else [])]
    return f"{', '.join(shown[:-1])} or {shown[-1]}"


def list_some(names: Sequence[str], most: int = 3) -> str:
    """The first few names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
