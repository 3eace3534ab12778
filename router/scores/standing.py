"""What a reader must know before any number: what is preliminary, what was left out, what the figures do not say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from msgspec import UNSET

from skill_health import stats
from skill_health.documents._record import Figure
from skill_health.documents.router_manifest import RouterManifest
from skill_health.documents.router_report import DetectableDifference
from skill_health.router.records import Mode, warn_of_templates
from skill_health.router.scores.judge import NULL, WHY, ModelScores, RoutingRunFacts, RunScores
from skill_health.router.scores.metrics import PRIMARY
from skill_health.router.splits import TRAIN
from skill_health.stats.power import mde_paired, preliminary_reasons
from skill_health.text.numbers import count

EFFECT = 0.10
"""The difference in top-1 that a run is declared to be about; an interval whose half is wider is preliminary."""
LEAST_NULL = 0.2

_BOUND = (
    "Ranking accuracy bounds the quality of the descriptions: a skill that is not picked from its description will hardly "
    "be loaded. Whether a live agent loads a skill, and is better for it, is another question."
)
_INTERVALS = (
    "Intervals are 95 % and clustered: replications, models and paraphrases (one family) of a prompt are not independent "
    "and count as one observation. n counts calls."
)
_MISSING = (
    "Answers in the wrong format, refusals and answers that were cut off count as wrong. Calls without an answer (provider "
    "errors, models that are gone, calls that were not made) are missing: they count as nothing and are said as coverage."
)
_PRIMARY = (
    "Top-1 is the one metric declared beforehand. Pairs of models are compared on the prompts that both answered, with "
    "Holm's correction; skills with that of Benjamini and Hochberg. All other intervals stand for themselves."
)
_MODES: Mapping[Mode, str] = {
    "text": "Answers were asked for in words (mode text), so that failures of the format show.",
    "json_schema": "Answers were held to a JSON Schema (mode json_schema), which hides failures of the format.",
}


def statements(manifest: RouterManifest) -> tuple[str, ...]:
    """What holds for every report of this run."""
    return (
        _BOUND,
        f"{_MODES[manifest.mode]} Figures of the two modes must never be compared.",
        _INTERVALS,
        _MISSING,
        _PRIMARY,
    )


def notes(sheet: RunScores, manifest: RouterManifest) -> tuple[str, ...]:
    """What is particular about this run."""
    return tuple(_notes(sheet, manifest))


def _notes(sheet: RunScores, manifest: RouterManifest) -> Iterator[str]:
    facts = sheet.facts
    if not stats.installed():
        yield (
            "Differences without intervals: tests, agreement, calibration and slopes need numpy and scipy, which are not "
            "installed. With them `router report` adds them to this run."
        )
    if manifest.imported:
        yield "These are the results of another program, read again by the rules of this one."
    if taken := [result for column in sheet.columns for result in column.results if result.taken_from is not UNSET]:
        whose = sorted({str(result.taken_from) for result in taken})
        yield f"{count(len(taken), 'answer')} to the same questions taken over from {', '.join(whose)}: nobody was asked again."
    simulated = [model.spec for model in facts.models if model.kind == "simulated"]
    if simulated:
        yield f"Simulated, no model of anybody's: {', '.join(simulated)}. Such figures say something about this tool only."
    for column in sheet.columns:
        if not column.scored:
            yield f"{column.model.spec}: not testable, because no call has a score."
    yield from warn_of_templates(list(facts.prompts.values()))
    yield from _tuned(facts)
    yield from _read_more(manifest)
    if manifest.selection.kind != "all":
        yield f"Only a part of the prompts was asked ({manifest.selection.kind}); the figures are those of that part."
    for why, n in sorted(Counter(facts.untested.values()).items()):
        verb = "is" if n == 1 else "are"
        yield (
            f"{_prompts(n)} without a right answer to count ({WHY[why]}) {verb} neither right nor wrong here, and "
            "only part of what is said of rejected skills, failures and stability."
        )
    unlisted = sum(prompt.expected in facts.omitted for prompt in facts.tested)
    if unlisted:
        expect, they = ("expects", "it") if unlisted == 1 else ("expect", "they")
        yield f"{_prompts(unlisted)} {expect} a skill that is not listed: {they} cannot be answered right, and count as wrong."
    yield from _stages(facts, manifest)
    yield from _shared(facts)
    yield from _null(facts)
    absent = sum(_planned(column, facts) - len(column.results) for column in sheet.columns)
    if absent > 0:
        yield f"The run is not finished: {absent} call{'s have' if absent != 1 else ' has'} no result."
    if sheet.foreign:
        yield f"Left out were {sheet.foreign} results that are second ones, or of no prompt or model of this run."


def _stages(facts: RoutingRunFacts, manifest: RouterManifest) -> Iterator[str]:
    """What a reader must know of figures of two stages."""
    frozen = manifest.retrieval
    if not frozen:
        return
    read = f" from {_READ[frozen.index]}" if frozen.index in _READ else ""
    yield (
        f"Two stages: {frozen.router} left {facts.listed} of {count(len(facts.shown), 'skill')} for each prompt{read}, and "
        "models saw only these. A right skill that it did not leave cannot be picked, and counts as wrong; figures are "
        "not those of a model that sees the whole collection."
    )


def _shared(facts: RoutingRunFacts) -> Iterator[str]:
    if not facts.shared:
        return
    groups = set(facts.shared.values())
    expect = sum(any(prompt.expected in group for group in groups) for prompt in facts.tested)
    yield (
        f"{count(len(groups), 'name')} of {sum(map(len, groups))} skills: hosts list them by the same name, so models read and "
        f"answer it, and nobody can tell which they mean. Such an answer is ambiguous and does not count as right "
        f"({_prompts(expect)} expect one of these skills); top-1 could be higher by the share of ambiguous answers at "
        "most. Routers that are computed here name folders, and count as usual."
    )


def _null(facts: RoutingRunFacts) -> Iterator[str]:
    if not facts.none_allowed:
        if NULL not in facts.untested.values():
            yield "The template does not let a model answer that no skill applies."
        return
    null = sum(prompt.known and prompt.expected is None for prompt in facts.tested)
    tested = len(facts.tested)
    if tested and null < LEAST_NULL * tested:
        yield (
            f"{null} of {tested} prompts expect that no skill applies; at least {LEAST_NULL:.0%} are wanted to say how often "
            "a skill fires where none should."
        )


def _tuned(facts: RoutingRunFacts) -> Iterator[str]:
    """A threshold that was chosen on prompts of this run makes its figures look better than they are."""
    if not any(prompt.split == TRAIN for prompt in facts.prompts.values()):
        return
    by_train: defaultdict[int, list[str]] = defaultdict(list)
    for model in facts.models:
        settings = model.settings
        if settings.get("threshold") is not None and settings.get("train_right") is not None:
            by_train[int(settings.get("train_prompts") or 0)].append(model.spec)
    for train, specs in by_train.items():
        yield (
            f"{', '.join(specs)}: the threshold was chosen on {train} train prompts that are among these; --split test gives "
            "an untouched figure."
        )


_READ = {"body": "the whole SKILL.md", "content": "SKILL.md and the bundled Markdown files"}


def _read_more(manifest: RouterManifest) -> Iterator[str]:
    """Figures of routers that read what no host shows must not be taken for those of descriptions."""
    local = [model.spec for model in manifest.models if model.kind == "local"]
    if local and manifest.index in _READ:
        yield (
            f"{', '.join(local)} read {_READ[manifest.index]} (--index {manifest.index}), which no host lists: the figures "
            "say what a search of the collection finds, not what the descriptions do."
        )


def _planned(column: ModelScores, facts: RoutingRunFacts) -> int:
    return column.planned(facts.prompts.values())


def _prompts(n: int) -> str:
    return f"{n} prompt{'s' * (n != 1)}"


def reasons(column: ModelScores, facts: RoutingRunFacts, top1: Figure, effect: float) -> tuple[str, ...]:
    """Why a model's figures are preliminary; () where they are not."""
    if top1.value is None:
        return (top1.note or "not testable",)
    half = None if top1.low is None or top1.high is None else (top1.high - top1.low) / 2
    planned = _planned(column, facts)
    missing = (planned - len(column.scored)) / planned if planned else 0.0
    found = list(preliminary_reasons(top1.clusters, half, missing))
    if half is not None and half > effect:
        # Without the width itself, which the interval shows, models share the sentence.
        found.append(f"half of the interval is wider than the declared effect of {100 * effect:.1f} points")
    return tuple(found)


def detectable(column: ModelScores, facts: RoutingRunFacts) -> DetectableDifference:
    """The least true difference in top-1, paired with another run or model, that would be found 4 times in 5."""
    clusters = len({facts.clusters[prompt.prompt_id] for prompt in facts.tested})
    replications = column.model.replications
    found = mde_paired(clusters, replications) if clusters else None
    return DetectableDifference(metric=PRIMARY, value=found, clusters=clusters, replications=replications)
