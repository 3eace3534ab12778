"""A router report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType, field

from skill_health.documents._record import Count, Figure, Record, Share
from skill_health.documents.router_manifest import FrozenSelection, FrozenTemplate, LabelGap, RouterKind

Untested = Literal["label_only", "null_not_allowed", "unknown_skill"]


class RouterReport(Record, frozen=True, kw_only=True):
    """report.json of a run, and what `skill-health router report --format json` prints: everything known of a run."""

    ID: ClassVar = "skill-health/router-report/1"

    schema: Literal["skill-health/router-report/1"]
    run: ReportedRun
    statements: tuple[str, ...]
    """What holds for every report of this run."""
    notes: tuple[str, ...]
    """What is particular about it."""
    check: CheckVerdicts | None
    counts: RouterCounts
    effect: float
    """The difference in top-1 that the run is about."""
    models: tuple[ModelRoutingReport, ...]
    """The best top-1 first."""
    comparisons: tuple[ModelPair, ...]
    """Every pair of models."""
    agreement: Figure
    """Fleiss' kappa of the models' most frequent first answers, over the prompts that all answered."""
    gaps: tuple[LabelGap, ...]
    """Skills whose file says what their description does not; empty where that was not looked for."""
    length: Figure
    """Change of the log odds of a right answer for each 100 characters more of the right description, all models."""
    steals: StealCounts
    skills: tuple[SkillRoutingReport, ...]
    confusion: tuple[ConfusionCell, ...]
    """Over all models, the cells that are not 0."""
    pairs: tuple[ConfusedPair, ...]
    """The 200 most frequent confusions of two skills."""
    prompts: tuple[PromptReport, ...]
    """All prompts in the run's order."""
    retrieval: RetrievalReport | UnsetType = UNSET
    """The first stage, where models saw only what it left."""
    shared: tuple[SharedName, ...] = ()
    """The names that several skills are listed by."""


class RetrievalReport(Record, frozen=True, kw_only=True):
    """How often the first of two stages leaves the right skill for the second to choose."""

    k: Count
    """How many skills each prompt is shown."""
    router: str
    """The free router."""
    index: str
    """What it reads of a skill."""
    recall: tuple[RecallAt, ...]
    """For a few depths and for k, over the prompts for which a skill applies."""


class RecallAt(Record, frozen=True, kw_only=True):
    """The share of prompts whose right skill is among the first so many."""

    depth: Count
    prompts: Figure
    """With an interval over prompts: for more prompts of these skills."""
    skills: Figure
    """The same share with an interval over skills: for other skills."""


class StageFigures(Record, frozen=True, kw_only=True):
    """The second of two stages, over calls for which a skill applies; retrieved x ranked is product."""

    retrieved: Figure
    """The share of calls whose right skill was retrieved."""
    ranked: Figure
    """Where it was, the share of calls in which it comes first."""
    product: Figure
    """Both together: the share of calls in which it comes first."""


class SharedName(Record, frozen=True, kw_only=True):
    """A name that a host lists several skills by."""

    name: str
    skills: tuple[str, ...]
    """What tells them apart: their folders before the name."""


class ReportedRun(Record, frozen=True, kw_only=True):
    """The frozen description of the run."""

    run_id: str | None
    created: str | None
    """When, in UTC."""
    tool_version: str | None
    python: str | None
    commit: str | None
    dirty: bool | None
    seed: int | None
    replications: int | None
    mode: str | None
    """text or json_schema; figures of the two must never be compared."""
    listing: str | None
    """full, or the host whose listing was shown."""
    orders: str | None
    index: str | None
    """What local routers read."""
    template: FrozenTemplate | None
    hashes: Mapping[str, str | None] | None
    """Of catalogue, prompts, template, configuration and prices."""
    price_table: str | None
    selection: FrozenSelection | None
    """Which prompts were asked."""


class CheckVerdicts(Record, frozen=True, kw_only=True):
    """The instrument check; null where it was not made."""

    failed: tuple[str, ...]
    """The models that are not to be trusted."""
    findings: tuple[CheckFinding, ...]


class CheckFinding(Record, frozen=True, kw_only=True):
    """One thing that the instrument check found of a model."""

    model: str
    level: str
    """fail or note."""
    text: str


