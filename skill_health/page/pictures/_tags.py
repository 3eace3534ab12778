"""What a title and an alternative text say of the runs that a picture rests on: SIMULATED, stale, preliminary, …"""

from __future__ import annotations

from collections.abc import Collection, Sequence

WORDS = ("SIMULATED", "untrusted", "stale", "biased", "preliminary", "subset")
"""The marks in the order of their weight."""
_FALSE = "SIMULATED figures come from a script that was run in place of a model, and say nothing about any model."


def _parts(marked: Sequence[Collection[str]]) -> tuple[list[str], list[str]]:
    """The marks that all have, and those that some have."""
    counts = {word: sum(word in own for own in marked) for word in WORDS}
    every = [word for word, count in counts.items() if count and count == len(marked)]
    return every, [word for word, count in counts.items() if 0 < count < len(marked)]


def tag(marked: Sequence[Collection[str]]) -> str:
    """What a title says at its end: " (preliminary; in part SIMULATED)"; `marked` has the words of each measurement."""
    every, some = _parts(marked)
    told = "; ".join(filter(None, (", ".join(every), f"in part {', '.join(some)}" if some else "")))
    return f" ({told})" if told else ""


def warning(marked: Sequence[Collection[str]]) -> str:
    """The sentences of an alternative text; "" without marks."""
    every, some = _parts(marked)
    told = f" All of it is {', '.join(every)}." if every else ""
    told += f" In part it is {', '.join(some)}." if some else ""
    return f"{told} {_FALSE}" if "SIMULATED" in (*every, *some) else told
