"""The report of an activation run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from msgspec import field

from skill_health.core.files import blake2b
from skill_health.documents._record import Amount, CommitText, Count, Figure, Name, Record, RunIdText, TimeText

PromptClass = Literal["skill", "none", "near_miss"]
ListPart = Literal["first third", "middle third", "last third"]
PlaceStep = Literal["1", "2 to 3", "4 or later", "not ranked"]


class ActivationReport(Record, frozen=True, kw_only=True):
    """report.json of a run: how often agents load the skill that they should, and another one or none."""

    ID: ClassVar = "skill-health/activation-report/1"

    schema: Literal["skill-health/activation-report/1"]
    run_id: RunIdText
    created: TimeText
    commit: CommitText | None
    """The commit of the collection; null outside git."""
    dirty: bool | None
    """Whether files of the collection differed from the commit; null where that is not known."""
    tool_version: str
    seed: int
    replications: Count
    turns: Count
    """After so many answers of its model an agent that has opened no skill is taken to open none."""
    delivery: str
    sandbox: str
    sizes: tuple[Count, ...]
    """How many skills were staged; the last is the whole collection, which all figures are of unless they say a size.
    """
    skills: Count
    """How many skills the collection has."""
    listing: Mapping[str, str]
    """A hash of the description of each skill, by its name: what agents decided on."""
    prompts: ActivationPrompts
    clustering: Literal["skill", "prompt"]
    """What is taken to be independent: skills with all their prompts, or prompts where too few skills are asked for."""
    statements: tuple[str, ...]
    """What holds for every such report."""
    notes: tuple[str, ...]
    """What is particular about this run."""
    isolation: IsolationProof
    routers: tuple[RouterBeside, ...]
    """The routers that ranked the same skills for the same prompts."""
    models: tuple[ModelActivation, ...]
    requests: tuple[PromptActivation, ...]
    """Each prompt, with what agents loaded and where routers put its skill."""


class ActivationPrompts(Record, frozen=True, kw_only=True):
    """How many prompts there are of which kind; one that expects a skill may name near misses as well."""

    total: Count
    skill: Count
    """Those that expect a skill."""
    none: Count
    """Those for which no skill applies."""
    near_miss: Count
    """Those that name a skill which must not fire."""


class IsolationProof(Record, frozen=True, kw_only=True):
    """What shows that no request could see anything of another one."""

    calls: Count
    """Requests that were made."""
    proved: Count
    """Those before which all that lay in the workspace had the hash of a control workspace that no agent ever was in.
    """
    reused: Count
    """Those in a workspace that had served another request before."""
    renewed: Count
    """Those before which a used workspace was given up, because it was not as it had been."""
    seen: Count
    """Those whose first request to the model was looked through: all skills in it, and no other prompt."""
    trees: Count
    """How many different hashes there were: one for each agent and set of skills."""


class RouterBeside(Record, frozen=True, kw_only=True):
    """A router's ranking of the same prompts."""

    router: Name
    source: str
    """The run that it comes from; empty for one that was computed over the listing of this run."""
    top1: Figure
    """Of the prompts that expect a skill, those for which it comes first."""


class ActivationMetrics(Record, frozen=True, kw_only=True):
    """How often the right thing was loaded first, over the requests of which that can be told."""

    recall: Figure
    """Where a skill is expected, it is the first that is opened."""
    accepted: Figure
    """Where a skill is expected, it or an acceptable one is the first that is opened."""
    precision: Figure
    """Of the first skills that are opened, those that are expected or acceptable."""
    other_first: Figure
    """Where a skill is expected, another one that is not acceptable is opened first."""
    silent: Figure
    """Where a skill is expected, none is opened."""
    false_fire_none: Figure
    """Where no skill applies, one that is not acceptable is opened."""
    false_fire_near: Figure
    """Where a skill must not fire, it is the first that is opened."""


class SizeActivation(Record, frozen=True, kw_only=True):
    """The same with so many skills staged."""

    size: Count
    metrics: ActivationMetrics


class PlaceActivation(Record, frozen=True, kw_only=True):
    """The recall of skills that stand in one part of the list that the model is shown."""

    part: ListPart
    recall: Figure