class RouterCounts(Record, frozen=True, kw_only=True):
    """How much the run is made of."""

    prompts: Count
    clusters: Count
    """Independent ones: families, else prompts."""
    tested: Count
    """Those with a right answer to count."""
    with_skill: Count
    null: Count
    """Those for which no skill applies."""
    untested: Mapping[str, int]
    listed: Count
    """Skills that are listed."""
    omitted: Count
    """Skills that are not."""
    planned: Count
    """Calls."""
    results: Count
    scored: Count


class ModelRoutingReport(Record, frozen=True, kw_only=True):
    """All figures of one model."""

    model: str
    """The name as the user gave it."""
    kind: RouterKind
    """local, provider or simulated."""
    replications: Count
    """How often each prompt was asked."""
    settings: Mapping[str, Any]
    """What the router said of itself."""
    resolved: tuple[str, ...]
    """The model ids that the provider resolved."""
    coverage: RouterCoverage
    preliminary: tuple[str, ...]
    """Why its figures are preliminary; empty where they are not."""
    detectable: DetectableDifference
    metrics: RouterMetrics
    failures: RouterFailures
    usage: UsageFigures
    steals: StealCounts
    position: PositionBias
    stability: AnswerStability
    calibration: ConfidenceCalibration
    length: Figure
    """Change of the log odds of a right answer for each 100 characters more of the right description; skills are the
    clusters.
    """
    splits: tuple[SplitFigures, ...]
    """Empty where the prompts name no split."""
    confusion: tuple[ConfusionCell, ...]
    """The cells that are not 0."""
    stages: StageFigures | UnsetType = UNSET
    """Where the model saw only what a first stage left."""
    ambiguous: Figure | UnsetType = UNSET
    """The share of calls that picked a name which the right skill shares with others, and are not counted as right."""


class RouterCoverage(Record, frozen=True, kw_only=True):
    """What became of the calls."""

    planned: Count
    scored: Count
    """Answered, well or badly."""
    share: float | None
    """Scored over planned."""
    missing: Mapping[str, int]
    """The others by status; not_run are those without any result."""


class DetectableDifference(Record, frozen=True, kw_only=True):
    """The least difference in top-1 that would be found 4 times in 5, at best."""

    metric: str
    value: float | None
    """As a share."""
    clusters: Count
    replications: Count


class RouterMetrics(Record, frozen=True, kw_only=True):
    """What is counted of a model's answers."""

    top1: Figure
    """The right answer comes first: a skill, or none where no skill applies. The primary metric."""
    top1_skill: Figure
    """The same over prompts for which a skill applies."""
    top3: Figure
    """The right answer is among the first three."""
    acceptable: Figure
    """What comes first is right or acceptable."""
    mrr: Figure
    """The mean of 1 / place of the right answer, 0 where it is not in the ranking."""
    ndcg3: Figure
    """Normalised discounted gain of the first three, 2 for the right answer and 1 for an acceptable one."""
    abstention_precision: Figure
    """Of the abstentions, the share on prompts for which no skill applies."""
    abstention_recall: Figure
    """Of the calls for which no skill applies, the share of abstentions."""
    false_fire: Figure
    """Of the calls for which no skill applies, the share that picked one which is not acceptable."""
    false_abstention: Figure
    """Of the calls for which a skill applies, the share of abstentions."""
    rejected_at_1: Figure
    """A skill that the label rejects comes first."""
    rejected_at_3: Figure
    """A skill that the label rejects is among the first three."""
    steals: Figure
    """A skill comes first that is neither right nor acceptable."""
    abstention_f1: Figure
    """The harmonic mean of the precision and the recall of abstaining."""


class RouterFailures(Record, frozen=True, kw_only=True):
    """Answers that could not be used."""

    first_attempt: FailureShare
    after_retry: FailureShare
    second_attempts: Count
    """Results that took more than one attempt."""
    tolerated: Mapping[str, int]
    """What was tolerated, by kind."""


class FailureShare(Record, frozen=True, kw_only=True):
    """The share of failed answers, and their kinds."""

    rate: Figure
    """The share of answers that could not be used."""
    kinds: tuple[FailureKind, ...]
    """One answer may be of several kinds."""


