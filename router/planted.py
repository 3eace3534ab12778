"""The verdict on a model from its answers to planted prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from skill_health.router.instrument import (
    ALWAYS_NONE,
    FAILURES,
    FALSE_FIRES,
    NO_ANSWER,
    SENTINEL_MISSED,
    InstrumentFinding,
    ModelVerdict,
    quote_model,
)
from skill_health.router.records import NONE, RoutingResult
from skill_health.router.sentinel import Planted
from skill_health.text.terminal import clean

ENOUGH = 2
"""So many sentinel requests of three must find the sentinel; so many fires of three that need no skill are too many."""
_SHOWN = 300


def judge_planted(model: str, kind: str, planted: Planted, results: Iterable[RoutingResult]) -> ModelVerdict:
    """The verdict on one model from its answers to the planted prompts; other results are passed over.

    `kind` is that of the router's module. A router that is computed here ("local") may lack a threshold to abstain
    by: that is a property which its figures show, and no defect of the instrument, so its false fires are a note. So
    are those that all go to one and the same skill of the collection: then its description asks for them.
    """
    expected = {prompt.prompt_id: prompt.expected for prompt in planted.prompts}
    found = {result.prompt_id: result for result in results if result.prompt_id in expected and result.model == model}
    wanted = [name for name, target in expected.items() if target is not None]
    unwanted = [name for name, target in expected.items() if target is None]
    known = [result.cost_usd for result in found.values() if result.cost_usd is not None]
    spent = round(sum(known), 9) if len(known) == len(found) else None
    answered = [result for result in found.values() if result.scored]
    if not answered:
        return ModelVerdict(model, len(expected), 0, False, (_no_answer(found.values(), len(expected)),), (), spent)
    asked = [found[name] for name in wanted if name in found and found[name].scored]
    hits = sum(result.primary == planted.name for result in asked)
    open_ = len(wanted) - len(asked)
    undecided = hits < ENOUGH <= hits + open_
    spare = [found[name] for name in unwanted if name in found and found[name].scored]
    untested = [f"the planted skill: {open_} of {len(wanted)} requests have no answer"] if undecided else []
    if not unwanted:
        untested.append("requests that need no skill: the template gives no way to say so")
    elif len(spare) < ENOUGH:
        untested.append(f"requests that need no skill: {len(unwanted) - len(spare)} of {len(unwanted)} have no answer")
    findings = [] if undecided or hits >= ENOUGH else [_missed(hits, asked)]
    findings += [*_false_fires(planted, kind, spare), *failures(answered, 0.5, 4)]
    return ModelVerdict(model, len(expected), len(answered), not undecided, tuple(findings), tuple(untested), spent)


def _missed(hits: int, asked: Sequence[RoutingResult]) -> InstrumentFinding:
    if all(result.primary == NONE for result in asked):
        text = f"abstained on all {len(asked)} requests that only the planted skill can answer"
        return InstrumentFinding(ALWAYS_NONE, text, len(asked), len(asked))
    text = f"chose the planted skill for {hits} of {len(asked)} requests that only it can answer; {ENOUGH} are expected"
    return InstrumentFinding(SENTINEL_MISSED, text, hits, len(asked))


def _false_fires(planted: Planted, kind: str, spare: Sequence[RoutingResult]) -> Iterator[InstrumentFinding]:
    fired = [result.primary for result in spare if result.primary not in (None, NONE)]
    if len(fired) < ENOUGH:
        return
    said = f"chose a skill for {len(fired)} of {len(spare)} planted requests that need none"
    if kind == "local":
        yield InstrumentFinding(
            FALSE_FIRES, f"{said}: it has no threshold that stops them", len(fired), len(spare), "note"
        )
    elif len(set(fired)) == 1 and fired[0] not in (None, planted.name):
        text = f"{said}, each time {quote_model(fired[0])}: see whether its description asks for every request"
        yield InstrumentFinding(FALSE_FIRES, text, len(fired), len(spare), "note")
    else:
        yield InstrumentFinding(FALSE_FIRES, f'{said}; "none" is not used as it should be', len(fired), len(spare))


def failures(answered: Sequence[RoutingResult], share: float, least: int) -> Iterator[InstrumentFinding]:
    """A finding for each kind of failure that is more than `share` of the answers, if these are `least` or more."""
    advice = {
        "format_failure": "break the answer's format: what is measured is the format and not the choice",
        "truncated": "were cut off: raise max-output-tokens of the provider",
        "refusal": "are refusals",
    }
    for status, key in FAILURES.items():
        hits = sum(result.status == status for result in answered)
        if len(answered) >= least and hits > share * len(answered):
            yield InstrumentFinding(key, f"{hits} of {len(answered)} answers {advice[status]}", hits, len(answered))


def _no_answer(results: Iterable[RoutingResult], asked: int) -> InstrumentFinding:
    found = list(results)
    counts = sorted(Counter(result.status for result in found).items())
    why = ", ".join(f"{status} {count}" for status, count in counts) or "nothing was asked"
    errors = Counter(clean(result.error)[:_SHOWN] for result in found if result.error).most_common(1)
    said = f": {errors[0][0]}" if errors else ""
    return InstrumentFinding(
        NO_ANSWER, f"none of {asked} planted requests was answered ({why}){said}", 0, asked, "note"
    )
