"""Caveats: why a figure must not be taken at face value. They are found here, once; displays only word them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from skill_health.documents.effect_history import ModelEffect
from skill_health.documents.skill_record import MeasuredPair, SkillRouted


class RoutingFacts(NamedTuple):
    """What is known of a routing run, as far as its figures depend on it.

    `selection` is "all" if all prompts were asked, `trusted` False if the instrument check failed, and `retrieved` how
    many skills a first stage left for each prompt, 0 where there was none.
    """

    simulated: bool
    local: bool
    changed: bool
    trusted: bool | None
    selection: str
    preliminary: Sequence[str] = ()
    retrieved: int = 0


class LoadFacts(NamedTuple):
    """What is known of a run of live agents, as far as its figures depend on it.

    `changed` says whether descriptions are others now, or which.
    """

    simulated: bool
    changed: bool | Sequence[str]
    unproved: str
    preliminary: Sequence[str]


@dataclass(frozen=True, slots=True)
class CaveatKind:
    """A caveat in words, and when figures have it.

    `word` is its mark on the page, `meaning` its line in the legend, `phrase` what sentences and tables of text call it
    ("" for the word), and `sign` its character in narrow tables of text ("" for none). `routing`, `effect` and `loads`
    give the reasons, or whether it applies.
    """

    word: str
    meaning: str
    phrase: str = ""
    sign: str = ""
    routing: Callable[[RoutingFacts], bool | Sequence[str]] = lambda _: False
    effect: Callable[[ModelEffect | MeasuredPair], bool | Sequence[str]] = lambda _: False
    loads: Callable[[LoadFacts], bool | Sequence[str]] = lambda _: False


class Caveat(Enum):
    """Every caveat, in the order in which they are shown."""

    SIMULATED = CaveatKind(
        "SIMULATED",
        "made by a script, no model was asked; it shows that the measurement works, not what skills do",
        sign="~",
        routing=lambda run: run.simulated,
        effect=lambda run: run.simulated,
        loads=lambda run: run.simulated,
    )
    LOCAL = CaveatKind(
        "local",
        "a router on this machine that compares words or vectors; no model that agents use",
        "counts words",
        sign="^",
        routing=lambda run: run.local,
    )
    STALE = CaveatKind(
        "stale",
        "the skill or its description has changed since it was measured",
        "out of date",
        sign="*",
        routing=lambda run: run.changed,
        effect=lambda run: bool(run.changed),
        loads=lambda run: run.changed,
    )
    PARTIAL = CaveatKind(
        "subset",
        "measured over a part of the prompts only",
        "some prompts only",
        routing=lambda run: run.selection != "all",
    )
    SHORTLIST = CaveatKind(
        "shortlist",
        "the model saw only the few skills that a free router had found for each request",
        "of a shortlist",
        routing=lambda run: [f"{run.retrieved} skills"] if run.retrieved else False,
    )
    UNTRUSTED = CaveatKind(
        "untrusted",
        "the run failed its own checks: see its report",
        "not to be trusted",
        routing=lambda run: run.trusted is False,
    )
    BIASED = CaveatKind(
        "biased",
        "something was not the same with and without the skill: see its tasks",
        effect=lambda run: run.biased,
    )
    WEAKER_PROOF = CaveatKind(
        "weaker proof",
        "the agent asks its own servers: nobody saw which skills it was offered, and its tokens are its own count",
        sign="?",
        effect=lambda run: [run.unproved] if run.unproved else False,
        loads=lambda run: [run.unproved] if run.unproved else False,
    )
    PRELIMINARY = CaveatKind(
        "preliminary",
        "too few tasks or too wide an interval for a conclusion",
        routing=lambda run: run.preliminary,
        effect=lambda run: run.preliminary,
        loads=lambda run: run.preliminary,
    )

    @property
    def phrase(self) -> str:
        """What sentences call it."""
        return self.value.phrase or self.value.word


class FoundCaveat(NamedTuple):
    """A caveat of a figure, and the reason if one is given."""

    caveat: Caveat
    reason: str = ""

    @property
    def word(self) -> str:
        """Its mark on the page."""
        return self.caveat.value.word


def find_routing_caveats(run: RoutingFacts) -> tuple[FoundCaveat, ...]:
    """The caveats of the figures of a routing run."""
    return _found((caveat, caveat.value.routing(run)) for caveat in Caveat)


def find_skill_caveats(run: SkillRouted) -> tuple[FoundCaveat, ...]:
    """The caveats of a skill's figures in a routing run."""
    facts = RoutingFacts(run.simulated, run.local, bool(run.changed), run.trusted, run.selection)
    return find_routing_caveats(facts._replace(retrieved=run.retrieved))


def find_effect_caveats(run: ModelEffect | MeasuredPair) -> tuple[FoundCaveat, ...]:
    """The caveats of an effect, or of two skills together."""
    return _found((caveat, caveat.value.effect(run)) for caveat in Caveat)


def find_load_caveats(run: LoadFacts) -> tuple[FoundCaveat, ...]:
    """The caveats of how often live agents load skills."""
    return _found((caveat, caveat.value.loads(run)) for caveat in Caveat)


def _found(told: Iterable[tuple[Caveat, bool | Sequence[str]]]) -> tuple[FoundCaveat, ...]:
    return tuple(FoundCaveat(caveat, "" if why is True else "; ".join(why)) for caveat, why in told if why)