class FailureKind(Record, frozen=True, kw_only=True):
    """How many answers failed in one way."""

    kind: str
    """A kind of format failure, refusal or truncated."""
    calls: Count
    rate: float
    """Over all answers."""


class UsageFigures(Record, frozen=True, kw_only=True):
    """What the calls took."""

    cost_usd: CostFigures
    latency_ms: LatencyFigures
    tokens: TokenUse
    attempts: Count


class CostFigures(Record, frozen=True, kw_only=True):
    """Dollars, in all and for each call."""

    total: float | None
    """Of the calls whose cost is known."""
    known: Count
    calls: Count
    median: Figure
    """Per call."""
    p95: Figure
    """Per call."""


class LatencyFigures(Record, frozen=True, kw_only=True):
    """Of the answered requests."""

    median: Figure
    """Milliseconds."""
    p95: Figure
    """Milliseconds."""


class TokenUse(Record, frozen=True, kw_only=True):
    """Tokens of all calls, by what they were for."""

    input_tokens: TokenFigures
    output_tokens: TokenFigures
    cached_tokens: TokenFigures
    cache_write_tokens: TokenFigures
    reasoning_tokens: TokenFigures


class TokenFigures(Record, frozen=True, kw_only=True):
    """Tokens of one sort."""

    total: int | None
    """null where no call says."""
    known: Count
    """How many calls say."""


class StealCounts(Record, frozen=True, kw_only=True):
    """Skills that came first though they are neither expected nor acceptable."""

    skills: Count
    """How many skills did."""
    thieves: tuple[SkillThief, ...]
    """The 20 that did most often."""


class SkillThief(Record, frozen=True, kw_only=True):
    """One skill that came first where it should not."""

    skill: str
    calls: Count
    """How often it came first."""
    prompts: Count
    """For how many prompts."""
    rate: Figure
    """Over the calls in which it is neither expected nor acceptable."""
    from_: tuple[StolenFrom, ...] = field(name="from")
    """What was expected instead, the five most frequent."""


class StolenFrom(Record, frozen=True, kw_only=True):
    """What such a skill came first instead of."""

    expected: str
    calls: Count


