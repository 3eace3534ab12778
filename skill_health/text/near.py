"""The word that was probably meant, and several words in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known word most like `word` (difflib's ratio at least `cutoff`); "" where none is, or it is no word at all.

    difflib is slow to load, and a near miss is rare: it is imported here.
    """
    if len(word) > 128:
        return ""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, sorted(known), 1, cutoff)), "")


_SHOWN = 3


def either(names: Sequence[str]) -> str:
    """Some of the names that a label may mean, as a message says them."""
    shown = [*names[:_SHOWN], *([f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else [])]
    return f"{', '.join(shown[:-1])} or {shown[-1]}"


def list_some(names: Sequence[str], most: int = 3) -> str:
    """The first few names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")