class LoadCell(Record, frozen=True, kw_only=True):
    """How often a class was opened first where another, or the same, was expected."""

    expected: str
    """A skill, or none."""
    first: str | None
    """A skill, or none; null where it cannot be told."""
    calls: Count
    prompts: Count


class SkillActivation(Record, frozen=True, kw_only=True):
    """One skill in the eyes of one agent."""

    skill: Name
    prompts: Count
    """Prompts that expect it."""
    recall: Figure
    precision: Figure
    """Of the requests in which it was opened first, those for which it is expected or acceptable."""
    false_fire_near: Figure
    """Where it must not fire, it is the first that is opened."""
    opened: Count
    """How often it was opened first."""
    instead: Mapping[str, Count] = field(default_factory=dict)
    """What was opened first where it was expected, and how often; none for nothing."""


class CalibrationStep(Record, frozen=True, kw_only=True):
    """How often agents load a skill that a router puts at such a place."""

    place: PlaceStep
    recall: Figure


class ActivationCalibration(Record, frozen=True, kw_only=True):
    """How well a router's ranking tells what a live agent loads, over prompts that expect a skill."""

    router: Name
    prompts: Count
    """Prompts with a ranking and a known outcome."""
    place_correlation: Figure
    """Rank correlation (Spearman) of the place of the expected skill, the first counted highest, with its live recall.
    """
    place_auc: Figure
    """How often the place of a skill that was loaded is ahead of that of one that was not (0.5: it tells nothing)."""
    margin_correlation: Figure
    """The same of the lead of its score over the best other one."""
    margin_auc: Figure
    fire_auc: Figure
    """Where no skill applies: how often the best score is higher where an agent fires than where it does not."""
    steps: tuple[CalibrationStep, ...]


class ModelActivation(Record, frozen=True, kw_only=True):
    """One agent with its model."""

    model: Name
    agent: str
    agent_version: str | None
    resolved: tuple[str, ...]
    """The models that the provider named."""
    simulated: bool
    unproved: str = ""
    """What nobody sees of an agent that asks servers of its own; empty for all others."""
    planned: Count
    scored: Count
    """Requests in which the agent had its chance."""
    known: Count
    """Those of which it can be told what was opened."""
    cannot_tell: Mapping[str, Count]
    """The others, by the reason."""
    missing: Mapping[str, Count]
    """Requests without a score, by what became of them."""
    outcomes: Mapping[str, Count]
    metrics: ActivationMetrics
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Between which values a metric of this run lies, whatever was opened where it cannot be told; only where some
    cannot.
    """
    sizes: tuple[SizeActivation, ...]
    places: tuple[PlaceActivation, ...]
    fixed_order: bool
    """Whether the agent lists skills in one order always: then place and skill cannot be told apart."""
    confusion: tuple[LoadCell, ...]
    skills: tuple[SkillActivation, ...]
    calibration: tuple[ActivationCalibration, ...]
    cost_usd: Amount | None
    """Dollars of all requests; null where one is not known."""
    seconds: Figure
    """Seconds of a request: the median."""
    preliminary: tuple[str, ...]
    """Why its figures must be taken with care."""


class PromptActivation(Record, frozen=True, kw_only=True):
    """One prompt: what was loaded first, and where routers put the skill that it expects."""

    prompt_id: Name
    text: str
    classes: tuple[PromptClass, ...]
    expected: str | None
    acceptable: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    models: tuple[PromptLoads, ...] = ()
    routers: tuple[RoutedPlace, ...] = ()


class PromptLoads(Record, frozen=True, kw_only=True):
    """What one agent opened first, over its replications, with the whole collection."""

    model: Name
    first: Mapping[str, Count]
    """How often each skill, or none."""
    cannot_tell: Count = 0
    missing: Count = 0


class RoutedPlace(Record, frozen=True, kw_only=True):
    """Where a router puts the expected skill of a prompt."""

    router: Name
    first: str | None
    """What it puts first; null for nothing."""
    place: Amount | None
    """The place of the expected skill, from 1 (its mean over replications); null where it is not ranked or none is
    expected.
    """
    margin: float | None
    """Its score less the best other one; null where the router has none."""
    best: float | None
    """The best score of all; null where the router has none."""


def description_digest(text: str) -> str:
    """A hash of a description, whatever white space is between its words: 16 hexadecimal digits."""
    return blake2b(" ".join(text.split()).encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