class PositionBias(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Whether places matter."""

    tv: Figure
    """Total variation distance of the places picked from those expected if they did not; p by permutation within
    prompts.
    """
    slope: Figure
    """Change of the log odds of a right answer for each place further down."""
    places: tuple[PositionShare, ...] = ()
    """The places from the top of the list down: one by one for up to 12 listed skills, else ten groups.

    Empty where the order does not matter; absent in reports of before they were counted.
    """


class PositionShare(Record, frozen=True, kw_only=True):
    """One place of the list, or a group of places."""

    first: Annotated[int, Meta(ge=1)]
    """The first place of the group, from 1."""
    last: Annotated[int, Meta(ge=1)]
    """The last one."""
    calls: Count
    """First answers that stood there, of prompts with two calls or more that picked a skill."""
    picked: Share | None
    """Their share of all such answers; null where there are none."""
    expected: Share | None
    """The share if the orders of each prompt were exchanged among its calls: what it is if places do not matter."""
    right: Figure
    """The share of right answers among calls whose right skill stood there."""


class AnswerStability(Record, frozen=True, kw_only=True):
    """Repeated prompts."""

    modal_share: Figure
    """Mean share of the most frequent first answer."""
    flip_rate: Figure
    """Share of pairs of replications whose first answers differ."""
    prompts: Count
    """Prompts answered more than once."""
    changed: Count
    """Those whose first answers are not all the same."""


class ConfidenceCalibration(Record, frozen=True, kw_only=True):
    """Stated confidence against being right."""

    brier: Figure
    """Mean squared difference."""
    ece: Figure
    """Expected calibration error over ten bins of equal width."""
    bins: tuple[ConfidenceBin, ...]
    """The bins; a lower edge belongs to its bin."""


class ConfidenceBin(Record, frozen=True, kw_only=True):
    """Answers of about one stated confidence."""

    low: float
    high: float
    n: Count
    confidence: float | None
    """Mean; null where the bin is empty."""
    accuracy: float | None
    """Share of right answers."""


class SplitFigures(Record, frozen=True, kw_only=True):
    """The prompts of one split."""

    split: str
    prompts: Count
    top1: Figure
    """Top-1 of its prompts."""


class ConfusionCell(Record, frozen=True, kw_only=True):
    """One cell of the matrix of what was expected and what came first."""

    expected: str
    """The class that is right; none where no skill applies."""
    picked: str | None
    """The class that came first; null where there was no valid answer."""
    calls: Count
    """How many calls."""
    prompts: Count
    """Of how many prompts."""


class ModelPair(Record, frozen=True, kw_only=True):
    """Two models, paired by prompt."""

    first: str
    second: str
    difference: Figure
    """Top-1 of the first less that of the second, paired by prompt; p by sign flips, p_adjusted by Holm over all
    pairs.
    """
    better: Count
    """Independent prompts that the first does better."""
    worse: Count
    """Those that it does worse."""


class RoutingCalls(Record, frozen=True, kw_only=True):
    """How often one skill was found where it is expected, and right where it was picked."""

    recall: Figure
    """Where it is expected, the share of calls in which it comes first.

    p: whether that differs from the other skills'; p_adjusted by Benjamini and Hochberg.
    """
    precision: Figure
    """Where it comes first, the share of calls in which that is right."""
    planned: Count
    """Planned calls that expect it."""
    missing: Count
    """Those of them that are not scored."""
    right: Count
    """Those that picked it."""
    other_skill: Count
    """Those that picked another skill."""
    abstained: Count
    """Those that picked none."""
    no_answer: Count
    """Those without a valid ranking."""
    picked: Count
    """Calls that picked it."""
    picked_right: Count
    """Those of them that expect it."""
    picked_acceptable: Count
    """Those of them for which it is acceptable."""


class SkillRoutingReport(RoutingCalls, frozen=True, kw_only=True):
    """One skill over all models."""

    name: str
    path: str
    state: str
    """full, truncated, name-only, or why it is not listed."""
    prompts: Count
    """Prompts that expect it."""
    length: Count
    """Characters of its description as listed."""
    notes: tuple[str, ...]
    """Why its figures say little."""
    models: tuple[SkillModelRouting, ...]


class SkillModelRouting(RoutingCalls, frozen=True, kw_only=True):
    """One skill as one model found it."""

    model: str


class ConfusedPair(Record, frozen=True, kw_only=True):
    """Two skills of which one was picked where the other was expected."""

    expected: str
    picked: str
    calls: Count
    prompts: Count
    acceptable: Count
    """Calls for which the picked skill is acceptable."""
    rate: Figure
    """Over the calls that expect the first."""
    similarity: float | None
    """Cosine of the two listed texts (TF-IDF); null where one has no words."""
    shared_words: tuple[str, ...]
    """Those that weigh most in it."""


class PromptReport(Record, frozen=True, kw_only=True):
    """One prompt, and what each model chose for it."""

    prompt_id: str
    text: str
    """Cut to 400 characters."""
    expected: str | None
    """none where no skill applies, null where that is not known."""
    acceptable: tuple[str, ...]
    rejected: tuple[str, ...]
    family: str
    tags: tuple[str, ...]
    split: str
    reason: str
    source: str
    """Path and line."""
    untested: Untested | None
    """Why it has no right answer to count; null where it has."""
    failing: bool
    """Whether some call got it wrong."""
    right: float | None
    """The share of right calls."""
    listing: ListedLength | None
    models: tuple[PromptModelPicks, ...]


class ListedLength(Record, frozen=True, kw_only=True):
    """How the expected skill is listed."""

    state: str
    """full, truncated, name-only, or why it is not listed."""
    cut: str
    """What the listing leaves out of its description, cut to 240 characters."""


class PromptModelPicks(Record, frozen=True, kw_only=True):
    """What one model chose for a prompt."""

    model: str
    missing: Count
    """Planned calls without a score."""
    picks: tuple[PromptPick, ...]
    """The most frequent first."""


class PromptPick(Record, frozen=True, kw_only=True):
    """One answer to a prompt, and how often it was given."""

    picked: str | None
    """null where there was no valid answer."""
    calls: Count
    right: bool
    rationale: str | None = None
    """Of the first wrong answer that has one, cut to 240 characters."""
    kinds: tuple[str, ...] = ()
    """What was wrong with the answers."""
