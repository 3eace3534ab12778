"""A skill that nobody has, requests that only it can answer, and requests that no skill is for.

What is invented stays invented: the words of the sentinel occur in no collection. The requests that need no skill are
of three sorts, so that a skill which rightly answers one sort (questions, greetings) takes at most one of three.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from skill_health.router.records import Catalogue, ListedSkill, Prompt
from skill_health.text.similarity import STOP, terms

NAME = "zorbulent-quaffler-tuning"
DESCRIPTION = (
    "Retunes zorbulent quafflers: resets the quaffle phase, balances the zorbule vanes and explains glimmet codes. "
    "Use when a request is about a zorbulent quaffler, a quaffle phase, zorbule vanes or a glimmet code."
)
WANTED = (
    "Our zorbulent quaffler drifts after an hour. How do we reset its quaffle phase?",
    "The quaffler shows glimmet code 7 and its zorbule vanes rattle. What has to be balanced?",
    "Please retune the zorbulent quaffler in hall 3: the zorbule vanes were replaced and the quaffle phase is off.",
)
UNWANTED = (
    (
        "Hello there, nice to meet you.",
        "Good evening to you, and a pleasant weekend.",
        "Thanks a lot, you are very kind.",
    ),
    ("Hmm hmm, la la la, tum tee tum.", "Ooh, aah, oh well, heigh-ho.", "Brrr, phew, ouch, ahem, yawn."),
    (
        "How many legs does a spider have?",
        "Which planet is closest to the sun?",
        "What is the capital of Australia?",
        "Who wrote the play Hamlet?",
    ),
)
"""One request of each sort is taken: the one that shares the fewest words with the collection."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A catalogue with the sentinel, and the prompts that are asked of it; `name` is the sentinel's name in it."""

    catalogue: Catalogue
    prompts: tuple[Prompt, ...]
    name: str


def plant(catalogue: Catalogue, none_allowed: bool) -> Planted:
    """Put the sentinel into a catalogue; without requests that need no skill where the answer cannot say so."""
    taken = {*catalogue.names, *(skill.name for skill in catalogue.omitted)}
    name = NAME
    while name in taken:
        name += "-2"
    sentinel = ListedSkill(name=name, text=DESCRIPTION, description=DESCRIPTION, body=DESCRIPTION, when=DESCRIPTION)
    prompts = [Prompt(f"check:sentinel-{at}", text, name) for at, text in enumerate(WANTED, 1)]
    if none_allowed:
        words = {word for skill in catalogue.shown for word in _words((skill.name, skill.text))}
        chosen = (min(sort, key=lambda text: len(words.intersection(_words((text,))))) for sort in UNWANTED)
        prompts += [Prompt(f"check:none-{at}", text, None) for at, text in enumerate(chosen, 1)]
    return Planted(replace(catalogue, shown=(*catalogue.shown, sentinel)), tuple(prompts), name)


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in terms(text.replace("_", " "), STOP)}
