"""A skill that nobody has, requests that only it can answer, and requests that no skill is for.

What is invented stays invented: the words of the sentinel occur in no collection. The requests that need no skill are
of three sorts, so that a skill which rightly answers one sort (questions, greetings) takes at most one of three.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skill_health.documents.router_check import InstrumentFinding, InstrumentRecord, ModelVerdict
from skill_health.router.records import NONE, Catalogue, ListedSkill, Prompt, RoutingResult
from skill_health.text.similarity import STOP, terms
from skill_health.text.terminal import clean

SENTINEL_MISSED, FALSE_FIRES, ALWAYS_NONE, ONE_ANSWER = "sentinel_missed", "false_fires", "always_none", "one_answer"


FIRST_POSITION, RECALL_ZERO, MISSING, NO_ANSWER = "first_position", "recall_zero", "missing", "no_answer"


FAILURES: Mapping[str, str] = {
    "format_failure": "format_failures", "truncated": "truncations", "refusal": "refusals",
}  # fmt: skip
"""The keys of the findings, the last three by the status that they count."""


def quote_model(name: str) -> str:
    """A name from a collection, safe to print and short."""
    return clean(name if len(name) <= 80 else name[:79] + "…")


def lines(verdicts: Iterable[ModelVerdict]) -> list[str]:
    """The verdicts for people: a line for each model and one for each finding."""
    found = []
    for verdict in verdicts:
        word = "trusted" if verdict.trusted else "not to be trusted" if verdict.failed else "not tested"
        found.append(f"{quote_model(verdict.model)}: {word} ({verdict.answered} of {verdict.asked} answered)")
        found += [f"  {finding.level}  {finding.key}: {finding.text}" for finding in verdict.findings]
        found += [f"  not testable  {text}" for text in verdict.untested]
    return found


def to_record(planted: Iterable[ModelVerdict], finished: Iterable[ModelVerdict] = ()) -> InstrumentRecord:
    """What check.json holds: the verdicts from before the run, those on the finished run, and what they come to.

    `trusted` maps each model of the finished run (before it is finished: each that was asked) to whether its figures
    are to be trusted: its calls look sound, and it did not fail on what was planted.
    """
    before, after = tuple(planted), tuple(finished)
    failed = {verdict.model for verdict in before if verdict.failed}
    trusted = {each.model: each.trusted and each.model not in failed for each in after or before}
    return InstrumentRecord(planted=before, finished=after, trusted=trusted)


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
    skills = (*catalogue.shown, *catalogue.omitted)
    taken = {name for skill in skills for name in (skill.name, skill.listed_as)}
    name = NAME
    while name in taken:
        name += "-2"
    sentinel = ListedSkill(name=name, text=DESCRIPTION, description=DESCRIPTION, body=DESCRIPTION, when=DESCRIPTION)
    prompts = [Prompt(f"check:sentinel-{at}", text, name) for at, text in enumerate(WANTED, 1)]
    if none_allowed:
        words = {word for skill in catalogue.shown for word in _words((skill.listed_as, skill.text))}
        chosen = (min(sort, key=lambda text: len(words.intersection(_words((text,))))) for sort in UNWANTED)
        prompts += [Prompt(f"check:none-{at}", text, None) for at, text in enumerate(chosen, 1)]
    return Planted(replace(catalogue, shown=(*catalogue.shown, sentinel)), tuple(prompts), name)


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in terms(text.replace("_", " "), STOP)}


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
