"""What keeps the figures of a picture from being taken at their word: SIMULATED, stale, preliminary, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from skill_health.documents.caveats import Caveat, FoundCaveat
from skill_health.page.model import NumberTable, Picture
from skill_health.text.near import list_some

_TOLD = [caveat.value.word for caveat in Caveat if caveat is not Caveat.LOCAL]
"""The marks that are told: of a local router its name says it."""
_FALSE = "SIMULATED figures come from a script that was run in place of a model, and say nothing about any model."


class Caveated(Protocol):
    """A measurement: of what, and with which marks."""

    @property
    def subject(self) -> str:
        """The model or the skill."""
        ...  # pragma: no cover

    @property
    def marks(self) -> tuple[FoundCaveat, ...]:
        """Its marks, with their reasons."""
        ...  # pragma: no cover


def mark_words(measurement: Caveated) -> str:
    """The marks of a measurement as one text."""
    return ", ".join(mark.word for mark in measurement.marks)


def _shared(measurements: Sequence[Caveated]) -> tuple[list[str], list[str]]:
    """The marks that all have, and those that some have."""
    counts = {word: sum(word in {mark.word for mark in each.marks} for each in measurements) for word in _TOLD}
    every = [word for word, count in counts.items() if count and count == len(measurements)]
    return every, [word for word, count in counts.items() if 0 < count < len(measurements)]


def title_suffix(measurements: Sequence[Caveated]) -> str:
    """What a title says at its end: " (preliminary; in part SIMULATED)"."""
    every, some = _shared(measurements)
    words = "; ".join(filter(None, (", ".join(every), f"in part {', '.join(some)}" if some else "")))
    return f" ({words})" if words else ""


def caveat_sentences(measurements: Sequence[Caveated]) -> str:
    """The sentences of an alternative text; "" without marks."""
    every, some = _shared(measurements)
    words = f" All of it is {', '.join(every)}." if every else ""
    words += f" In part it is {', '.join(some)}." if some else ""
    return f"{words} {_FALSE}" if Caveat.SIMULATED.value.word in every + some else words


def caveat_note(measurements: Sequence[Caveated]) -> str:
    """A sentence for each mark: which measurements have it ("all" of many), and why where there are few."""
    few = len(measurements) < 4
    subjects: dict[str, list[str]] = {}
    for each in measurements:
        for mark in each.marks:
            why = f" ({mark.reason})" if mark.reason and few else ""
            subjects.setdefault(mark.word, []).append(each.subject + why)
    notes = []
    for word in (word for word in _TOLD if word in subjects):
        every = not few and len(subjects[word]) == len(measurements)
        notes.append(
            f"{word[0].upper()}{word[1:]}: {'all' if every else list_some(list(dict.fromkeys(subjects[word])), 4)}."
        )
    return " ".join(notes)


def caveated_picture(
    name: str,
    title: str,
    alt: str,
    spec: Mapping[str, Any],
    table: NumberTable,
    question: int,
    measurements: Sequence[Caveated],
    *notes: str,
) -> Picture:
    """A picture of measurements, with their caveats in its title, its alternative text and its note."""
    note = " ".join(filter(None, (*notes, caveat_note(measurements))))
    own, told = f"{title}{title_suffix(measurements)}", f"{alt}{caveat_sentences(measurements)}"
    return Picture(name, own, told, spec, table, question, note)
