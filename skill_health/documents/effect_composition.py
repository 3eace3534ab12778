"""What a run says of two skills together, and what their collection says of them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from skill_health.documents._record import Count, FullFigure, Name, OpenRecord, Record, Share

PairWord = Literal["synergistic", "additive", "redundant", "conflicting", "inconclusive", "not testable"]
PairTruth = Literal["true", "contradicted", "not shown", "not testable"]
PairSource = Literal["frontmatter", "section", "sentence", "link"]


class DeclaredTogether(OpenRecord, frozen=True, kw_only=True):
    """One place where a skill says that it works with another."""

    skill: str
    """The skill that says so."""
    other: str
    """The skill that it names."""
    path: str
    """The file, relative to the collection."""
    line: Annotated[int, Meta(ge=1)]
    source: PairSource
    """A key of the frontmatter, a section on related skills, a sentence, or a link to the other skill's file."""
    quote: str
    """The line, with one space for each run of white space, cut where it is long."""


class TriedPair(OpenRecord, frozen=True, kw_only=True):
    """Two skills that are tried alone and together."""

    skills: tuple[Name, Name]
    """Their names, sorted."""
    declared: tuple[DeclaredTogether, ...] = ()
    """Where the collection says that they work together; empty where only the user named them."""


class PairRates(Record, frozen=True, kw_only=True):
    """The share of trials that passed in each cell, over the tasks that have all of them."""

    control: FullFigure
    """Without any skill."""
    first: FullFigure
    second: FullFigure
    together: FullFigure
    """With both, in either order of listing."""


class PairEffects(Record, frozen=True, kw_only=True):
    """Differences of success rates, paired by task; p is that of the sign-flip test, without a correction."""

    first_alone: FullFigure
    """The first skill less none."""
    second_alone: FullFigure
    """The second skill less none."""
    over_first: FullFigure
    """Both less the first alone: what the second adds to it."""
    over_second: FullFigure
    """Both less the second alone."""
    main_first: FullFigure
    """The main effect of the first: the mean of what it adds to none and to the second."""
    main_second: FullFigure
    """The main effect of the second."""


class PairEquivalence(Record, frozen=True, kw_only=True):
    """Whether the interaction is shown to lie within the margin."""

    margin: Share
    p: Share | None
    """The larger p of two one-sided t tests; null where there is none."""
    low: float | None
    """The lower end of the 90 % interval that goes with them."""
    high: float | None
    """The upper end."""


class PairVerdict(Record, frozen=True, kw_only=True):
    """What the rules say of two skills together."""

    word: PairWord
    """The verdict, by the rules in docs/statistics.md."""
    reason: str
    """What decided, in one sentence."""
    notes: tuple[str, ...] = ()
    """What to mind beside it."""
    preliminary: tuple[str, ...] = ()
    """Why it is preliminary; empty where it is not."""


class PairComposition(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Two skills by one model: none, either one, both."""

    first: str
    """The skill whose name sorts first."""
    second: str
    variant: str
    """What the arms have beside the skills: +hint, or empty for nothing."""
    arms: tuple[str, ...]
    """The arms that are compared: control, first, second, then both in each order that was tried."""
    tasks: Count
    """Tasks with a scored trial in all of these arms."""
    differing: Count
    """Tasks of these whose interaction is not zero."""
    of_first: Count
    """Tasks of these that only the first skill is meant for."""
    of_second: Count
    """Tasks that only the second is meant for."""
    of_both: Count
    """Tasks that both are meant for."""
    missing: Count
    """Planned trials of these arms that are not scored."""
    rates: PairRates
    effects: PairEffects
    interaction: FullFigure
    """Both less the first less the second plus none, on the scale of success rates, -2 to 2: zero where effects add up.

    p is that of the sign-flip test.
    """
    independence: FullFigure
    """Failures of the first times failures of the second, less those of none times those of both: zero where either
    skill saves the same share of failures whether the other is there or not (Bliss), above it where both do better.
    """
    order: FullFigure | None
    """The first listed first, less the second listed first; p_adjusted is Holm's over pairs and models. null where one
    order was tried.
    """
    equivalence: PairEquivalence
    p_adjusted: Share | None
    """The p of the verdict's word after Holm's correction over pairs and models; null for a word that has no test."""
    verdict: PairVerdict
    declared: tuple[DeclaredTogether, ...] = ()
    """What the collection says of the two."""
    truth: PairTruth | None = None
    """Whether what it says is true: that both together do better than either one. null where it says nothing."""
    truth_p_adjusted: Share | None = None
    """The larger p of both being better than either one alone, after Holm's correction."""
