"""The answer to the fourth question, whether skills compose: by pairs of skills, and by the target among others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from skill_health.documents.effect_composition import PairWord
from skill_health.documents.effect_report import ArmContrast, EffectReport, ModelEffectReport
from skill_health.documents.skill_grades import SkillGrade, grade_word
from skill_health.documents.skill_record import MeasuredPair
from skill_health.page.model import SkillVerdict
from skill_health.page.verdict.verdicts import PRELIMINARY, as_detail, points
from skill_health.status.composed import all_pairs, interaction_text, is_decided
from skill_health.status.render import CollectionStatus
from skill_health.text.numbers import count

ARMS: Mapping[str, str] = {
    "target_plus_one": "with one more skill",
    "target_plus_unrelated": "with unrelated skills",
    "full": "with all skills",
}
"""The arms that stage more than the target skill, each compared with that alone."""
_LEVEL = 0.05
_MOST_SAID = 4

Outcome = Literal["worse", "better", "as good", "no more", "unclear"]
_PAIRS: Mapping[PairWord, Outcome] = {
    "conflicting": "worse", "synergistic": "better", "additive": "as good", "redundant": "no more",
    "inconclusive": "unclear", "not testable": "unclear",
}  # fmt: skip
_ORDER: tuple[Outcome, ...] = ("worse", "better", "as good", "no more", "unclear")


@dataclass(frozen=True, slots=True)
class ComposingFact:
    """What one measurement says of skills together; `weak` where it is preliminary or of skills that have changed."""

    outcome: Outcome
    text: str
    weak: bool


@dataclass(frozen=True, slots=True)
class ModelComposing:
    """What one model says: its measurements, what is said before them, and what to mind."""

    model: str
    facts: tuple[ComposingFact, ...]
    lead: str = ""
    marks: tuple[str, ...] = ()
    pairs: tuple[MeasuredPair, ...] = ()


def composing(status: CollectionStatus, effects: Sequence[EffectReport]) -> SkillVerdict:
    """The answer, by the latest measurements of each agent and model that no script stood in for. Pure."""
    pairs = [pair for pair in all_pairs(status.records) if not pair.simulated]
    among = list(_models(effects))
    told = [_of_contrasts(model, margin, status) for model, margin in among if not model.biased]
    told += _of_pairs([pair for pair in pairs if not pair.biased])
    facts = [fact for each in told for fact in each.facts]
    if not facts:
        biased = [(model.model, model.biased[0]) for model, _ in among if model.biased]
        biased += [(pair.model, pair.biased[0]) for pair in pairs if pair.biased]
        command = _command(status, biased[0][0] if biased else "")
        why = _why_not(status, effects, biased)
        return SkillVerdict(SkillGrade.NOT_MEASURED, "", 4, why, "run agents with one skill and with several:", command)
    # What decides is told first.
    told.sort(key=lambda each: min(_ORDER.index(fact.outcome) for fact in each.facts))
    reason = "; ".join(_said(told))
    worse = [fact for fact in facts if fact.outcome == "worse"]
    model = told[0].model
    if worse:
        doubtful = all(fact.weak for fact in worse)
        clashing = [pair for each in told for pair in each.pairs if _PAIRS[pair.verdict] == "worse"]
        advice = "add tasks to be sure, then" if doubtful else "find out which skills are in each other's way, then"
        if clashing and not doubtful:
            advice = "find out what in these skills is in each other's way, then"
        command = _command(status, model, clashing)
        detail = as_detail("conflicting", doubtful)
        return SkillVerdict(
            grade_word("conflicting", doubtful), detail, 4, reason, advice, command, preliminary=doubtful
        )
    open_ = [pair for each in told for pair in each.pairs if not is_decided(pair)]
    command = _command(status, model, open_ or [pair for each in told for pair in each.pairs])
    outcomes = {fact.outcome for fact in facts}
    weak = any(fact.weak for fact in facts if fact.outcome != "unclear")
    if outcomes <= {"better", "as good"}:
        advice, command = ("add tasks to be sure, then", command) if weak else ("", "")
        detail = f"{PRELIMINARY}composes" if weak else ""
        return SkillVerdict(grade_word("additive", weak), detail, 4, reason, advice, command, preliminary=weak)
    if outcomes == {"unclear"}:
        again = "add tasks, then run agents again:"
        return SkillVerdict(SkillGrade.NOT_MEASURED, "inconclusive", 4, reason, again, command)
    # Skills of which one makes the other superfluous harm nobody, and yet are of no more use together.
    word = "partly known" if "unclear" in outcomes else "redundant"
    advice = (
        "add tasks, then run agents again:" if "unclear" in outcomes else "stage one of skills that add nothing, then"
    )
    return SkillVerdict(SkillGrade.NEEDS_WORK, as_detail(word, weak), 4, reason, advice, command, preliminary=weak)


def _said(told: Sequence[ModelComposing]) -> Iterator[str]:
    """What each model says, then what to mind of whom."""
    lines: dict[str, list[str]] = {}
    marks: dict[str, list[str]] = {}
    for each in told:
        facts = sorted(each.facts, key=lambda fact: _ORDER.index(fact.outcome))
        texts = [fact.text for fact in facts]
        if len(texts) > _MOST_SAID + 1:
            texts = [*texts[:_MOST_SAID], f"and {len(texts) - _MOST_SAID} more"]
        lines.setdefault(each.model, []).append(f"{each.lead}{', '.join(texts)}")
        for mark in each.marks:
            marks.setdefault(mark, []).append(each.model)
    yield from (f"{model}: {', '.join(texts)}" for model, texts in lines.items())
    yield from (f"{mark} ({', '.join(dict.fromkeys(models))})" for mark, models in marks.items())


def _of_pairs(pairs: Iterable[MeasuredPair]) -> Iterator[ModelComposing]:
    """What pairs say, model by model."""
    for model, found in groupby(sorted(pairs, key=lambda pair: pair.model), key=lambda pair: pair.model):
        own = tuple(found)
        facts = tuple(
            ComposingFact(
                _PAIRS[pair.verdict],
                f"{pair.first} with {pair.second}{pair.variant} {pair.verdict}, interaction {interaction_text(pair)}",
                bool(pair.preliminary or pair.changed),
            )
            for pair in own
        )
        yield ModelComposing(model, facts, _counts(own), tuple(_pair_marks(own)), own)


def _counts(pairs: Sequence[MeasuredPair]) -> str:
    """How many pairs have which verdict; nothing of a single one, which says it itself."""
    if len(pairs) == 1:
        return ""
    counts = Counter(pair.verdict for pair in pairs)
    ordered = sorted(counts, key=lambda word: (_ORDER.index(_PAIRS[word]), word))
    return f"of {len(pairs)} pairs of skills {', '.join(f'{counts[word]} {word}' for word in ordered)}: "


def _pair_marks(pairs: Sequence[MeasuredPair]) -> Iterator[str]:
    """What to mind of the pairs of a model."""
    why = {pair.preliminary for pair in pairs if pair.preliminary}
    few = sum(bool(pair.preliminary) for pair in pairs)
    if few:
        reasons = f": {', '.join(next(iter(why)))}" if len(why) == 1 else ""
        yield f"preliminary{reasons}" if few == len(pairs) else f"{count(few, 'pair')} preliminary{reasons}"
    if changed := sum(bool(pair.changed) for pair in pairs):
        yield f"{count(changed, 'pair')} with a skill that has changed since"
    if any(pair.unproved for pair in pairs):
        yield "weaker proof"


def _of_contrasts(model: ModelEffectReport, margin: float, status: CollectionStatus) -> ModelComposing:
    """What a model says of the target among others."""
    lines = status.effects.lines if status.effects else ()
    changed = sum(each.model == model.model and each.changed is True for each in lines)
    marks = [f"preliminary: {', '.join(model.verdict.preliminary)}"] if model.verdict.preliminary else []
    marks += [f"{count(changed, 'skill')} changed since"] if changed else []
    weak = bool(marks)
    facts = []
    for each in _contrasts(model):
        word = _composing_word(each, margin)
        facts.append(ComposingFact(word, f"{ARMS[each.arm]} {points(each.delta, each.delta.n)} ({word})", weak))
    return ModelComposing(model.model, tuple(facts), marks=tuple(marks))


def _command(status: CollectionStatus, model: str, pairs: Sequence[MeasuredPair] = ()) -> str:
    """What to run next: these pairs again where there are some, else the tasks of all skills."""
    wanted = {name for pair in pairs for name in (pair.first, pair.second)}
    tasks = {task for each in status.records if not wanted or each.name in wanted for task in each.effect.tasks}
    if not tasks:
        return "skill-health effectiveness check TASKS"
    command = replace(status.place, agent=model or status.place.agent).effectiveness(sorted(tasks))
    asked = ",".join(dict.fromkeys(f"{pair.first}+{pair.second}" for pair in pairs))
    return f"{command} --pairs{status.place.words(asked)}" if asked else command


def _why_not(status: CollectionStatus, effects: Sequence[EffectReport], biased: Sequence[tuple[str, str]]) -> str:
    if biased:
        return f"the results of {biased[0][0]} are biased: {biased[0][1]}"
    lines = status.effects.lines if status.effects else ()
    if any(model.simulated for each in effects for model in each.models) and all(each.simulated for each in lines):
        return "the runs are simulated and say nothing of any model"
    if lines and not effects:
        return "the reports of the runs are not here, or cannot be read"
    return "no agent was run with further skills"


def _models(effects: Sequence[EffectReport]) -> Iterator[tuple[ModelEffectReport, float]]:
    """The latest entry of each model that ran with further skills, without simulated ones, and its run's margin."""
    seen = set()
    for report in effects:
        for model in report.models:
            if not model.simulated and model.model not in seen and _contrasts(model):
                seen.add(model.model)
                yield model, report.margin


def _contrasts(model: ModelEffectReport) -> list[ArmContrast]:
    every = [each for each in model.contrasts if each.against == "target" and each.arm in ARMS]
    return [each for each in every if each.delta.value is not None]


def _composing_word(contrast: ArmContrast, margin: float) -> Outcome:
    """What a contrast shows: a difference needs its interval and its corrected test, the absence of one its margin."""
    low, high, p = contrast.delta.low, contrast.delta.high, contrast.p_adjusted
    significant = contrast.testable and p is not None and p < _LEVEL
    if low is None or high is None:
        return "unclear"
    if significant and high < 0:
        return "worse"
    if significant and low > 0:
        return "better"
    return "as good" if low > -margin else "unclear"
